//! What all outputs may see: requests and their phases. No wire types, no engine words.

use serde::{Deserialize, Serialize};

/// How a request ended, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Admitted, produced tokens, ended.
    Completed,
    /// Withdrawn while it waited: never admitted.
    AbortedWaiting,
    /// Withdrawn after admission.
    AbortedRunning,
    /// Admitted and ended without a token: refused by the engine (an over-long prompt), or no text was asked for.
    NoToken,
    /// Still waiting when the recording ended.
    WaitingAtEnd,
    /// Still running when the recording ended.
    RunningAtEnd,
    /// An event of its life was not seen: its phases are incomplete.
    Incomplete,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 7] = [
        Outcome::Completed,
        Outcome::AbortedWaiting,
        Outcome::AbortedRunning,
        Outcome::NoToken,
        Outcome::WaitingAtEnd,
        Outcome::RunningAtEnd,
        Outcome::Incomplete,
    ];

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::AbortedWaiting => "aborted while waiting",
            Outcome::AbortedRunning => "aborted while running",
            Outcome::NoToken => "ended without a token (rejected, or no text asked for)",
            Outcome::WaitingAtEnd => "not yet admitted at the end",
            Outcome::RunningAtEnd => "still running at the end",
            Outcome::Incomplete => "incomplete: an event was not seen",
        }
    }
}

/// One request. Times are CLOCK_MONOTONIC nanoseconds; what was not observed is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// The id that the client sent, where the engine keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The engine's own id.
    pub engine_id: String,
    /// Process that served it.
    pub pid: u32,
    /// Entered the scheduler's queue.
    pub enqueue_ns: u64,
    /// First admission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admitted_ns: Option<u64>,
    /// First token known to the scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ns: Option<u64>,
    /// Gave its place back, or was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
    /// Time between a preemption before the first token and the next admission; absent if the engine's
    /// preemptions are not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_wait_ns: Option<u64>,
    /// Number of prompt tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Place (slot) of its first admission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// Units of work that it was split into: several prompts in one body, or n > 1.
    pub sequences: u32,
    /// Times that it was looked at and put back as no place was free; absent if that is not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<u32>,
    /// Requests that waited when it was enqueued; absent while requests from before the recording may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_at_enqueue: Option<u32>,
    /// Requests that held a place when it was enqueued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_at_enqueue: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// A read in the target failed for one of its events.
    #[serde(skip_serializing_if = "is_zero")]
    pub faults: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A phase of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Enqueue to first admission.
    QueueWait,
    /// Preempted before the first token, until admitted again.
    RequeueWait,
    /// Admission to first token, less requeue wait.
    Prefill,
    /// Enqueue to first token.
    Ttft,
}

impl Phase {
    /// Every phase, in the order of a request's life; the total is last.
    pub const ALL: [Phase; 4] = [Phase::QueueWait, Phase::RequeueWait, Phase::Prefill, Phase::Ttft];

    /// Name in data.
    pub fn key(self) -> &'static str {
        match self {
            Phase::QueueWait => "queue_wait",
            Phase::RequeueWait => "requeue_wait",
            Phase::Prefill => "prefill",
            Phase::Ttft => "ttft",
        }
    }

    /// Name for people.
    pub fn title(self) -> &'static str {
        match self {
            Phase::QueueWait => "queue wait",
            Phase::RequeueWait => "requeue wait",
            Phase::Prefill => "prefill",
            Phase::Ttft => "TTFT (engine)",
        }
    }
}

impl PhaseRecord {
    /// Duration of a phase in nanoseconds; absent if one of its ends was not seen. Never negative: an end
    /// before its beginning counts as not seen.
    pub fn phase_ns(&self, phase: Phase) -> Option<u64> {
        match phase {
            Phase::QueueWait => self.admitted_ns?.checked_sub(self.enqueue_ns),
            Phase::RequeueWait => {
                self.first_token_ns?;
                self.requeue_wait_ns
            }
            Phase::Prefill => {
                let span = self.first_token_ns?.checked_sub(self.admitted_ns?)?;
                span.checked_sub(self.requeue_wait_ns.unwrap_or(0))
            }
            Phase::Ttft => self.first_token_ns?.checked_sub(self.enqueue_ns),
        }
    }
}
