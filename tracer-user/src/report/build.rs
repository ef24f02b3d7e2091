//! The report as data: what `--json` prints.

use std::collections::BTreeMap;

use serde::Serialize;

use super::LoadedSession;
use crate::{
    engine::catalogue,
    host::COUNTERS,
    model::{Outcome, Phase, PhaseRecord},
    session_facts::{EndReason, SessionFacts, Totals},
    stats::Distribution,
};

/// How much of what happened was joined into records.
#[derive(Clone, Debug, Serialize)]
pub struct Join {
    /// Share of the requests that ended whose whole life was seen, 0 to 1.
    pub coverage: f64,
    /// Requests that ended and were seen whole.
    pub whole: u64,
    /// Requests that ended with an event missing.
    pub incomplete: u64,
    /// Admissions of something that was never posted.
    pub unposted: u64,
    /// Units of work that were in flight when the recording began; they are not requests of this session.
    pub in_flight_at_start: u64,
}

/// What was lost.
#[derive(Clone, Debug, Serialize)]
pub struct Loss {
    /// Events dropped as the ring buffer was full.
    pub ring: u64,
    /// Events with a failed read.
    pub faults: u64,
    /// Ring records that were no events.
    pub malformed: u64,
    /// Events known to be missing from the file.
    pub file: u64,
    /// Requests given up as too many were open.
    pub evicted: u64,
}

impl Loss {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.ring + self.faults + self.malformed + self.file + self.evicted
    }
}

/// What the tracing cost.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Time added to the target for a request, in nanoseconds: counted program time plus calibrated traps.
    pub target_ns_per_request: Option<f64>,
    /// Probe hits a request.
    pub hits_per_request: Option<f64>,
    /// CPU time of the tracer, in seconds.
    pub tracer_cpu_seconds: Option<f64>,
    /// Largest resident size of the tracer, in bytes.
    pub tracer_peak_rss_bytes: Option<u64>,
}

/// A watched process.
#[derive(Clone, Debug, Serialize)]
pub struct TargetLine {
    /// Process id.
    pub pid: u32,
    /// Engine.
    pub engine: String,
    /// Version, or what stands for it.
    pub version: String,
    /// True if it ended during the recording.
    pub exited: bool,
    /// What cannot be seen in it.
    pub missing: Vec<String>,
}

/// Counters of a scheduler thread over the recording.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadLine {
    /// Thread id.
    pub thread: String,
    /// Time between the first and the last reading, in nanoseconds.
    pub span_ns: u64,
    /// Growth of each counter.
    pub counters: BTreeMap<String, u64>,
}

/// A session in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// File.
    pub file: String,
    /// First target.
    pub target: Option<TargetLine>,
    /// All targets.
    pub targets: Vec<TargetLine>,
    /// Wall clock when the recording began, in nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Length of the recording in nanoseconds, as far as it is known.
    pub duration_ns: u64,
    /// Why it ended; absent if the file does not say.
    pub ended: Option<EndReason>,
    /// Requests.
    pub requests: u64,
    /// Requests by how they ended.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Requests that had several sequences.
    pub multi_sequence_requests: u64,
    /// Distribution of every phase.
    pub phases: BTreeMap<&'static str, Distribution>,
    /// Join.
    pub join: Join,
    /// Losses.
    pub loss: Loss,
    /// Cost.
    pub cost: Cost,
    /// Scheduler threads.
    pub threads: Vec<ThreadLine>,
    /// Counters that the machine does not offer, with reasons.
    pub counters_absent: Vec<String>,
    /// What is missing or wrong, in words.
    pub problems: Vec<String>,
}

/// Collects records until the session is read.
#[derive(Default)]
pub struct ReportBuilder {
    values: BTreeMap<Phase, Vec<u64>>,
    outcomes: BTreeMap<Outcome, u64>,
    requests: u64,
    multi: u64,
}

impl ReportBuilder {
    /// Takes one record.
    pub fn add(&mut self, record: &PhaseRecord) {
        self.requests += 1;
        self.multi += u64::from(record.sequences > 1);
        *self.outcomes.entry(record.outcome).or_default() += 1;
        for phase in Phase::ALL {
            if let Some(ns) = record.phase_ns(phase) {
                self.values.entry(phase).or_default().push(ns);
            }
        }
    }

    /// Puts it all together.
    pub fn build(mut self, session: &LoadedSession) -> Report {
        let totals = session.totals.clone().unwrap_or_default();
        let lost_ring: u64 = totals.probes.iter().map(|probe| probe.lost_ring).sum();
        let lost_file = session.problems.iter().map(|problem| problem.events_lost()).sum();
        let targets = target_lines(session);
        let mut problems: Vec<String> = session.problems.iter().map(ToString::to_string).collect();
        problems.extend(session.contradictions.iter().cloned());
        if session.totals.is_none() {
            problems.push("the file holds no counters: losses and cost are not known".into());
        }
        let end_ns = session.totals.as_ref().map(|t| t.ts_ns).or(session.span_ns.map(|(_, last)| last));
        Report {
            file: session.path.clone(),
            target: targets.first().cloned(),
            targets,
            began_unix_ns: session.facts.clock.realtime_ns,
            duration_ns: end_ns.unwrap_or_default().saturating_sub(session.facts.clock.monotonic_ns),
            ended: totals.end.clone(),
            requests: self.requests,
            multi_sequence_requests: self.multi,
            phases: Phase::ALL
                .into_iter()
                .map(|phase| (phase.key(), Distribution::of(self.values.remove(&phase).unwrap_or_default())))
                .collect(),
            join: Join {
                coverage: session.health.coverage(lost_enqueues(&session.facts, &totals)),
                whole: session.health.whole,
                incomplete: session.health.incomplete,
                unposted: session.health.unposted,
                in_flight_at_start: session.health.in_flight_at_start,
            },
            loss: Loss {
                ring: lost_ring,
                faults: session.health.faults,
                malformed: totals.malformed,
                file: lost_file,
                evicted: session.health.evicted,
            },
            cost: cost(session, self.requests),
            threads: thread_lines(session),
            counters_absent: session.counters_absent.clone(),
            problems,
            outcomes: self.outcomes,
        }
    }
}

impl Report {
    /// True if something was lost or the join is not complete: exit code 3.
    pub fn has_losses(&self) -> bool {
        self.loss.total() > 0 || self.join.coverage < 1.0 || !self.problems.is_empty()
    }
}

fn target_lines(session: &LoadedSession) -> Vec<TargetLine> {
    let line = |target: &crate::session_facts::TargetFacts| TargetLine {
        pid: target.pid,
        engine: target.engine.clone(),
        version: target.version.clone(),
        exited: session.exited.contains(&target.pid),
        missing: target.missing.clone(),
    };
    session.facts.targets.iter().map(line).collect()
}

fn lost_enqueues(facts: &SessionFacts, totals: &Totals) -> u64 {
    let enqueue = catalogue::by_kind(tracer_abi::EventKind::RequestEnqueued).name;
    let of = |probe: &&crate::loader::AttachedProbe| probe.event == enqueue;
    facts
        .probes
        .iter()
        .filter(of)
        .filter_map(|p| totals.probes.get(p.index as usize))
        .map(|c| c.lost_ring)
        .sum()
}

fn cost(session: &LoadedSession, requests: u64) -> Cost {
    let totals = session.totals.as_ref();
    let per_request = |value: f64| (requests > 0).then(|| value / requests as f64);
    let hits = totals.map(|t| t.probes.iter().map(|p| p.hits).sum::<u64>() as f64);
    let traps_ns = totals.zip(session.facts.calibration).map(|(totals, calibration)| {
        let sites = session.facts.probes.iter();
        sites
            .zip(&totals.probes)
            .map(|(probe, counts)| calibration.cost_ns(probe.site) * counts.hits as f64)
            .sum::<f64>()
    });
    let program_ns = totals.and_then(|t| t.program_time_ns).map(|ns| ns as f64);
    Cost {
        target_ns_per_request: traps_ns.zip(program_ns).and_then(|(a, b)| per_request(a + b)),
        hits_per_request: hits.and_then(per_request),
        tracer_cpu_seconds: totals.map(|t| t.tracer_cpu_seconds),
        tracer_peak_rss_bytes: totals.map(|t| t.tracer_peak_rss_bytes),
    }
}

fn thread_lines(session: &LoadedSession) -> Vec<ThreadLine> {
    let mut by_thread: BTreeMap<&str, ThreadLine> = BTreeMap::new();
    for ((source, name), span) in &session.counters {
        let Some(tid) = source.strip_prefix("thread:") else { continue };
        if !COUNTERS.iter().any(|def| def.name == name) {
            continue;
        }
        let line = by_thread.entry(tid).or_insert_with(|| ThreadLine {
            thread: crate::target::escape(tid),
            span_ns: 0,
            counters: BTreeMap::new(),
        });
        line.span_ns = line.span_ns.max(span.last_ns.saturating_sub(span.first_ns));
        line.counters.insert(name.clone(), span.last.saturating_sub(span.first));
    }
    by_thread.into_values().collect()
}
