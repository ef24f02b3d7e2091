//! Read plans: what a probe reads when it is hit. Written by user space, followed in the kernel.

use crate::EventKind;

/// Longest read plan, in steps executed. Plans only jump forward, so this bounds the run time too.
pub const MAX_STEPS: usize = 48;
/// Number of attached probes that one tracer can have.
pub const MAX_PLANS: usize = 256;
/// Number of registers of the plan machine.
pub const REGISTERS: usize = 16;
/// Registers `0..ARGUMENTS` hold the function's first integer arguments when the plan starts.
pub const ARGUMENTS: usize = 6;
/// Register that holds the stack pointer when the plan starts.
pub const REGISTER_SP: u8 = 6;
/// First register that is free for intermediate values.
pub const REGISTER_FREE: u8 = 7;
/// Value of [`Step::on_fault`]: the fault ends the plan and is reported with the event.
pub const ON_FAULT_STOP: u8 = 0xff;
/// Bit of [`Step::width`]: sign-extend the value that was loaded.
pub const WIDTH_SIGNED: u8 = 0x80;

/// One operation of the plan machine. `r[x]` is a register, `imm` is [`Step::imm`].
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Ends the plan: the event is sent.
    End = 0,
    /// `r[dst] = *(r[src] + imm)`, of [`Step::width`] bytes.
    Load = 1,
    /// `r[dst] = r[src] + imm` (wrapping).
    Add = 2,
    /// `r[dst] = r[src] & imm`.
    And = 3,
    /// `r[dst] = r[src] - r[width]` (wrapping).
    Sub = 4,
    /// `r[dst] = r[src] + (r[width] << imm)` (wrapping).
    Index = 5,
    /// `r[dst] = r[src] >> imm`.
    Shr = 6,
    /// The hit is of no interest unless `r[src] == imm`.
    RequireEq = 7,
    /// The hit is of no interest if `r[src] == imm`.
    RequireNe = 8,
    /// Value slot `dst` of the event is `r[src]`.
    Field = 9,
    /// The event's text is the `r[width]` bytes at `r[src]`.
    Text = 10,
    /// Remembers `r[src]`, so that [`Op::Take`] of the same value goes on once.
    Arm = 11,
    /// The hit is of no interest unless `r[src]` was armed since it was last taken.
    Take = 12,
    /// Goes on at step `on_fault` unless `r[src] < r[width]` (unsigned).
    JumpUnlessBelow = 13,
    /// Goes on at step `on_fault` if `r[src] == imm`.
    JumpIfEq = 14,
}

impl Op {
    /// Every operation, in numeric order.
    pub const ALL: [Op; 15] = [
        Op::End,
        Op::Load,
        Op::Add,
        Op::And,
        Op::Sub,
        Op::Index,
        Op::Shr,
        Op::RequireEq,
        Op::RequireNe,
        Op::Field,
        Op::Text,
        Op::Arm,
        Op::Take,
        Op::JumpUnlessBelow,
        Op::JumpIfEq,
    ];
}

/// One step of a read plan.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// An [`Op`] number.
    pub op: u8,
    /// Destination register or value slot.
    pub dst: u8,
    /// Source register.
    pub src: u8,
    /// Width of a load in bytes (1, 2, 4, 8, with [`WIDTH_SIGNED`]), or a second register.
    pub width: u8,
    /// Step to go on with when a read fails ([`ON_FAULT_STOP`]: report and stop), or a jump's target.
    pub on_fault: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// Constant of the operation.
    pub imm: u64,
}

/// What one attached probe does when it is hit.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The steps; the first [`Plan::len`] count.
    pub steps: [Step; MAX_STEPS],
    /// Number of steps.
    pub len: u32,
    /// [`EventKind`] number of the event that the probe sends.
    pub kind: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

impl Plan {
    /// A plan that reads nothing.
    pub const fn empty(kind: EventKind) -> Self {
        const STEP: Step = Step { op: 0, dst: 0, src: 0, width: 0, on_fault: 0, reserved: [0; 3], imm: 0 };
        Plan { steps: [STEP; MAX_STEPS], len: 0, kind: kind as u8, reserved: [0; 3] }
    }
}

const _: () = assert!(size_of::<Step>() == 16);
const _: () = assert!(size_of::<Plan>() == 16 * MAX_STEPS + 8);
const _: () = assert!(MAX_STEPS < ON_FAULT_STOP as usize);
const _: () = assert!(REGISTERS.is_power_of_two());
