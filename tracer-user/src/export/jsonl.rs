//! JSON lines: one object a request.

use std::io::{self, Write};

use serde::Serialize;

use crate::model::{Phase, PhaseRecord};

/// A record with its phases, as it stands in a line.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    record: &'a PhaseRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_wait_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefill_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft_ns: Option<u64>,
}

/// Writes one record as one line.
///
/// # Errors
/// What the output says.
pub fn write_record(out: &mut impl Write, record: &PhaseRecord) -> io::Result<()> {
    let line = Line {
        record,
        queue_wait_ns: record.phase_ns(Phase::QueueWait),
        prefill_ns: record.phase_ns(Phase::Prefill),
        ttft_ns: record.phase_ns(Phase::Ttft),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}
