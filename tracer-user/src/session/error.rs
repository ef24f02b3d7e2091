//! Why a session cannot be written or read at all. Paths are printed escaped: they may hold anything.

use std::io;
use std::path::PathBuf;

use super::frame::SCHEMA_VERSION;

/// A session file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file is there already.
    #[error("{path:?} exists already: choose another name, or pass --force to overwrite it")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {doing} {path:?}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A block could not be written, as the disk is full or broken.
    #[error(
        "cannot write to {path:?}: {source}; {items} {name} were not written; {}",
        if *cut { format!("the file is whole up to byte {kept_bytes}") }
        else { format!("a part of a block may follow byte {kept_bytes}") }
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// Number of items lost.
        items: u32,
        /// What they are.
        name: &'static str,
        /// The file is whole up to here.
        kept_bytes: u64,
        /// The part of the block that was written has been taken back.
        cut: bool,
    },
    /// An earlier failure left the file in a state that cannot be continued.
    #[error("{path:?} cannot be continued after the write that failed")]
    Broken {
        /// The file.
        path: PathBuf,
    },
    /// Not a file.
    #[error("{path:?} is {what}, not a session file")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Nothing in it.
    #[error("{path:?} is empty: nothing was recorded, or the disk was full")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It begins like a session and ends within its header.
    #[error("{path:?} holds only {bytes} bytes: the recording ended before anything was written")]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// It begins unlike a session.
    #[error("{path:?} is not a session file (.ttft): it looks like {looks_like}")]
    NotTtft {
        /// The file.
        path: PathBuf,
        /// A guess from its first bytes.
        looks_like: String,
    },
    /// Written by a later program.
    #[error(
        "{path:?} has session format {}.{}; this program reads up to {}.x: use the version of ttftrace that \
         recorded it, or a later one",
        found.0, found.1, SCHEMA_VERSION.0
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: (u16, u16),
    },
    /// A JSON document beyond its bound.
    #[error("a document of {bytes} bytes is too large for a session file: at most {limit}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// A JSON document that cannot be written.
    #[error("cannot write a document of the session: {0}")]
    Json(#[from] serde_json::Error),
}

/// What a file that is not ours may be, from its first bytes.
pub(super) fn looks_like(head: &[u8]) -> String {
    let known: [(&[u8], &str); 10] = [
        (b"\x7fELF", "an ELF program or library"),
        (b"\x1f\x8b", "a gzip file (decompress it first)"),
        (b"\x28\xb5\x2f\xfd", "a zstd file (decompress it first)"),
        (b"\xfd7zXZ", "an xz file (decompress it first)"),
        (b"PK\x03\x04", "a zip file (unpack it first)"),
        (b"PAR1", "a Parquet file"),
        (b"SQLite format 3", "an SQLite database"),
        (b"PERFILE2", "a perf.data file"),
        (b"{", "JSON"),
        (b"[", "JSON"),
    ];
    if let Some((_, name)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return name.to_string();
    }
    let text = head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let shown = head[..head.len().min(16)].escape_ascii();
    format!("{} that begins with \"{shown}\"", if text { "text" } else { "data" })
}
