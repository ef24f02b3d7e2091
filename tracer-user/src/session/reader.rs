//! Reading a session block by block, whatever has become of the file.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{SessionError, looks_like};
use super::frame::{
    BLOCK_HEADER_BYTES, BlockHeader, BlockKind, FILE_HEADER_BYTES, FILE_MAGIC, FLAG_ZSTD, FileHeader,
    MAX_JSON_BYTES, SCHEMA_VERSION, TRAILER_BYTES, Trailer,
};
use super::index::{self, IndexEntry};
use super::problem::Problem;
use super::samples::{self, Note, Sample};
use super::scan::{Place, Source};
use crate::stream::EventBatch;

/// Problems that are kept word by word; the rest are counted.
const MAX_PROBLEMS: usize = 1000;

/// One block of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Facts of the session.
    Meta(Value),
    /// Events, in the order in which they were recorded.
    Events(EventBatch),
    /// Counters of the host.
    Samples(Vec<Sample>),
    /// Things that happened to the recording.
    Notes(Vec<Note>),
    /// Final counters and the reason for the end.
    End(Value),
    /// A block of a later version; also reported in [`Reader::problems`].
    Unknown {
        /// Its kind.
        kind: u8,
        /// Its size in the file.
        bytes: u64,
    },
}

/// A session being read: an iterator of its blocks. One block is in memory at a time.
///
/// What is missing or damaged does not stop it; it is in [`Reader::problems`], complete once the iterator has ended.
/// Only the operating system's errors come as `Err`, and end it.
pub struct Reader<R> {
    source: Source<R>,
    path: PathBuf,
    header: Option<FileHeader>,
    problems: Vec<Problem>,
    index: Option<Vec<IndexEntry>>,
    window: Option<(u64, u64)>,
    at: u64,
    done: bool,
    next_seq: u32,
    ended: bool,
    events_until: Option<u64>,
    decompressor: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl Reader<File> {
    /// Opens the session at `path`.
    ///
    /// # Errors
    /// If it is not there, not a session, or one of a later version.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        let io_error = |doing| move |source| SessionError::Io { path: path.into(), doing, source };
        // Before opening: opening a pipe would wait for its other end.
        let kind = std::fs::metadata(path).map_err(io_error("open"))?.file_type();
        if !kind.is_file() {
            let what = if kind.is_dir() { "a directory" } else { "a pipe, a socket or a device" };
            return Err(SessionError::NotAFile { path: path.into(), what });
        }
        Self::new(File::open(path).map_err(io_error("open"))?, path)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the session in `inner`; `path` is its name in messages.
    ///
    /// # Errors
    /// If it is not a session, or one of a later version.
    pub fn new(inner: R, path: &Path) -> Result<Self, SessionError> {
        let io_error = |source| SessionError::Io { path: path.into(), doing: "read", source };
        let mut source = Source::new(inner).map_err(io_error)?;
        let mut head = Vec::new();
        source.read_at(0, FILE_HEADER_BYTES, &mut head).map_err(io_error)?;
        if head.is_empty() {
            return Err(SessionError::Empty { path: path.into() });
        }
        if !head.iter().zip(FILE_MAGIC).all(|(byte, due)| *byte == due) {
            return Err(SessionError::NotTtft { path: path.into(), looks_like: looks_like(&head) });
        }
        let Ok(head) = <&[u8; FILE_HEADER_BYTES]>::try_from(head.as_slice()) else {
            return Err(SessionError::TooShort { path: path.into(), bytes: source.len() });
        };
        let header = FileHeader::parse(head);
        if let Some(FileHeader { version, .. }) = header
            && version.0 > SCHEMA_VERSION.0
        {
            return Err(SessionError::Newer { path: path.into(), found: version });
        }
        let mut reader = Reader {
            source,
            path: path.into(),
            header,
            problems: Vec::new(),
            index: None,
            window: None,
            at: FILE_HEADER_BYTES as u64,
            done: false,
            next_seq: 0,
            ended: false,
            events_until: None,
            decompressor: zstd::bulk::Decompressor::new().map_err(io_error)?,
            stored: Vec::new(),
            raw: Vec::new(),
        };
        if reader.header.is_none() {
            reader.problem(Problem::DamagedFileHeader);
        }
        reader.index = reader.read_index().map_err(io_error)?;
        Ok(reader)
    }

    /// Schema version of the file; `None` if its header is damaged.
    pub fn version(&self) -> Option<(u16, u16)> {
        self.header.map(|header| header.version)
    }

    /// Wall clock when the recording began; `None` if the file's header is damaged.
    pub fn created_unix_ns(&self) -> Option<u64> {
        self.header.map(|header| header.created_unix_ns)
    }

    /// What is missing or damaged, in the order in which it was met.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// True if the file was read to its end and nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.done && self.problems.is_empty()
    }

    /// Where the blocks are, if the recording was closed.
    pub fn index(&self) -> Option<&[IndexEntry]> {
        self.index.as_deref()
    }

    /// From here on leaves out, unread, blocks of events and samples that lie wholly outside of these times.
    pub fn set_window(&mut self, first_ns: u64, last_ns: u64) {
        self.window = Some((first_ns, last_ns));
    }

    /// Reads one block out of turn; `None` if it is damaged or holds nothing to show (the index).
    ///
    /// # Errors
    /// What the system says.
    pub fn read_block(&mut self, entry: &IndexEntry) -> Result<Option<Block>, SessionError> {
        let block = self.block_at(entry.offset);
        block.map_err(|source| self.io_error(source))
    }

    fn block_at(&mut self, at: u64) -> io::Result<Option<Block>> {
        match self.source.look(at, &mut self.stored)? {
            Place::Block(header) if self.load(at, &header)?.is_ok() => {
                Ok(self.interpret(&header).ok().flatten())
            }
            _ => Ok(None),
        }
    }

    fn io_error(&self, source: io::Error) -> SessionError {
        SessionError::Io { path: self.path.clone(), doing: "read", source }
    }

    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else if let Some(Problem::More { problems }) = self.problems.last_mut() {
            *problems += 1;
        } else {
            self.problems.push(Problem::More { problems: 1 });
        }
    }

    /// The index by way of the trailer. Damage is found again, and reported, when the blocks are read.
    fn read_index(&mut self) -> io::Result<Option<Vec<IndexEntry>>> {
        let Some(at) = self.source.len().checked_sub(TRAILER_BYTES as u64) else { return Ok(None) };
        self.source.read_at(at, TRAILER_BYTES, &mut self.stored)?;
        let Some(Trailer { index_offset, .. }) = Trailer::parse(&self.stored) else { return Ok(None) };
        match self.source.look(index_offset, &mut self.stored)? {
            Place::Block(header) if header.kind == BlockKind::Index as u8 => {
                let loaded = self.load(index_offset, &header)?;
                Ok(loaded.and_then(|()| index::decode(&self.raw).map_err(|malformed| malformed.0)).ok())
            }
            _ => Ok(None),
        }
    }

    /// Reads a block's payload into `self.raw`; the inner error is damage.
    fn load(&mut self, at: u64, header: &BlockHeader) -> io::Result<Result<(), &'static str>> {
        let stored_len = header.stored_len as usize;
        self.source.read_at(at + BLOCK_HEADER_BYTES as u64, stored_len, &mut self.stored)?;
        if self.stored.len() != stored_len {
            return Ok(Err("it ends early"));
        }
        if crc32fast::hash(&self.stored) != header.payload_crc {
            return Ok(Err("its checksum does not match"));
        }
        if header.flags & FLAG_ZSTD == 0 {
            std::mem::swap(&mut self.raw, &mut self.stored);
            return Ok(Ok(()));
        }
        // The buffer is the bound: a frame that wants more is an error.
        self.raw.resize(header.raw_len as usize, 0);
        let written = self.decompressor.decompress_to_buffer(&self.stored, self.raw.as_mut_slice());
        Ok(match written {
            Ok(bytes) if bytes == self.raw.len() => Ok(()),
            _ => Err("it cannot be decompressed to its declared size"),
        })
    }

    /// The block in `self.raw`; `None` for the index.
    fn interpret(&mut self, header: &BlockHeader) -> Result<Option<Block>, &'static str> {
        fn json<T: serde::de::DeserializeOwned>(raw: &[u8]) -> Result<T, &'static str> {
            if raw.len() > MAX_JSON_BYTES {
                return Err("its document is too large");
            }
            serde_json::from_slice(raw).map_err(|_| "its document is not the JSON it should be")
        }
        let block = match BlockKind::from_u8(header.kind) {
            Some(BlockKind::Meta) => Block::Meta(json(&self.raw)?),
            Some(BlockKind::Events) => Block::Events(
                super::events::decode(&self.raw, header.items).map_err(|malformed| malformed.0)?,
            ),
            Some(BlockKind::Samples) => {
                Block::Samples(samples::decode(&self.raw, header.items).map_err(|malformed| malformed.0)?)
            }
            Some(BlockKind::Notes) => Block::Notes(json(&self.raw)?),
            Some(BlockKind::End) => Block::End(json(&self.raw)?),
            Some(BlockKind::Index) => return Ok(None),
            None => Block::Unknown { kind: header.kind, bytes: u64::from(header.stored_len) },
        };
        Ok(Some(block))
    }

    /// The number of the block at `at` against the number that is due.
    fn check_seq(&mut self, at: u64, header: &BlockHeader) {
        if header.seq > self.next_seq {
            self.problem(Problem::MissingBlocks { at, blocks: header.seq - self.next_seq });
        } else if header.seq < self.next_seq {
            self.problem(Problem::OutOfOrder { at, expected: self.next_seq, found: header.seq });
        }
        self.next_seq = header.seq.saturating_add(1);
    }

    fn outside_window(&self, header: &BlockHeader) -> bool {
        let timed = [BlockKind::Events as u8, BlockKind::Samples as u8].contains(&header.kind);
        timed && self.window.is_some_and(|(first, last)| header.last_ns < first || header.first_ns > last)
    }

    /// One step: a block to show, or `None` and `self.at` or `self.done` has moved on.
    fn step(&mut self) -> io::Result<Option<Block>> {
        let at = self.at;
        match self.source.look(at, &mut self.stored)? {
            Place::Block(header) => return self.step_block(at, &header),
            Place::Trailer(trailer) => {
                let end = at + TRAILER_BYTES as u64;
                if trailer.file_len != end || trailer.blocks != self.next_seq {
                    self.problem(Problem::WrongIndex {
                        reason: "the trailer tells another length or number of blocks",
                    });
                } else if trailer.index_offset != 0 && self.index.is_none() && end == self.source.len() {
                    self.problem(Problem::WrongIndex { reason: "it cannot be read" });
                }
                if end < self.source.len() {
                    self.problem(Problem::TrailingBytes { at: end, bytes: self.source.len() - end });
                }
                self.finish(true);
            }
            Place::CutOff => {
                self.problem(Problem::CutOff { at, file_bytes: self.source.len() });
                self.finish(false);
            }
            Place::End => self.finish(false),
            Place::Damaged => {
                self.at = self.source.resync(at, &mut self.stored)?;
                self.problem(Problem::DamagedBytes { at, bytes: self.at - at });
            }
        }
        Ok(None)
    }

    fn step_block(&mut self, at: u64, header: &BlockHeader) -> io::Result<Option<Block>> {
        self.at = at + BLOCK_HEADER_BYTES as u64 + u64::from(header.stored_len);
        self.check_seq(at, header);
        let BlockHeader { kind, items, .. } = *header;
        if header.flags & !FLAG_ZSTD != 0 || BlockKind::from_u8(kind).is_none() {
            self.problem(Problem::UnknownBlock { at, kind, items });
            return Ok(Some(Block::Unknown { kind, bytes: u64::from(header.stored_len) }));
        }
        if self.outside_window(header) {
            return Ok(None);
        }
        let block = match self.load(at, header)? {
            Ok(()) => self.interpret(header),
            Err(reason) => Err(reason),
        };
        match block {
            Ok(block) => {
                match &block {
                    Some(Block::Events(_)) => self.events_until = Some(header.last_ns),
                    Some(Block::End(_)) => self.ended = true,
                    _ => {}
                }
                Ok(block)
            }
            Err(reason) => {
                let span_ns = (header.first_ns, header.last_ns);
                self.problem(Problem::DamagedBlock { at, kind, items, span_ns, reason });
                Ok(None)
            }
        }
    }

    fn finish(&mut self, closed: bool) {
        if !closed || !self.ended {
            self.problem(Problem::NotClosed { events_until_ns: self.events_until });
        }
        self.done = true;
    }
}

impl<R: Read + Seek> Iterator for Reader<R> {
    type Item = Result<Block, SessionError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.step() {
                Ok(Some(block)) => return Some(Ok(block)),
                Ok(None) => {}
                Err(source) => {
                    self.done = true;
                    let error = self.io_error(source);
                    self.problem(Problem::NotClosed { events_until_ns: self.events_until });
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
