//! Writing a session: blocks are appended whole, and a block that does not fit is taken back.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::error::SessionError;
use super::events::{EVENT_MAX_BYTES, Encoder};
use super::frame::{
    BLOCK_HEADER_BYTES, BlockHeader, BlockKind, FLAG_ZSTD, FileHeader, MAX_BLOCK_BYTES, MAX_BLOCK_ITEMS,
    MAX_JSON_BYTES, SCHEMA_VERSION, TRAILER_BYTES, Trailer,
};
use super::index::{self, IndexEntry};
use super::samples::{self, Note, Sample};
use super::sink::{Sink, Unwritten};
use crate::stream::EventBatch;

/// Events in a full block.
const BLOCK_EVENTS: usize = 1 << 16;
/// Samples in a full block.
const BLOCK_SAMPLES: usize = 1 << 12;
/// Kept free for the final counters when a size limit is asked about.
const CLOSING_BYTES: u64 = 64 << 10;
/// At most this much a block in the index.
const INDEX_BYTES_PER_BLOCK: u64 = 32;
/// Assumed for an item before there is experience.
const UNKNOWN_ITEM_BYTES: u64 = 16;

// A block of the largest events is still one block.
const _: () = assert!(BLOCK_EVENTS * EVENT_MAX_BYTES + 20 <= MAX_BLOCK_BYTES);
const _: () = assert!(BLOCK_EVENTS <= MAX_BLOCK_ITEMS);

/// A session being written. Without [`Writer::finish`] the file is readable up to the last flush.
pub struct Writer<W: Sink> {
    sink: W,
    path: PathBuf,
    written: u64,
    /// Items in the file.
    items: u64,
    index: Vec<IndexEntry>,
    unwritten: Unwritten,
    broken: bool,
    events: EventBatch,
    samples: Vec<Sample>,
    pending_since: Option<Instant>,
    encoder: Encoder,
    compressor: zstd::bulk::Compressor<'static>,
    /// The payload being made.
    raw: Vec<u8>,
    /// The block being made.
    block: Vec<u8>,
}

impl Writer<File> {
    /// Creates the file at `path`; an existing one is overwritten only with `force`.
    ///
    /// # Errors
    /// [`SessionError::Exists`], or what the system says.
    pub fn create(path: &Path, force: bool) -> Result<Self, SessionError> {
        let mut options = File::options();
        options.write(true);
        if force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        let sink = options.open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => SessionError::Exists { path: path.into() },
            _ => SessionError::Io { path: path.into(), doing: "create", source },
        })?;
        Self::new(sink, path)
    }
}

impl<W: Sink> Writer<W> {
    /// Begins a session in `sink`; `path` is its name in messages.
    ///
    /// # Errors
    /// If the file's header cannot be written.
    pub fn new(mut sink: W, path: &Path) -> Result<Self, SessionError> {
        let io_error = |source| SessionError::Io { path: path.into(), doing: "write to", source };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header =
            FileHeader { version: SCHEMA_VERSION, created_unix_ns: since_epoch.as_nanos() as u64 }.to_bytes();
        sink.write_all(&header).map_err(io_error)?;
        Ok(Writer {
            sink,
            path: path.into(),
            written: header.len() as u64,
            items: 0,
            index: Vec::new(),
            unwritten: Unwritten::default(),
            broken: false,
            events: EventBatch::new(),
            samples: Vec::new(),
            pending_since: None,
            encoder: Encoder::new(),
            compressor: zstd::bulk::Compressor::new(1).map_err(io_error)?,
            raw: Vec::new(),
            block: Vec::new(),
        })
    }

    /// Writes facts of the session. May be called again: a reader sees every document, the later one counts.
    ///
    /// # Errors
    /// If the block cannot be written or the document is too large.
    pub fn write_meta(&mut self, meta: &Value) -> Result<(), SessionError> {
        self.write_json(BlockKind::Meta, meta, (0, 0))
    }

    /// Takes events; they are in the file after the next flush, at the latest when a block is full.
    ///
    /// # Errors
    /// If a block cannot be written; the events that are lost by that are counted in [`Writer::unwritten`].
    pub fn push_events(&mut self, batch: &EventBatch) -> Result<(), SessionError> {
        let mut result = Ok(());
        for raw in batch.events() {
            self.events.push_from(batch, raw);
            if self.events.len() >= BLOCK_EVENTS {
                // A failure does not keep the rest from being tried.
                result = result.and(self.flush_events());
            }
        }
        self.mark_pending();
        result
    }

    /// Takes a reading of a counter.
    ///
    /// # Errors
    /// As for events.
    pub fn push_sample(&mut self, sample: Sample) -> Result<(), SessionError> {
        self.samples.push(sample);
        let result = if self.samples.len() >= BLOCK_SAMPLES { self.flush_samples() } else { Ok(()) };
        self.mark_pending();
        result
    }

    /// Writes a note, at once.
    ///
    /// # Errors
    /// If the block cannot be written.
    pub fn note(&mut self, note: &Note) -> Result<(), SessionError> {
        self.write_json(BlockKind::Notes, &serde_json::to_value([note])?, (note.ts_ns, note.ts_ns))
    }

    /// Flushes if something has waited for `age`: call it often, and a killed recording loses no more than that.
    ///
    /// # Errors
    /// If a block cannot be written.
    pub fn flush_if_older(&mut self, age: Duration) -> Result<(), SessionError> {
        match self.pending_since {
            Some(since) if since.elapsed() >= age => self.flush(),
            _ => Ok(()),
        }
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// If a block cannot be written.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let events = self.flush_events();
        events.and(self.flush_samples())
    }

    /// Bytes in the file.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// What writing has lost so far.
    pub fn unwritten(&self) -> &Unwritten {
        &self.unwritten
    }

    /// True if flushing and closing now may take the file over `limit` bytes: an estimate, on the safe side, from
    /// the bytes an item took so far. It is sharpest right after a flush.
    pub fn would_exceed(&self, limit: u64) -> bool {
        let each = if self.items < 1000 { UNKNOWN_ITEM_BYTES } else { 2 * self.written.div_ceil(self.items) };
        let pending = (self.events.len() + self.samples.len()) as u64 * each;
        let index = (self.index.len() as u64 + 4) * INDEX_BYTES_PER_BLOCK;
        self.written + pending + index + CLOSING_BYTES > limit
    }

    /// Flushes, writes the final counters, the index and the trailer, and waits for the disk.
    /// Returns the size of the file.
    ///
    /// # Errors
    /// The first failure. Closing goes on after one, so that a full disk still leaves a closed file where possible.
    pub fn finish(mut self, end: &Value) -> Result<u64, SessionError> {
        let mut result = self.flush();
        if !self.unwritten.is_none() {
            let ts_ns = self.unwritten.last_ns.unwrap_or(0);
            let note =
                Note { ts_ns, what: "not_written".into(), data: serde_json::to_value(self.unwritten)? };
            result = result.and(self.note(&note));
        }
        result = result.and(self.write_json(BlockKind::End, end, (0, 0)));
        result = result.and(self.close());
        result.map(|()| self.written)
    }

    fn close(&mut self) -> Result<(), SessionError> {
        let index_offset = self.written;
        self.raw.clear();
        index::encode(&self.index, &mut self.raw);
        let indexed = self.raw.len() <= MAX_BLOCK_BYTES;
        if indexed {
            self.write_block(BlockKind::Index, self.index.len() as u32, (0, 0))?;
        }
        let trailer = Trailer {
            blocks: self.index.len() as u32,
            index_offset: if indexed { index_offset } else { 0 },
            file_len: self.written + TRAILER_BYTES as u64,
        };
        self.block.clear();
        self.block.extend_from_slice(&trailer.to_bytes());
        self.append(BlockKind::Index, 1, (0, 0))?;
        self.sink.settle().map_err(|source| SessionError::Io {
            path: self.path.clone(),
            doing: "write to the disk",
            source,
        })
    }

    fn mark_pending(&mut self) {
        let idle = self.events.is_empty() && self.samples.is_empty();
        self.pending_since = if idle { None } else { self.pending_since.or_else(|| Some(Instant::now())) };
    }

    fn flush_events(&mut self) -> Result<(), SessionError> {
        if self.events.is_empty() {
            return Ok(());
        }
        self.raw.clear();
        let span = self.encoder.encode(&self.events, &mut self.raw);
        let items = self.events.len() as u32;
        self.events.clear();
        self.mark_pending();
        self.write_block(BlockKind::Events, items, span)
    }

    fn flush_samples(&mut self) -> Result<(), SessionError> {
        if self.samples.is_empty() {
            return Ok(());
        }
        self.raw.clear();
        let span = samples::encode(&self.samples, &mut self.raw);
        let items = self.samples.len() as u32;
        self.samples.clear();
        self.mark_pending();
        self.write_block(BlockKind::Samples, items, span)
    }

    fn write_json(&mut self, kind: BlockKind, value: &Value, span: (u64, u64)) -> Result<(), SessionError> {
        self.raw.clear();
        serde_json::to_writer(&mut self.raw, value)?;
        if self.raw.len() > MAX_JSON_BYTES {
            return Err(SessionError::TooLarge { bytes: self.raw.len(), limit: MAX_JSON_BYTES });
        }
        self.write_block(kind, 1, span)
    }

    /// Makes a block of the payload in `self.raw` and appends it.
    fn write_block(&mut self, kind: BlockKind, items: u32, span: (u64, u64)) -> Result<(), SessionError> {
        let capacity = zstd::zstd_safe::compress_bound(self.raw.len());
        self.block.clear();
        self.block.resize(BLOCK_HEADER_BYTES + capacity, 0);
        let payload = &mut self.block[BLOCK_HEADER_BYTES..];
        let (flags, stored) = match self.compressor.compress_to_buffer(&self.raw, payload) {
            Ok(bytes) if bytes < self.raw.len() => (FLAG_ZSTD, bytes),
            _ => {
                payload[..self.raw.len()].copy_from_slice(&self.raw);
                (0, self.raw.len())
            }
        };
        self.block.truncate(BLOCK_HEADER_BYTES + stored);
        let header = BlockHeader {
            kind: kind as u8,
            flags,
            raw_len: self.raw.len() as u32,
            stored_len: stored as u32,
            items,
            seq: self.index.len() as u32,
            first_ns: span.0,
            last_ns: span.1,
            payload_crc: crc32fast::hash(&self.block[BLOCK_HEADER_BYTES..]),
        };
        self.block[..BLOCK_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let offset = self.written;
        self.append(kind, items, span)?;
        self.items += u64::from(items);
        let (first_ns, last_ns) = span;
        self.index.push(IndexEntry { offset, kind: kind as u8, items, first_ns, last_ns });
        Ok(())
    }

    /// Appends the bytes in `self.block`; on failure takes back what was written of them.
    fn append(&mut self, kind: BlockKind, items: u32, span: (u64, u64)) -> Result<(), SessionError> {
        if self.broken {
            self.unwritten.add(kind, items, span);
            return Err(SessionError::Broken { path: self.path.clone() });
        }
        if let Err(source) = self.sink.write_all(&self.block) {
            self.unwritten.add(kind, items, span);
            let cut = self.sink.cut(self.written).is_ok();
            self.broken = !cut;
            return Err(SessionError::Write {
                path: self.path.clone(),
                source,
                items,
                name: kind.items_name(),
                kept_bytes: self.written,
                cut,
            });
        }
        self.written += self.block.len() as u64;
        Ok(())
    }
}
