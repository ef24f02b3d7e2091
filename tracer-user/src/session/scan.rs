//! From one whole block to the next in bytes that may be damaged.

use std::io::{self, Read, Seek, SeekFrom};

use super::frame::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BlockHeader, FLAG_ZSTD, MAX_BLOCK_BYTES, MAX_BLOCK_ITEMS, TRAILER_BYTES,
    TRAILER_MAGIC, Trailer,
};

/// Bytes looked at in one go for the next block.
const SCAN_BYTES: usize = 64 << 10;

/// What stands at a place of the file.
#[derive(Debug)]
pub(super) enum Place {
    /// The header of a block that lies whole in the file.
    Block(BlockHeader),
    /// The header of a block of which the file holds only the beginning, or a part of a header.
    CutOff,
    /// The end of a session.
    Trailer(Trailer),
    /// The file's end.
    End,
    /// None of these.
    Damaged,
}

/// A file, read at given places.
pub(super) struct Source<R> {
    inner: R,
    len: u64,
    /// Where `inner` stands.
    at: Option<u64>,
}

impl<R: Read + Seek> Source<R> {
    pub(super) fn new(mut inner: R) -> io::Result<Self> {
        let len = inner.seek(SeekFrom::End(0))?;
        Ok(Source { inner, len, at: None })
    }

    /// Length of the file when it was opened, or where it was found to end since.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads up to `want` bytes at `at`; fewer only at the file's end.
    pub(super) fn read_at(&mut self, at: u64, want: usize, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        let want = self.len.saturating_sub(at).min(want as u64);
        if self.at != Some(at) {
            self.at = None;
            self.inner.seek(SeekFrom::Start(at))?;
        }
        let read = self.inner.by_ref().take(want).read_to_end(out);
        self.at = None;
        let read = read? as u64;
        if read < want {
            // Someone cut the file while it was read.
            self.len = at + read;
        }
        self.at = Some(at + read);
        Ok(())
    }

    /// What stands at `at`.
    pub(super) fn look(&mut self, at: u64, buffer: &mut Vec<u8>) -> io::Result<Place> {
        self.read_at(at, BLOCK_HEADER_BYTES, buffer)?;
        Ok(self.judge(at, buffer))
    }

    fn judge(&self, at: u64, head: &[u8]) -> Place {
        if head.is_empty() {
            return Place::End;
        }
        if let Some(trailer) = Trailer::parse(head) {
            return Place::Trailer(trailer);
        }
        let Some(header) = BlockHeader::parse(head) else {
            let starts = |magic: [u8; 4]| head.iter().zip(magic).all(|(byte, due)| *byte == due);
            let cut_off = head.len() < BLOCK_HEADER_BYTES && starts(BLOCK_MAGIC)
                || head.len() < TRAILER_BYTES && starts(TRAILER_MAGIC);
            return if cut_off { Place::CutOff } else { Place::Damaged };
        };
        // A header with a valid checksum and impossible lengths was not written by us.
        let possible = header.raw_len as usize <= MAX_BLOCK_BYTES
            && header.stored_len as usize <= MAX_BLOCK_BYTES
            && header.items as usize <= MAX_BLOCK_ITEMS
            && (header.flags & FLAG_ZSTD != 0 || header.raw_len == header.stored_len);
        let end = at + BLOCK_HEADER_BYTES as u64 + u64::from(header.stored_len);
        match (possible, end <= self.len) {
            (false, _) => Place::Damaged,
            (true, false) => Place::CutOff,
            (true, true) => Place::Block(header),
        }
    }

    /// The next place after `at` where a whole block or a trailer begins; the file's end if there is none.
    pub(super) fn resync(&mut self, at: u64, buffer: &mut Vec<u8>) -> io::Result<u64> {
        let mut start = at + 1;
        let mut head = Vec::new();
        while start < self.len {
            self.read_at(start, SCAN_BYTES, buffer)?;
            if buffer.is_empty() {
                break;
            }
            for (offset, window) in buffer.windows(4).enumerate() {
                if window[0] != BLOCK_MAGIC[0] || (window != BLOCK_MAGIC && window != TRAILER_MAGIC) {
                    continue;
                }
                let found = start + offset as u64;
                // The buffer may end within the header: look again.
                if offset + BLOCK_HEADER_BYTES <= buffer.len() {
                    if matches!(self.judge(found, &buffer[offset..]), Place::Block(_) | Place::Trailer(_)) {
                        return Ok(found);
                    }
                } else if matches!(self.look(found, &mut head)?, Place::Block(_) | Place::Trailer(_)) {
                    return Ok(found);
                }
            }
            let step = if buffer.len() < SCAN_BYTES { buffer.len() } else { SCAN_BYTES - 3 };
            start += step as u64;
        }
        Ok(self.len)
    }
}
