//! Integers of one to ten bytes: seven bits a byte, the lowest first, the top bit says that another byte follows.

/// Bytes that do not follow the format; the words say what was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub(super) &'static str);

/// Appends `value`.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the way from `before` to `now`: small both ways.
pub(super) fn put_delta(out: &mut Vec<u8>, before: u64, now: u64) {
    let delta = now.wrapping_sub(before) as i64;
    put(out, ((delta << 1) ^ (delta >> 63)) as u64);
}

/// What is left to read of a payload.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    /// Bytes left.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.0.split_first().ok_or(Malformed("the payload ends early"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(bytes).ok_or(Malformed("the payload ends early"))?;
        self.0 = rest;
        Ok(head)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for (at, byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if *byte < 0x80 {
                if at == 9 && *byte > 1 {
                    return Err(Malformed("an integer has more than 64 bits"));
                }
                self.0 = &self.0[at + 1..];
                return Ok(value);
            }
        }
        Err(Malformed(if self.0.len() < 10 {
            "the payload ends early"
        } else {
            "an integer has more than ten bytes"
        }))
    }

    /// The value that is one [`put_delta`] away from `before`.
    #[inline]
    pub(super) fn delta(&mut self, before: u64) -> Result<u64, Malformed> {
        let zigzag = self.varint()?;
        Ok(before.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg()))
    }

    /// A number that must fit `T`.
    pub(super) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.varint()?).map_err(|_| Malformed("a number is larger than its type"))
    }

    /// A count of things of which each takes at least `bytes_each` of what is left, and at most `limit`.
    pub(super) fn count(&mut self, bytes_each: usize, limit: usize) -> Result<usize, Malformed> {
        let count: usize = self.number()?;
        if count > limit || count > self.left() / bytes_each {
            return Err(Malformed("a count is larger than the payload can hold"));
        }
        Ok(count)
    }

    /// The payload must have been read to its end.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("bytes are left over")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_round_trip() {
        let values = [0, 1, 127, 128, 16383, 16384, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let mut out = Vec::new();
        for before in values {
            put(&mut out, before);
            values.iter().for_each(|now| put_delta(&mut out, before, *now));
        }
        let mut input = Input::new(&out);
        for before in values {
            assert_eq!(input.varint(), Ok(before));
            values.iter().for_each(|now| assert_eq!(input.delta(before), Ok(*now)));
        }
        assert_eq!(input.end(), Ok(()));
    }

    #[test]
    fn too_long_is_refused() {
        assert!(Input::new(&[0x80; 9]).varint().is_err());
        assert!(Input::new(&[0x80; 11]).varint().is_err());
        assert!(Input::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint().is_err());
    }
}
