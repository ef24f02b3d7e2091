//! CLOCK_MONOTONIC, the clock of everything.

use crate::session_facts::ClockFacts;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the two clocks used here always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC in nanoseconds, as `bpf_ktime_get_ns` reads it.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Both clocks at one moment.
pub fn clock_facts() -> ClockFacts {
    ClockFacts { monotonic_ns: monotonic_ns(), realtime_ns: read(libc::CLOCK_REALTIME) }
}
