//! Counters and switches shared through maps.

/// Counters of one attached probe on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeStats {
    /// Times the probe was hit while recording.
    pub hits: u64,
    /// Events handed to user space.
    pub sent: u64,
    /// Events dropped as the ring buffer was full: a loss.
    pub ring_full: u64,
    /// Hits that ended in a fault; the event was still sent, marked.
    pub faults: u64,
}

const _: () = assert!(size_of::<ProbeStats>() == 32);

/// Switch of all probes at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Non-zero: hits are recorded. Set once every probe is attached, so that all see the same cut in time.
    pub recording: u32,
}

/// Key of the set behind [`crate::Op::Arm`] and [`crate::Op::Take`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArmedKey {
    /// The value, as read in the target.
    pub value: u64,
    /// The target's process id, so that targets do not mix.
    pub pid: u32,
    /// Zero.
    pub reserved: u32,
}

const _: () = assert!(size_of::<ArmedKey>() == 16);
