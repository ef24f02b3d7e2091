//! `ttftrace record`.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use aya_log::EbpfLogger;
use tokio::signal::unix::{SignalKind, signal};

use super::{EngineArgs, Failure, Verdict, live::LiveLine};
use crate::{
    format::{bytes, duration, parse_bytes, parse_duration},
    loader::requirements,
    record::{Ended, Recorder, RecordingOptions},
    report::end_words,
    session_facts::EndReason,
    target::{Target, discover},
};

/// Time between two looks into the ring.
const TURN: Duration = Duration::from_millis(10);

/// Options of `record`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ttftrace record -p 1234 -o s.ttft              until Ctrl-C or the server's end
  ttftrace record -p 1234 -o s.ttft --for 5m
  ttftrace record -p 1234 -p 5678 -o s.ttft --max-size 1GiB

The file is whole after Ctrl-C, SIGTERM and the server's end; after kill -9 or a full disk it can be read up to
the last second.")]
pub(super) struct Args {
    /// Server to attach to; may be given several times
    #[arg(short, long, value_name = "PID", required = true)]
    pid: Vec<u32>,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// End after this time (60s, 5m, 1h)
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,
    /// End when the file reaches this size (64MiB, 1GiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_size: Option<u64>,
    /// Size of the ring buffer between the kernel and the tracer
    #[arg(long, value_name = "SIZE", value_parser = parse_ring, default_value = "4MiB")]
    ring_buffer: u32,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Print nothing while recording
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    engines: EngineArgs,
}

fn parse_ring(text: &str) -> Result<u32, String> {
    let size = parse_bytes(text)?;
    if size.is_power_of_two() && (1 << 16..=1 << 30).contains(&size) {
        Ok(size as u32)
    } else {
        Err(format!("`{text}`: a ring buffer is a power of two from 64KiB to 1GiB"))
    }
}

pub(super) fn run(args: &Args) -> Result<Verdict, Failure> {
    let engines = args.engines.load()?;
    if let Some(first) = requirements::unmet().first() {
        return Err(Failure::failed(format!(
            "{} is needed ({}): {}; `ttftrace check` lists everything",
            first.name, first.found, first.remedy
        )));
    }
    let mut targets: Vec<Target> = Vec::new();
    for pid in args.pid.iter().collect::<BTreeSet<_>>() {
        for target in discover(*pid, &engines)? {
            if !targets.iter().any(|known| known.process.pid == target.process.pid) {
                targets.push(target);
            }
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(record(args, targets))
}

async fn record(args: &Args, targets: Vec<Target>) -> Result<Verdict, Failure> {
    // Signals are caught before anything is attached, so that none of them can leave a file unfinished.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let options = RecordingOptions {
        output: args.output.clone(),
        force: args.force,
        max_size_bytes: args.max_size,
        ring_bytes: args.ring_buffer,
    };
    let mut recorder = Recorder::begin(targets, options)?;
    if !args.quiet {
        announce(args, recorder.targets());
    }
    let mut log = EbpfLogger::init(recorder.tracer_mut().ebpf_mut()).ok();
    let mut live = LiveLine::new(args.quiet);
    let began = Instant::now();
    let mut turn = tokio::time::interval(TURN);
    turn.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let reason = loop {
        tokio::select! {
            biased;
            _ = interrupt.recv() => break EndReason::Interrupted,
            _ = terminate.recv() => break EndReason::Interrupted,
            _ = hangup.recv() => break EndReason::Interrupted,
            _ = turn.tick() => {}
        }
        if let Some(reason) = recorder.turn()? {
            break reason;
        }
        if let Some(log) = &mut log {
            log.flush();
        }
        if live.due() {
            live.show(&recorder.progress()?, recorder.summary());
        }
        if args.time.is_some_and(|limit| began.elapsed() >= limit) {
            break EndReason::TimeLimit;
        }
    };
    live.end();
    let ended = recorder.end(reason.clone())?;
    finish(args, &reason, ended)
}

fn announce(args: &Args, targets: &[Target]) {
    let mut err = std::io::stderr().lock();
    for target in targets {
        let _ = writeln!(
            err,
            "attached to PID {} ({}, {}), {} probes",
            target.process.pid,
            target.engine.title,
            target.version,
            target.points.len()
        );
        for missing in &target.missing {
            let _ = writeln!(err, "  {missing}");
        }
    }
    let until =
        args.time.map_or("Ctrl-C ends the recording".into(), |time| format!("for {} s", time.as_secs_f64()));
    let _ = writeln!(err, "recording to {}, {until}", args.output.display());
}

fn finish(args: &Args, reason: &EndReason, ended: Ended) -> Result<Verdict, Failure> {
    let Ended { progress, file_bytes, contradictions, write_error, .. } = &ended;
    let lost: u64 = progress.totals.probes.iter().map(|probe| probe.lost_ring + probe.faults).sum();
    let in_flight =
        progress.health.enqueued.saturating_sub(progress.health.whole + progress.health.incomplete);
    let mut err = std::io::stderr().lock();
    if !args.quiet {
        let _ = writeln!(
            err,
            "ended by {} after {}: {} requests ({in_flight} in flight), {lost} losses, {} in {}",
            end_words(reason),
            duration(progress.elapsed.as_nanos() as u64),
            progress.health.enqueued,
            bytes(*file_bytes),
            args.output.display()
        );
    }
    for contradiction in contradictions {
        let _ = writeln!(err, "ttftrace: {contradiction}");
    }
    if let Some(error) = write_error {
        return Err(Failure::failed(format!("{error}; what was written before can be read")));
    }
    if let EndReason::WriteFailed(why) = reason {
        return Err(Failure::failed(format!("{why}; what was written before can be read")));
    }
    let whole = progress.health.coverage(0) >= 1.0 && lost == 0 && progress.totals.malformed == 0;
    Ok(if whole && contradictions.is_empty() { Verdict::Fine } else { Verdict::Losses })
}
