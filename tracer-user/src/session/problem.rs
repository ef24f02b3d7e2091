//! What is missing from a session that could be read: never silently left out.

use std::fmt;

use super::frame::BlockKind;

/// Something that is missing or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file's header is damaged: its version is unknown.
    DamagedFileHeader,
    /// The file ends within a block or the trailer.
    CutOff {
        /// Where the part that ends early begins.
        at: u64,
        /// Length of the file.
        file_bytes: u64,
    },
    /// Bytes that are no block were skipped.
    DamagedBytes {
        /// Where they begin.
        at: u64,
        /// Number of bytes skipped.
        bytes: u64,
    },
    /// A block is damaged and was skipped.
    DamagedBlock {
        /// Where it begins.
        at: u64,
        /// What it held.
        kind: u8,
        /// How many of it.
        items: u32,
        /// Its earliest and latest time.
        span_ns: (u64, u64),
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Blocks are missing, by their numbers.
    MissingBlocks {
        /// Where the next one begins.
        at: u64,
        /// Number of blocks.
        blocks: u32,
    },
    /// A block is not the one that belongs here.
    OutOfOrder {
        /// Where it begins.
        at: u64,
        /// The number that was due.
        expected: u32,
        /// Its own number.
        found: u32,
    },
    /// A block kind or encoding of a later version was skipped.
    UnknownBlock {
        /// Where it begins.
        at: u64,
        /// Its kind.
        kind: u8,
        /// Number of items in it.
        items: u32,
    },
    /// Bytes follow the end of the session.
    TrailingBytes {
        /// Where they begin.
        at: u64,
        /// How many.
        bytes: u64,
    },
    /// The trailer or the index contradicts what was read.
    WrongIndex {
        /// How.
        reason: &'static str,
    },
    /// The recording was not closed: what came last is missing.
    NotClosed {
        /// Latest time of the last whole block of events.
        events_until_ns: Option<u64>,
    },
    /// More problems than are kept.
    More {
        /// How many more.
        problems: u64,
    },
}

impl Problem {
    /// Number of events known to be missing; what is missing beyond that is unknown.
    pub fn events_lost(&self) -> u64 {
        match self {
            Problem::DamagedBlock { kind, items, .. } if *kind == BlockKind::Events as u8 => {
                u64::from(*items)
            }
            _ => 0,
        }
    }
}

/// Nanoseconds as seconds, exactly.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

fn items_name(kind: u8) -> &'static str {
    BlockKind::from_u8(kind).map_or("items of an unknown kind", BlockKind::items_name)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Problem::DamagedFileHeader => {
                write!(f, "the file's header is damaged; it is read as the current version")
            }
            Problem::CutOff { at, file_bytes } => {
                write!(
                    f,
                    "the file ends at byte {file_bytes}, in the middle of a block that begins at byte {at}"
                )
            }
            Problem::DamagedBytes { at, bytes } => {
                write!(f, "{bytes} bytes from byte {at} on are damaged; what they held is lost")
            }
            Problem::DamagedBlock { at, kind, items, span_ns: (first, last), reason } => {
                write!(
                    f,
                    "the block at byte {at} is damaged ({reason}): {items} {} are lost",
                    items_name(kind)
                )?;
                if last > 0 {
                    write!(f, ", between {} and {}", Seconds(first), Seconds(last))?;
                }
                Ok(())
            }
            Problem::MissingBlocks { at, blocks } => {
                write!(f, "{blocks} blocks are missing before byte {at}")
            }
            Problem::OutOfOrder { at, expected, found } => {
                write!(f, "the block at byte {at} has number {found} where {expected} was due")
            }
            Problem::UnknownBlock { at, kind, items } => write!(
                f,
                "the block at byte {at} (kind {kind}, {items} items) was written by a later version and is left out"
            ),
            Problem::TrailingBytes { at, bytes } => {
                write!(f, "{bytes} bytes follow the end of the session at byte {at} and are left out")
            }
            Problem::WrongIndex { reason } => write!(f, "the index is wrong: {reason}"),
            Problem::NotClosed { events_until_ns: Some(until) } => {
                write!(
                    f,
                    "the recording was not closed; the last whole block of events ends at {}",
                    Seconds(until)
                )
            }
            Problem::NotClosed { events_until_ns: None } => {
                write!(f, "the recording was not closed; it holds no events")
            }
            Problem::More { problems } => write!(f, "{problems} more problems of these kinds"),
        }
    }
}
