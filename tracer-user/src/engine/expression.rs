//! Read expressions of engine files: `arg1.ptr@0.i32@0` reads a pointer at the second argument, then a
//! signed 32-bit integer where it points.

use std::fmt;

use tracer_abi::{ARGUMENTS, WIDTH_SIGNED};

/// Where a read starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The n-th integer argument of the probed function, from 0.
    Argument(u8),
    /// The current element of the probe's `each` list.
    Each,
}

/// Type of a value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Width {
    /// Size: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Sign-extended when read.
    pub signed: bool,
}

impl Width {
    /// The number that stands in a [`tracer_abi::Step`].
    pub fn wire(self) -> u8 {
        self.bytes | if self.signed { WIDTH_SIGNED } else { 0 }
    }
}

const WIDTHS: [(&str, Width); 9] = [
    ("ptr", Width { bytes: 8, signed: false }),
    ("u64", Width { bytes: 8, signed: false }),
    ("u32", Width { bytes: 4, signed: false }),
    ("u16", Width { bytes: 2, signed: false }),
    ("u8", Width { bytes: 1, signed: false }),
    ("i64", Width { bytes: 8, signed: true }),
    ("i32", Width { bytes: 4, signed: true }),
    ("i16", Width { bytes: 2, signed: true }),
    ("i8", Width { bytes: 1, signed: true }),
];

/// Largest offset that an expression may name, in bytes.
const MAX_OFFSET: u64 = 1 << 20;

/// A base and the loads that follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    /// Where the read starts.
    pub base: Base,
    /// Loads, each from the address that the one before yielded, at a byte offset.
    pub loads: Vec<(Width, u64)>,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// A sentence that names the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('.');
        let first = parts.next().unwrap_or_default();
        let base = if first == "each" {
            Base::Each
        } else {
            let number = first.strip_prefix("arg").and_then(|n| n.parse::<u8>().ok());
            match number {
                Some(n) if (n as usize) < ARGUMENTS => Base::Argument(n),
                _ => {
                    return Err(format!(
                        "`{first}` in `{text}`: expected arg0 to arg{} or each",
                        ARGUMENTS - 1
                    ));
                }
            }
        };
        let mut loads = Vec::new();
        for part in parts {
            let (name, offset) = part
                .split_once('@')
                .ok_or_else(|| format!("`{part}` in `{text}`: expected TYPE@OFFSET, for example i32@0"))?;
            let width =
                WIDTHS.iter().find(|(n, _)| *n == name).map(|(_, width)| *width).ok_or_else(|| {
                    let names: Vec<_> = WIDTHS.iter().map(|(n, _)| *n).collect();
                    format!("type `{name}` in `{text}` is unknown: expected one of {}", names.join(", "))
                })?;
            let offset = match offset.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => offset.parse(),
            };
            match offset {
                Ok(offset) if offset <= MAX_OFFSET => loads.push((width, offset)),
                _ => return Err(format!("offset in `{part}` of `{text}`: expected 0 to {MAX_OFFSET}")),
            }
        }
        if loads.len() > 8 {
            return Err(format!("`{text}` reads {} times: at most 8", loads.len()));
        }
        Ok(Expression { base, loads })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Argument(n) => write!(f, "arg{n}")?,
            Base::Each => write!(f, "each")?,
        }
        for (width, offset) in &self.loads {
            let name = WIDTHS.iter().find(|(_, w)| w == width).map_or("?", |(name, _)| name);
            write!(f, ".{name}@{offset}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        for text in ["arg0", "arg1.ptr@0.i32@0", "each.i32@8", "arg5.u8@1048576"] {
            assert_eq!(Expression::parse(text).expect(text).to_string(), text);
        }
        assert_eq!(Expression::parse("arg1.u64@0x10").expect("hex").loads[0].1, 16);
    }

    #[test]
    fn refuses_with_the_part_that_is_wrong() {
        for (text, part) in [
            ("arg6", "arg6"),
            ("", "expected arg0"),
            ("arg1.i33@0", "i33"),
            ("arg1.i32", "TYPE@OFFSET"),
            ("arg1.i32@-1", "i32@-1"),
            ("arg1.i32@99999999999", "99999999999"),
            ("arg0.u8@0.u8@0.u8@0.u8@0.u8@0.u8@0.u8@0.u8@0.u8@0", "at most 8"),
        ] {
            let error = Expression::parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
