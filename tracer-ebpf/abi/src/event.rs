//! Events: what a probe hit sends to user space through the ring buffer.

/// Number of value slots in an event.
pub const MAX_FIELDS: usize = 8;
/// Longest text (a request id) carried by an event, in bytes; longer text is cut and marked.
pub const MAX_TEXT_BYTES: usize = 128;

/// What happened in the target. Closed: engine files map their engine's words to these.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// A request entered the scheduler's queue.
    RequestEnqueued = 1,
    /// A request was looked at and put back, as no place was free.
    RequestDeferred = 2,
    /// A request left the queue and holds a place (a slot, a seat in the batch).
    RequestAdmitted = 3,
    /// The first token of a request after its admission.
    FirstToken = 4,
    /// A request gave its place back.
    RequestEnded = 5,
    /// A request was withdrawn while it waited.
    RequestAborted = 6,
    /// A request lost its place before it was done and waits again.
    RequestPreempted = 7,
    /// The scheduler began a step (one iteration).
    StepBegin = 8,
    /// The scheduler finished a step.
    StepEnd = 9,
}

impl EventKind {
    /// Every kind, in numeric order.
    pub const ALL: [EventKind; 9] = [
        EventKind::RequestEnqueued,
        EventKind::RequestDeferred,
        EventKind::RequestAdmitted,
        EventKind::FirstToken,
        EventKind::RequestEnded,
        EventKind::RequestAborted,
        EventKind::RequestPreempted,
        EventKind::StepBegin,
        EventKind::StepEnd,
    ];

    /// The kind with this number, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Why a read in the target's memory failed. Numbers are append-only; 0 means "no fault".
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The address was not mapped or not readable.
    Unreadable = 1,
    /// The plan names a register, slot or operation that does not exist.
    BadPlan = 2,
    /// The plan did not end within [`crate::MAX_STEPS`] steps.
    TooManySteps = 3,
    /// A length in the target was negative or beyond any sensible bound.
    BadLength = 4,
    /// A dictionary held no such key within the search bound.
    KeyNotFound = 5,
    /// An object was not of the type that the plan expects.
    WrongType = 6,
}

impl Fault {
    /// Every fault, in numeric order.
    pub const ALL: [Fault; 6] = [
        Fault::Unreadable,
        Fault::BadPlan,
        Fault::TooManySteps,
        Fault::BadLength,
        Fault::KeyNotFound,
        Fault::WrongType,
    ];

    /// The fault with this number, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| *fault as u8 == number)
    }
}

/// Bit of [`EventHeader::flags`]: the text was longer than [`MAX_TEXT_BYTES`] and has been cut.
pub const FLAG_TEXT_CUT: u8 = 1;

/// The fixed front of every event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// CLOCK_MONOTONIC, nanoseconds, read when the probe was hit.
    pub ts_ns: u64,
    /// Process (thread group) id in the initial PID namespace.
    pub pid: u32,
    /// Thread id in the initial PID namespace.
    pub tid: u32,
    /// Index of the attached probe, hence of its read plan.
    pub probe: u16,
    /// An [`EventKind`] number.
    pub kind: u8,
    /// Bit n set: value slot n was read.
    pub present: u8,
    /// A [`Fault`] number, 0 when every required read worked.
    pub fault: u8,
    /// Step of the read plan at which the fault happened.
    pub fault_step: u8,
    /// `FLAG_*` bits.
    pub flags: u8,
    /// Bytes of text that follow the values (only in a [`TextEvent`]).
    pub text_len: u8,
}

/// An event without text.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time, place and what was read.
    pub header: EventHeader,
    /// Value slots; only those marked in [`EventHeader::present`] mean something.
    pub values: [u64; MAX_FIELDS],
}

/// An event with text.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEvent {
    /// The event.
    pub event: Event,
    /// The first [`EventHeader::text_len`] bytes are the text, as found in the target: not validated.
    pub text: [u8; MAX_TEXT_BYTES],
}

/// Size of [`EventHeader`] on the wire.
pub const HEADER_BYTES: usize = 24;
/// Size of [`Event`] on the wire.
pub const EVENT_BYTES: usize = 88;
/// Size of [`TextEvent`] on the wire.
pub const TEXT_EVENT_BYTES: usize = 216;

const _: () = assert!(size_of::<EventHeader>() == HEADER_BYTES);
const _: () = assert!(size_of::<Event>() == EVENT_BYTES);
const _: () = assert!(size_of::<TextEvent>() == TEXT_EVENT_BYTES);
const _: () = assert!(align_of::<TextEvent>() == 8);
