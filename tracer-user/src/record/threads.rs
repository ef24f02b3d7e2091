//! Counters of the scheduler's threads: the threads on which requests are admitted.

use std::collections::BTreeMap;

use tracer_abi::EventKind;

use crate::{
    host::ThreadCounters, host::monotonic_ns, session::Sample, session::SampleValue, stream::EventBatch,
};

/// Most threads that are counted.
const MAX_THREADS: usize = 16;

/// The scheduler's threads seen so far.
#[derive(Default)]
pub(super) struct SchedulerThreads {
    by_tid: BTreeMap<u32, ThreadCounters>,
}

impl SchedulerThreads {
    /// Looks for new scheduler threads among events. Returns words on what their machine does not count.
    pub(super) fn notice(&mut self, events: &EventBatch) -> Vec<String> {
        let mut absent = Vec::new();
        for raw in events.events() {
            let header = &raw.event.header;
            if header.kind != EventKind::RequestAdmitted as u8
                || self.by_tid.contains_key(&header.tid)
                || self.by_tid.len() >= MAX_THREADS
            {
                continue;
            }
            let counters = ThreadCounters::open(header.tid);
            absent.extend(counters.absent().map(|(def, why)| format!("{}: {why}", def.title)));
            self.by_tid.insert(header.tid, counters);
        }
        absent
    }

    /// Reads every counter.
    pub(super) fn sample(&mut self) -> Vec<Sample> {
        let ts_ns = monotonic_ns();
        let mut samples = Vec::new();
        for counters in self.by_tid.values_mut() {
            let source = format!("thread:{}", counters.tid());
            for (def, value) in counters.read() {
                let (source, name) = (source.clone(), def.name.to_string());
                samples.push(Sample { ts_ns, source, name, value: SampleValue::Count(value) });
            }
        }
        samples
    }
}
