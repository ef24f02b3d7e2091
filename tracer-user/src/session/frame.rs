//! The fixed parts of the file: its header, the header of a block, the trailer. All integers are little-endian.

/// The file's first bytes.
pub(super) const FILE_MAGIC: [u8; 4] = *b"TTFT";
/// The first bytes of a block; no UTF-8 text holds them.
pub(super) const BLOCK_MAGIC: [u8; 4] = [0xf5, b'B', b'L', b'K'];
/// The first bytes of the trailer.
pub(super) const TRAILER_MAGIC: [u8; 4] = [0xf5, b'E', b'N', b'D'];

/// Schema version that this program writes. A reader refuses a newer major version, and reads any minor one.
pub const SCHEMA_VERSION: (u16, u16) = (1, 0);

pub(super) const FILE_HEADER_BYTES: usize = 32;
pub(super) const BLOCK_HEADER_BYTES: usize = 48;
pub(super) const TRAILER_BYTES: usize = 32;

/// Largest payload of a block, before and after compression.
pub const MAX_BLOCK_BYTES: usize = 16 << 20;
/// Largest JSON document (session facts, notes, the end).
pub const MAX_JSON_BYTES: usize = 4 << 20;
/// Most items in one block.
pub const MAX_BLOCK_ITEMS: usize = 1 << 17;

/// Bit of a block's flags: the payload is a zstd frame.
pub(super) const FLAG_ZSTD: u8 = 1;

/// What a block holds.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Facts of the session, JSON.
    Meta = 1,
    /// Events, columns.
    Events = 2,
    /// Counters of the host over time, columns.
    Samples = 3,
    /// Things that happened to the recording, JSON.
    Notes = 4,
    /// Final counters and the reason for the end, JSON.
    End = 5,
    /// Where the blocks are.
    Index = 6,
}

impl BlockKind {
    /// Every kind, in numeric order.
    pub const ALL: [BlockKind; 6] = [
        BlockKind::Meta,
        BlockKind::Events,
        BlockKind::Samples,
        BlockKind::Notes,
        BlockKind::End,
        BlockKind::Index,
    ];

    /// The kind with this number, if this version knows it.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// What an item of such a block is called.
    pub(super) fn items_name(self) -> &'static str {
        match self {
            BlockKind::Meta => "session facts",
            BlockKind::Events => "events",
            BlockKind::Samples => "samples",
            BlockKind::Notes => "notes",
            BlockKind::End => "final counters",
            BlockKind::Index => "index entries",
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The file's header. Its layout is the same in every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub(super) version: (u16, u16),
    /// Wall clock at creation.
    pub(super) created_unix_ns: u64,
}

impl FileHeader {
    pub(super) fn to_bytes(self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[..4].copy_from_slice(&FILE_MAGIC);
        bytes[4..6].copy_from_slice(&self.version.0.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.version.1.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.created_unix_ns.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` if the checksum does not match; the magic has been looked at before.
    pub(super) fn parse(bytes: &[u8; FILE_HEADER_BYTES]) -> Option<Self> {
        (crc32fast::hash(&bytes[..28]) == u32_at(bytes, 28)).then(|| FileHeader {
            version: (u16::from_le_bytes([bytes[4], bytes[5]]), u16::from_le_bytes([bytes[6], bytes[7]])),
            created_unix_ns: u64_at(bytes, 8),
        })
    }
}

/// A block's header, with its own checksum: damage in the payload does not cost the way to the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) raw_len: u32,
    pub(super) stored_len: u32,
    pub(super) items: u32,
    /// Blocks are numbered from 0 without gaps.
    pub(super) seq: u32,
    /// Earliest time in the block; 0 with `last_ns` 0 if it holds no times.
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// Over the payload as stored.
    pub(super) payload_crc: u32,
}

impl BlockHeader {
    pub(super) fn to_bytes(self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        bytes[4] = self.kind;
        bytes[5] = self.flags;
        for (at, field) in [(8, self.raw_len), (12, self.stored_len), (16, self.items), (20, self.seq)] {
            bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        bytes[24..32].copy_from_slice(&self.first_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.last_ns.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..44]);
        bytes[44..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` if this is not the header of a block, or a damaged one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..BLOCK_HEADER_BYTES)?;
        if bytes[..4] != BLOCK_MAGIC || crc32fast::hash(&bytes[..44]) != u32_at(bytes, 44) {
            return None;
        }
        Some(BlockHeader {
            kind: bytes[4],
            flags: bytes[5],
            raw_len: u32_at(bytes, 8),
            stored_len: u32_at(bytes, 12),
            items: u32_at(bytes, 16),
            seq: u32_at(bytes, 20),
            first_ns: u64_at(bytes, 24),
            last_ns: u64_at(bytes, 32),
            payload_crc: u32_at(bytes, 40),
        })
    }
}

/// The last bytes of a file that was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Number of blocks, the index included.
    pub(super) blocks: u32,
    /// Where the index block begins; 0 if it grew too large to write.
    pub(super) index_offset: u64,
    /// Length of the whole file.
    pub(super) file_len: u64,
}

impl Trailer {
    pub(super) fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..4].copy_from_slice(&TRAILER_MAGIC);
        bytes[4..8].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.index_offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.file_len.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` if this is not a trailer, or a damaged one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..TRAILER_BYTES)?;
        if bytes[..4] != TRAILER_MAGIC || crc32fast::hash(&bytes[..28]) != u32_at(bytes, 28) {
            return None;
        }
        Some(Trailer {
            blocks: u32_at(bytes, 4),
            index_offset: u64_at(bytes, 8),
            file_len: u64_at(bytes, 16),
        })
    }
}
