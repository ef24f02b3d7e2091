//! Where the blocks of a closed file are.

use super::varint::{Input, Malformed, put, put_delta};

/// Fewest bytes of an entry.
const ENTRY_MIN_BYTES: usize = 5;
/// Most entries that are read; beyond, the file is read block by block.
const MAX_ENTRIES: usize = 1 << 20;

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Where its header begins.
    pub offset: u64,
    /// A [`super::BlockKind`] number, or one of a later version.
    pub kind: u8,
    /// Number of items.
    pub items: u32,
    /// Earliest time in it; 0 with `last_ns` 0 if it holds no times.
    pub first_ns: u64,
    /// Latest time in it.
    pub last_ns: u64,
}

/// Appends the entries.
pub(super) fn encode(entries: &[IndexEntry], out: &mut Vec<u8>) {
    put(out, entries.len() as u64);
    let (mut offset, mut ts) = (0, 0);
    for entry in entries {
        put_delta(out, offset, entry.offset);
        out.push(entry.kind);
        put(out, u64::from(entry.items));
        put_delta(out, ts, entry.first_ns);
        put_delta(out, entry.first_ns, entry.last_ns);
        (offset, ts) = (entry.offset, entry.first_ns);
    }
}

/// Reads the entries.
pub(super) fn decode(payload: &[u8]) -> Result<Vec<IndexEntry>, Malformed> {
    let mut input = Input::new(payload);
    let count = input.count(ENTRY_MIN_BYTES, MAX_ENTRIES)?;
    let mut entries = Vec::with_capacity(count);
    let (mut offset, mut ts) = (0, 0);
    for _ in 0..count {
        offset = input.delta(offset)?;
        let kind = input.byte()?;
        let items = input.number()?;
        ts = input.delta(ts)?;
        let last_ns = input.delta(ts)?;
        entries.push(IndexEntry { offset, kind, items, first_ns: ts, last_ns });
    }
    input.end()?;
    Ok(entries)
}
