//! A recording: from attached probes to a session file, until it is told to stop.

mod recorder;
mod threads;

pub use recorder::{Ended, Progress, RecordError, Recorder, RecordingOptions};
