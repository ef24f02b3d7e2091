//! Facts of a recording that its events alone do not tell. They are the first block of a session file.

use serde::{Deserialize, Serialize};

use crate::loader::{AttachedProbe, Calibration, ProbeCounts};

/// An engine file, as it was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineFile {
    /// The engine's name.
    pub name: String,
    /// Where the text came from.
    pub origin: String,
    /// The whole file.
    pub text: String,
}

/// A process that was watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Process id, in the tracer's PID namespace.
    pub pid: u32,
    /// Process id inside its own PID namespace.
    pub namespace_pid: u32,
    /// Start time in clock ticks after boot.
    pub start_ticks: u64,
    /// Name of its main thread.
    pub comm: String,
    /// Engine's name.
    pub engine: String,
    /// Engine's title.
    pub engine_title: String,
    /// Version, or what stands for it.
    pub version: String,
    /// Layout's name.
    pub layout: String,
    /// The object with the engine's code, as the target sees it.
    pub object: String,
    /// What cannot be seen, in words.
    pub missing: Vec<String>,
}

/// The clock of the session: all times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// CLOCK_MONOTONIC when the recording began, in nanoseconds.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME at the same moment, in nanoseconds since 1970.
    pub realtime_ns: u64,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Number of processors.
    pub cpus: u32,
    /// Processor model.
    pub cpu_model: String,
}

/// The first block of a session file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Version of the tracer.
    pub tracer_version: String,
    /// Clock.
    pub clock: ClockFacts,
    /// Machine.
    pub host: HostFacts,
    /// Engine files in use.
    pub engines: Vec<EngineFile>,
    /// Processes.
    pub targets: Vec<TargetFacts>,
    /// Attached probes.
    pub probes: Vec<AttachedProbe>,
    /// What a probe hit costs here; absent if it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// Why a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Asked to (Ctrl-C, SIGTERM).
    Interrupted,
    /// The time that was asked for is over.
    TimeLimit,
    /// The file has reached the size that was asked for.
    SizeLimit,
    /// Every target process has ended.
    TargetExited,
    /// The file could not be written further.
    WriteFailed(String),
}

/// The counters of a recording: written as it goes, and when it ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub ts_ns: u64,
    /// By probe index.
    pub probes: Vec<ProbeCounts>,
    /// Ring records that were no events.
    pub malformed: u64,
    /// Time that the kernel programs took in the targets' threads, in nanoseconds; absent if not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_time_ns: Option<u64>,
    /// CPU time of the tracer itself, in seconds.
    pub tracer_cpu_seconds: f64,
    /// Largest resident size of the tracer, in bytes.
    pub tracer_peak_rss_bytes: u64,
    /// Why the recording ended; absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<EndReason>,
}
