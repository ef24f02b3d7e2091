//! The report for people, in 80 columns.

use std::fmt::Write as _;

use super::{Report, ThreadLine};
use crate::{
    format::{bytes, duration, percent},
    host::COUNTERS,
    model::{Outcome, Phase},
    session_facts::EndReason,
    target::escape,
};

/// Renders a report.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    head(&mut out, report);
    phases(&mut out, report);
    outcomes(&mut out, report);
    threads(&mut out, report);
    trust(&mut out, report);
    out
}

fn head(out: &mut String, report: &Report) {
    let _ = writeln!(out, "ttftrace report  {}", escape(&report.file));
    for target in &report.targets {
        let exited = if target.exited { ", ended during the recording" } else { "" };
        let _ = writeln!(
            out,
            "  PID {}  {} ({}){exited}",
            target.pid,
            escape(&target.engine),
            escape(&target.version)
        );
    }
    let why = report.ended.as_ref().map_or("not closed".into(), end_words);
    let _ = writeln!(
        out,
        "  {} recorded, ended by {why}: {} requests\n",
        duration(report.duration_ns),
        report.requests
    );
}

/// For people.
pub fn end_words(reason: &EndReason) -> String {
    match reason {
        EndReason::Interrupted => "a signal".into(),
        EndReason::TimeLimit => "the time limit".into(),
        EndReason::SizeLimit => "the size limit".into(),
        EndReason::TargetExited => "the target's exit".into(),
        EndReason::WriteFailed(why) => format!("a failed write ({})", escape(why)),
    }
}

fn phases(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "  {:<14}{:>7}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "phase", "n", "P50", "P90", "P99", "P99.9", "max"
    );
    for phase in Phase::ALL {
        let Some(d) = report.phases.get(phase.key()) else { continue };
        let cell = |value: Option<u64>| value.map_or("-".into(), duration);
        let _ = writeln!(
            out,
            "  {:<14}{:>7}{:>10}{:>10}{:>10}{:>10}{:>10}",
            phase.title(),
            d.count,
            cell(d.p50_ns),
            cell(d.p90_ns),
            cell(d.p99_ns),
            cell(d.p999_ns),
            cell(d.max_ns)
        );
    }
    let means: Vec<String> = [Phase::QueueWait, Phase::RequeueWait, Phase::Prefill]
        .into_iter()
        .filter_map(|phase| {
            let mean = report.phases.get(phase.key())?.mean_ns?;
            (mean > 0.0).then(|| format!("{} {}", phase.title(), duration(mean as u64)))
        })
        .collect();
    if !means.is_empty() {
        let _ = writeln!(out, "\n  Mean of a request: {}.", means.join(" + "));
    }
    out.push_str("  TTFT (engine) begins when the request enters the scheduler's queue.\n");
}

fn outcomes(out: &mut String, report: &Report) {
    if report.requests == 0 {
        out.push_str("\n  No request was enqueued while recording.\n");
        return;
    }
    out.push_str("\n  Requests\n");
    for outcome in Outcome::ALL {
        if let Some(count) = report.outcomes.get(&outcome) {
            let _ = writeln!(out, "    {count:>7}  {}", outcome.words());
        }
    }
    if report.multi_sequence_requests > 0 {
        let _ = writeln!(
            out,
            "    {:>7}  of them with several sequences (prompts in one body, or n > 1)",
            report.multi_sequence_requests
        );
    }
    if report.join.in_flight_at_start > 0 {
        let _ = writeln!(
            out,
            "    {:>7}  more were in flight when the recording began, and are not counted",
            report.join.in_flight_at_start
        );
    }
}

fn threads(out: &mut String, report: &Report) {
    for thread in &report.threads {
        let _ = writeln!(out, "\n  Scheduler thread {} over {}", thread.thread, duration(thread.span_ns));
        for def in COUNTERS {
            if let Some(count) = thread.counters.get(def.name) {
                let _ = writeln!(
                    out,
                    "    {:<18}{:>14}{}",
                    def.title,
                    counter(def.name, *count),
                    rate(thread, *count, def.name)
                );
            }
        }
    }
    if !report.counters_absent.is_empty() {
        out.push_str("\n  Not counted on this machine\n");
        for absent in &report.counters_absent {
            let _ = writeln!(out, "    {}", escape(absent));
        }
    }
}

fn counter(name: &str, count: u64) -> String {
    if name.ends_with("_ns") { duration(count) } else { count.to_string() }
}

fn rate(thread: &ThreadLine, count: u64, name: &str) -> String {
    if thread.span_ns == 0 {
        return String::new();
    }
    if name.ends_with("_ns") {
        return format!("  {} of the time", percent(count as f64 / thread.span_ns as f64));
    }
    format!("  {:.1}/s", count as f64 * 1e9 / thread.span_ns as f64)
}

fn trust(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "\n  Coverage {} ({} of {} ended requests seen whole), losses {}",
        percent(report.join.coverage),
        report.join.whole,
        report.join.whole + report.join.incomplete + report.join.unposted,
        report.loss.total()
    );
    let parts = [
        (report.loss.ring, "events lost as the ring buffer was full: use a larger --ring-buffer"),
        (report.loss.faults, "events with a read that failed"),
        (report.loss.malformed, "ring records that were no events"),
        (report.loss.file, "events missing from the file"),
        (report.loss.evicted, "requests given up as too many were open"),
        (report.join.incomplete, "requests of which an event was not seen"),
        (report.join.unposted, "admissions of something that was never posted"),
    ];
    for (count, what) in parts {
        if count > 0 {
            let _ = writeln!(out, "    {count:>7}  {what}");
        }
    }
    let cost = &report.cost;
    let added = cost
        .target_ns_per_request
        .map_or("not known".into(), |ns| format!("{} a request", duration(ns as u64)));
    let hits = cost.hits_per_request.map_or(String::new(), |hits| format!(" ({hits:.1} probe hits)"));
    let own =
        cost.tracer_cpu_seconds.map_or("not known".into(), |s| format!("{} CPU", duration((s * 1e9) as u64)));
    let memory = cost.tracer_peak_rss_bytes.map_or(String::new(), |b| format!(", {} memory", bytes(b)));
    let _ = writeln!(out, "  Cost: target {added}{hits}; tracer {own}{memory}");
    for target in &report.targets {
        for missing in &target.missing {
            let _ = writeln!(out, "  Not seen: {}", escape(missing));
        }
    }
    for problem in &report.problems {
        let _ = writeln!(out, "  Problem: {}", escape(problem));
    }
}
