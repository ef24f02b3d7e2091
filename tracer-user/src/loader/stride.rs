//! The size of a list's elements, read off the code that walks the list.

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, Mnemonic, Register};

use super::site::added_constant;

/// Smallest and largest element that is believed, in bytes.
const ELEMENT_BYTES: std::ops::RangeInclusive<u64> = 64..=65536;

/// The constant by which the function steps through its list: added to a register which is then compared.
/// `None` unless exactly one constant qualifies.
pub fn element_stride(code: &[u8]) -> Option<u64> {
    let mut candidates: BTreeMap<u64, u32> = BTreeMap::new();
    let mut added: Option<(Register, u64, u8)> = None;
    for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter() {
        if let Some((register, constant)) = added_constant(&instruction) {
            let general = !matches!(register, Register::RSP | Register::RBP | Register::ESP);
            added = (general && ELEMENT_BYTES.contains(&constant)).then_some((register, constant, 0));
            continue;
        }
        let Some((register, constant, age)) = added else { continue };
        if instruction.mnemonic() == Mnemonic::Cmp
            && (instruction.op0_register() == register || instruction.op1_register() == register)
        {
            *candidates.entry(constant).or_default() += 1;
            added = None;
        } else {
            added = (age < 3).then_some((register, constant, age + 1));
        }
    }
    match candidates.len() {
        1 => candidates.into_keys().next(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_step_of_a_loop() {
        // add rbx, 0x930; cmp r14, rbx
        let code = [0x48, 0x81, 0xc3, 0x30, 0x09, 0, 0, 0x49, 0x39, 0xde];
        assert_eq!(element_stride(&code), Some(0x930));
        // Without the comparison it may be anything.
        assert_eq!(element_stride(&code[..7]), None);
        // Two different steps: not known.
        let mut two = code.to_vec();
        two.extend([0x48, 0x81, 0xc3, 0x38, 0x09, 0, 0, 0x49, 0x39, 0xde]);
        assert_eq!(element_stride(&two), None);
        assert_eq!(element_stride(&[]), None);
    }
}
