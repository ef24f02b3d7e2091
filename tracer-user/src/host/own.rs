//! What the tracer itself uses.

/// CPU time and memory of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCost {
    /// User and system time, in seconds.
    pub cpu_seconds: f64,
    /// Largest resident size so far, in bytes.
    pub peak_rss_bytes: u64,
}

impl OwnCost {
    /// Reads it.
    pub fn now() -> Self {
        // SAFETY: all-zero is a valid `rusage`, and `getrusage` only writes to it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        OwnCost {
            cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peak_rss_bytes: usage.ru_maxrss as u64 * 1024,
        }
    }
}
