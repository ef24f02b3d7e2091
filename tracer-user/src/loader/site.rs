//! Where in a function to place a probe.
//!
//! The kernel emulates some instructions at a probe (a few hundred nanoseconds a hit) and single-steps the
//! others (a debug trap: microseconds, and tens of them under nested virtualisation). So the first emulated
//! instruction is taken at which the arguments are still where the caller put them.

use std::collections::BTreeSet;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    Register,
};
use serde::{Deserialize, Serialize};

/// How the kernel handles a hit. From arch/x86/kernel/uprobes.c: `branch_setup_xol_ops`, `push_setup_xol_ops`,
/// and the five-byte no-operation that newer kernels replace by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteKind {
    /// A five-byte no-operation.
    Nop5,
    /// An instruction that the kernel emulates.
    Emulated,
    /// An instruction that the processor has to step over: a debug trap a hit.
    SingleStepped,
}

/// A place for a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Bytes from the function's first byte.
    pub offset: u64,
    /// How a hit is handled there.
    pub kind: SiteKind,
}

/// How far from a function's start a probe may go, in bytes: it shall still stand for the function's entry.
const WINDOW_BYTES: u64 = 96;

const ARGUMENT_REGISTERS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// Chooses the place for a probe in the function whose code starts `code`, given the arguments that it reads.
/// `None` if the code does not decode.
pub fn choose(code: &[u8], arguments: &BTreeSet<u8>) -> Option<Site> {
    let needed: Vec<Register> =
        arguments.iter().filter_map(|n| ARGUMENT_REGISTERS.get(*n as usize).copied()).collect();
    let targets = branch_targets(code);
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut infos = InstructionInfoFactory::new();
    let mut best: Option<Site> = None;
    while decoder.can_decode() && decoder.ip() < WINDOW_BYTES {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        let offset = instruction.ip();
        let kind = kind(&instruction);
        // A place that the function jumps back to would be hit more than once a call.
        let entered_again = offset != 0 && targets.contains(&offset);
        if !entered_again && best.is_none_or(|site| kind < site.kind) {
            best = Some(Site { offset, kind });
        }
        let overwrites = infos.info(&instruction).used_registers().iter().any(|used| {
            let writes = matches!(
                used.access(),
                OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            writes && needed.contains(&used.register().full_register())
        });
        let straight_on = instruction.flow_control() == FlowControl::Next;
        if overwrites || !straight_on || best.is_some_and(|site| site.kind == SiteKind::Nop5) {
            break;
        }
    }
    best
}

fn kind(instruction: &Instruction) -> SiteKind {
    match instruction.code() {
        Code::Nop_rm32 if instruction.len() == 5 => SiteKind::Nop5,
        Code::Nopd if instruction.len() == 1 => SiteKind::Emulated,
        Code::Push_r64 => SiteKind::Emulated,
        Code::Call_rel32_64 | Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => SiteKind::Emulated,
        code if code.is_jcc_short_or_near() => SiteKind::Emulated,
        _ => SiteKind::SingleStepped,
    }
}

/// Offsets that the function's own branches lead to.
fn branch_targets(code: &[u8]) -> BTreeSet<u64> {
    let mut targets = BTreeSet::new();
    for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter() {
        let branches = matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        if branches && instruction.near_branch_target() < code.len() as u64 {
            targets.insert(instruction.near_branch_target());
        }
    }
    targets
}

/// True for an instruction that adds a constant to a register, with the register and the constant.
pub(super) fn added_constant(instruction: &Instruction) -> Option<(Register, u64)> {
    match instruction.mnemonic() {
        Mnemonic::Add if instruction.op_count() == 2 && instruction.op0_register() != Register::None => {
            let constant = instruction.try_immediate(1).ok()?;
            Some((instruction.op0_register(), constant))
        }
        Mnemonic::Lea if instruction.memory_index() == Register::None => (instruction.memory_base()
            == instruction.op0_register())
        .then(|| (instruction.op0_register(), instruction.memory_displacement64())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(code: &[u8], arguments: &[u8]) -> Option<Site> {
        choose(code, &arguments.iter().copied().collect())
    }

    #[test]
    fn prefers_an_emulated_instruction_while_the_arguments_are_intact() {
        // endbr64; push rbp; mov rdi, rax
        let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xc7, 0x90, 0xc3];
        assert_eq!(site(&code, &[0]), Some(Site { offset: 4, kind: SiteKind::Emulated }));
        // mov rdi, rax; push rbp: the argument is gone before the push.
        let code = [0x48, 0x89, 0xc7, 0x55, 0xc3];
        assert_eq!(site(&code, &[0]), Some(Site { offset: 0, kind: SiteKind::SingleStepped }));
        // The same, when the argument is of no interest.
        assert_eq!(site(&code, &[1]), Some(Site { offset: 3, kind: SiteKind::Emulated }));
        // sub rsp, 8; ja +2
        let code = [0x48, 0x83, 0xec, 0x08, 0x77, 0x02, 0x90, 0x90, 0xc3];
        assert_eq!(site(&code, &[0]), Some(Site { offset: 4, kind: SiteKind::Emulated }));
        // nop dword ptr [rax+rax]; ret
        let code = [0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3];
        assert_eq!(site(&code, &[0]), Some(Site { offset: 0, kind: SiteKind::Nop5 }));
    }

    #[test]
    fn avoids_places_that_the_function_jumps_back_to() {
        // mov eax, edi; L: push rbp; pop rbp; jmp L
        let code = [0x89, 0xf8, 0x55, 0x5d, 0xeb, 0xfc];
        let site = site(&code, &[0]).expect("a site");
        assert_ne!(site.offset, 2);
    }

    #[test]
    fn never_panics_on_any_bytes() {
        let mut seed = 7_u64;
        for len in 0..300 {
            let code: Vec<u8> = (0..len)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (seed >> 40) as u8
                })
                .collect();
            if let Some(site) = site(&code, &[0, 1, 2]) {
                assert!(site.offset < WINDOW_BYTES);
            }
        }
    }
}
