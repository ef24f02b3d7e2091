//! Entry points for fuzzing: any bytes at all must come back without a panic. `tests/fuzz` and the ordinary tests
//! call them.

use std::io::Cursor;
use std::path::Path;

use super::{Reader, events, index, samples};
use crate::stream::{EventBatch, decode};

/// A record of the ring buffer.
pub fn wire_record(data: &[u8]) {
    let mut batch = EventBatch::new();
    if decode(data, &mut batch).is_ok() {
        assert_eq!(batch.len(), 1);
        batch.text(&batch.events()[0]);
    } else {
        assert!(batch.is_empty());
    }
}

/// A session file; returns the number of blocks and of problems.
pub fn session(data: &[u8]) -> (usize, usize) {
    let Ok(mut reader) = Reader::new(Cursor::new(data), Path::new("fuzz.ttft")) else { return (0, 0) };
    let mut blocks = 0;
    for block in reader.by_ref() {
        if block.is_err() {
            break;
        }
        blocks += 1;
    }
    let entries: Vec<_> = reader.index().unwrap_or_default().iter().take(64).copied().collect();
    for entry in entries {
        let _ = reader.read_block(&entry);
    }
    reader.problems().iter().for_each(|problem| assert!(!problem.to_string().is_empty()));
    (blocks, reader.problems().len())
}

/// The payloads of blocks, past the checksums. What can be read must come back the same after another round.
pub fn payload(data: &[u8]) {
    let Some((count, data)) = data.split_first() else { return };
    if let Ok(batch) = events::decode(data, u32::from(*count)) {
        let mut again = Vec::new();
        events::Encoder::new().encode(&batch, &mut again);
        assert_eq!(events::decode(&again, batch.len() as u32).as_ref(), Ok(&batch));
    }
    if let Ok(read) = samples::decode(data, u32::from(*count)) {
        let mut again = Vec::new();
        samples::encode(&read, &mut again);
        assert_eq!(samples::decode(&again, read.len() as u32).map(|read| read.len()), Ok(read.len()));
    }
    let _ = index::decode(data);
}
