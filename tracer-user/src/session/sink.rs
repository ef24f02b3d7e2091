//! Where a session goes, and what did not get there.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use super::frame::BlockKind;

/// A place that a session can be written to.
pub trait Sink: Write {
    /// Takes back everything after the first `len` bytes; the next write goes there.
    ///
    /// # Errors
    /// If the place cannot do that (a pipe, a device).
    fn cut(&mut self, len: u64) -> io::Result<()>;

    /// Returns when everything is on the disk.
    ///
    /// # Errors
    /// What the system says.
    fn settle(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Sink for File {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)?;
        self.seek(SeekFrom::Start(len)).map(drop)
    }

    fn settle(&mut self) -> io::Result<()> {
        match self.sync_data() {
            // A pipe or a device has nothing to sync.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

impl Sink for &mut Vec<u8> {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.truncate(len as usize);
        Ok(())
    }
}

/// What was given to the writer and is not in the file, as writing failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Unwritten {
    /// Events.
    pub events: u64,
    /// Samples of counters.
    pub samples: u64,
    /// Documents: facts, notes.
    pub documents: u64,
    /// Earliest time of what is missing, if it has times.
    pub first_ns: Option<u64>,
    /// Latest time of what is missing.
    pub last_ns: Option<u64>,
}

impl Unwritten {
    /// True if everything was written.
    pub fn is_none(&self) -> bool {
        self.events == 0 && self.samples == 0 && self.documents == 0
    }

    pub(super) fn add(&mut self, kind: BlockKind, items: u32, (first, last): (u64, u64)) {
        match kind {
            BlockKind::Events => self.events += u64::from(items),
            BlockKind::Samples => self.samples += u64::from(items),
            _ => self.documents += 1,
        }
        if last > 0 {
            self.first_ns = Some(self.first_ns.map_or(first, |old| old.min(first)));
            self.last_ns = Some(self.last_ns.map_or(last, |old| old.max(last)));
        }
    }
}
