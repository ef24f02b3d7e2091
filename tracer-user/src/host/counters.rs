//! Counters of the scheduler's thread: the host's part in a slow phase.

use std::io;

use perf_event::{
    Builder, Counter,
    events::{Hardware, Software},
};

/// A counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterDef {
    /// Name in data, with its unit.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    event: Event,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Software(Software),
    Hardware(Hardware),
}

/// Every counter that is tried.
pub const COUNTERS: &[CounterDef] = &[
    CounterDef { name: "task_clock_ns", title: "CPU time", event: Event::Software(Software::TASK_CLOCK) },
    CounterDef {
        name: "context_switches",
        title: "context switches",
        event: Event::Software(Software::CONTEXT_SWITCHES),
    },
    CounterDef {
        name: "cpu_migrations",
        title: "migrations",
        event: Event::Software(Software::CPU_MIGRATIONS),
    },
    CounterDef { name: "page_faults", title: "page faults", event: Event::Software(Software::PAGE_FAULTS) },
    CounterDef {
        name: "major_page_faults",
        title: "major page faults",
        event: Event::Software(Software::PAGE_FAULTS_MAJ),
    },
    CounterDef { name: "cpu_cycles", title: "cycles", event: Event::Hardware(Hardware::CPU_CYCLES) },
    CounterDef {
        name: "instructions",
        title: "instructions",
        event: Event::Hardware(Hardware::INSTRUCTIONS),
    },
    CounterDef {
        name: "cache_misses",
        title: "cache misses",
        event: Event::Hardware(Hardware::CACHE_MISSES),
    },
];

/// The counters of one thread.
pub struct ThreadCounters {
    tid: u32,
    open: Vec<(&'static CounterDef, Counter)>,
    absent: Vec<(&'static CounterDef, String)>,
}

impl ThreadCounters {
    /// Opens what the machine has; what it has not is told by [`ThreadCounters::absent`].
    pub fn open(tid: u32) -> Self {
        let mut counters = ThreadCounters { tid, open: Vec::new(), absent: Vec::new() };
        for def in COUNTERS {
            match open(def, tid) {
                Ok(counter) => counters.open.push((def, counter)),
                Err(error) => counters.absent.push((def, reason(&error))),
            }
        }
        counters
    }

    /// The thread.
    pub fn tid(&self) -> u32 {
        self.tid
    }

    /// Counters that the machine does not offer, with the reason.
    pub fn absent(&self) -> impl Iterator<Item = (&'static CounterDef, &str)> {
        self.absent.iter().map(|(def, reason)| (*def, reason.as_str()))
    }

    /// Reads all counters. One that was never scheduled on a counter of the processor is left out.
    pub fn read(&mut self) -> Vec<(&'static CounterDef, u64)> {
        let mut values = Vec::new();
        for (def, counter) in &mut self.open {
            if let Ok(read) = counter.read_count_and_time()
                && read.time_running > 0
            {
                // Where counters take turns, the count is scaled to the whole time.
                let scale = read.time_enabled as f64 / read.time_running as f64;
                let count = if read.time_enabled == read.time_running {
                    read.count
                } else {
                    (read.count as f64 * scale) as u64
                };
                values.push((*def, count));
            }
        }
        values
    }
}

fn open(def: &CounterDef, tid: u32) -> io::Result<Counter> {
    let builder = Builder::new().observe_pid(tid as libc::pid_t).any_cpu();
    let mut builder = match def.event {
        Event::Software(event) => builder.kind(event),
        Event::Hardware(event) => builder.kind(event),
    };
    // A context switch or a fault happens in the kernel, on the thread's behalf.
    if matches!(def.event, Event::Software(_)) {
        builder.include_kernel();
    }
    let mut counter = builder.build()?;
    counter.enable()?;
    Ok(counter)
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => "this machine does not have it".into(),
        Some(libc::EACCES | libc::EPERM) => "not allowed: needs CAP_PERFMON".into(),
        Some(libc::ESRCH) => "the thread has ended".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_counts_this_thread_and_says_what_is_absent() {
        // SAFETY: gettid has no conditions.
        let tid = unsafe { libc::gettid() } as u32;
        let mut counters = ThreadCounters::open(tid);
        let clock = |counters: &mut ThreadCounters| {
            counters.read().iter().find(|(def, _)| def.name == "task_clock_ns").map(|(_, count)| *count)
        };
        let before = clock(&mut counters).expect("every kernel has the task clock");
        let mut sum = 0_u64;
        while clock(&mut counters) <= Some(before) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert_eq!(counters.read().len() + counters.absent().count(), COUNTERS.len());
        for (_, reason) in counters.absent() {
            assert!(!reason.is_empty());
        }
    }
}
