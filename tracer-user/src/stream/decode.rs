//! Ring buffer records to events. The kernel's records are trusted in size only after a look.

use tracer_abi::{EVENT_BYTES, Event, EventHeader, EventKind, MAX_FIELDS, TEXT_EVENT_BYTES};

use super::EventBatch;

/// A record that no program of ours writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Neither the size of an event nor of one with text.
    #[error("a record of {0} bytes: expected {EVENT_BYTES} or {TEXT_EVENT_BYTES}")]
    Size(usize),
    /// An event kind that this version does not know.
    #[error("event kind {0} is unknown: the kernel programs are of another version")]
    Kind(u8),
    /// The text claims to be longer than its place.
    #[error("a text of {0} bytes does not fit its record")]
    Text(u8),
}

/// Appends the event in `record` to `batch`.
///
/// # Errors
/// A [`DecodeError`] if the record is not one of ours; the batch is unchanged.
pub fn decode(record: &[u8], batch: &mut EventBatch) -> Result<(), DecodeError> {
    if record.len() != EVENT_BYTES && record.len() != TEXT_EVENT_BYTES {
        return Err(DecodeError::Size(record.len()));
    }
    let u64_at = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let u32_at = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let header = EventHeader {
        ts_ns: u64_at(0),
        pid: u32_at(8),
        tid: u32_at(12),
        probe: u16::from_le_bytes([record[16], record[17]]),
        kind: record[18],
        present: record[19],
        fault: record[20],
        fault_step: record[21],
        flags: record[22],
        text_len: record[23],
    };
    EventKind::from_u8(header.kind).ok_or(DecodeError::Kind(header.kind))?;
    let mut values = [0; MAX_FIELDS];
    for (slot, value) in values.iter_mut().enumerate() {
        // A slot that was not read holds whatever was there before: it is cleared, so that it cannot be taken for a value.
        if header.present & (1 << slot) != 0 {
            *value = u64_at(24 + 8 * slot);
        }
    }
    let text = &record[EVENT_BYTES..];
    if header.text_len as usize > text.len() {
        return Err(DecodeError::Text(header.text_len));
    }
    batch.push(Event { header, values }, &text[..header.text_len as usize]);
    Ok(())
}
