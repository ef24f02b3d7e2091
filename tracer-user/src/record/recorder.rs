//! One turn at a time: drain, order, write, aggregate. The caller owns the clock.

use std::{
    fs::File,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::json;

use super::threads::SchedulerThreads;
use crate::{
    aggregate::{Aggregator, Health, LiveSummary, Rules, RulesError},
    host::{OwnCost, clock_facts, host_facts, monotonic_ns},
    loader::{AttachError, Calibration, LoadError, Tracer},
    session::{Note, SessionError, Writer},
    session_facts::{EndReason, EngineFile, SessionFacts, TargetFacts, Totals},
    stream::{EventBatch, Orderer},
    target::Target,
};

/// Events taken from the ring in one go: bounds the memory of a turn.
const TURN_EVENTS: usize = 100_000;
/// Longest time that events wait to be written: what a kill -9 may cost.
const FLUSH: Duration = Duration::from_millis(500);
/// Time between samples of counters and totals.
const SAMPLE: Duration = Duration::from_secs(1);
/// Time between looks at the targets.
const ALIVE: Duration = Duration::from_millis(100);

/// How to record.
#[derive(Clone, Debug)]
pub struct RecordingOptions {
    /// File to write.
    pub output: PathBuf,
    /// Replace an existing file.
    pub force: bool,
    /// End when the file reaches this size, in bytes.
    pub max_size_bytes: Option<u64>,
    /// Size of the ring buffer in bytes.
    pub ring_bytes: u32,
}

/// A recording that could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The programs could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A probe could not be attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The file could not be written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The facts do not fit together.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A map of the kernel programs could not be used.
    #[error("cannot reach the kernel programs: {0}")]
    Map(#[from] aya::maps::MapError),
    /// The facts could not be written down.
    #[error("cannot write the session's facts: {0}")]
    Facts(#[from] serde_json::Error),
}

/// Where a recording stands.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Time since the recording began.
    pub elapsed: Duration,
    /// Bytes in the file.
    pub bytes_written: u64,
    /// Requests waiting and running.
    pub now: (u32, u32),
    /// How well events fit together.
    pub health: Health,
    /// Counters so far.
    pub totals: Totals,
}

/// The end of a recording.
#[derive(Debug)]
pub struct Ended {
    /// Where it stood.
    pub progress: Progress,
    /// Everything aggregated.
    pub summary: LiveSummary,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// The engine file does not fit, in words.
    pub contradictions: Vec<String>,
    /// The error that kept the file from being closed.
    pub write_error: Option<SessionError>,
}

/// A recording.
pub struct Recorder {
    tracer: Tracer,
    targets: Vec<Target>,
    alive: Vec<bool>,
    writer: Writer<File>,
    options: RecordingOptions,
    orderer: Orderer,
    incoming: EventBatch,
    ordered: EventBatch,
    aggregator: Aggregator,
    summary: LiveSummary,
    threads: SchedulerThreads,
    malformed: u64,
    began: Instant,
    sampled: Instant,
    looked: Instant,
    cost_at_start: OwnCost,
}

impl Recorder {
    /// Loads, attaches to all targets, opens the file and switches recording on.
    ///
    /// # Errors
    /// Whatever kept it from beginning; nothing stays attached then.
    pub fn begin(targets: Vec<Target>, options: RecordingOptions) -> Result<Self, RecordError> {
        let mut tracer = Tracer::load(options.ring_bytes)?;
        let mut writer = Writer::create(&options.output, options.force)?;
        let calibration = tracer.calibrate().ok();
        for target in &targets {
            tracer.attach(target)?;
        }
        let facts = facts(&tracer, &targets, calibration);
        let aggregator = Aggregator::new(Rules::from_facts(&facts)?);
        writer.write_meta(&serde_json::to_value(&facts)?)?;
        writer.flush()?;
        tracer.set_recording(true)?;
        let now = Instant::now();
        Ok(Recorder {
            tracer,
            alive: vec![true; targets.len()],
            targets,
            writer,
            options,
            orderer: Orderer::default(),
            incoming: EventBatch::new(),
            ordered: EventBatch::new(),
            aggregator,
            summary: LiveSummary::default(),
            threads: SchedulerThreads::default(),
            malformed: 0,
            began: now,
            sampled: now,
            looked: now,
            cost_at_start: OwnCost::now(),
        })
    }

    /// The kernel side, to read its log.
    pub fn tracer_mut(&mut self) -> &mut Tracer {
        &mut self.tracer
    }

    /// The processes being watched.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// One turn: takes what is in the ring and writes what is due. Returns the reason if the recording has to end.
    ///
    /// # Errors
    /// Errors of the kernel's maps. A file that cannot be written ends the recording with a reason instead.
    pub fn turn(&mut self) -> Result<Option<EndReason>, RecordError> {
        loop {
            let more = self.drain();
            self.orderer.release(monotonic_ns(), &mut self.ordered);
            if let Err(error) = self.process() {
                return Ok(Some(EndReason::WriteFailed(error.to_string())));
            }
            if !more {
                break;
            }
        }
        if let Err(error) = self.timed()? {
            return Ok(Some(EndReason::WriteFailed(error.to_string())));
        }
        if self.options.max_size_bytes.is_some_and(|limit| self.writer.would_exceed(limit)) {
            return Ok(Some(EndReason::SizeLimit));
        }
        if self.alive.iter().all(|alive| !alive) {
            return Ok(Some(EndReason::TargetExited));
        }
        Ok(None)
    }

    fn drain(&mut self) -> bool {
        let drained = self.tracer.drain(&mut self.incoming, TURN_EVENTS);
        self.malformed += drained.malformed;
        self.orderer.push(&mut self.incoming);
        drained.more
    }

    /// Writes and aggregates what has been put in order.
    fn process(&mut self) -> Result<(), SessionError> {
        let absent = self.threads.notice(&self.ordered);
        if !absent.is_empty() {
            let data = json!(absent);
            self.writer.note(&Note { ts_ns: monotonic_ns(), what: "counters_absent".into(), data })?;
        }
        for raw in self.ordered.events() {
            let summary = &mut self.summary;
            self.aggregator.push(raw, self.ordered.text(raw), &mut |record| summary.add(&record));
        }
        let written = self.writer.push_events(&self.ordered);
        self.ordered.clear();
        written
    }

    /// What is due by the clock. The outer error is the kernel's, the inner the file's.
    fn timed(&mut self) -> Result<Result<(), SessionError>, RecordError> {
        if self.looked.elapsed() >= ALIVE {
            self.looked = Instant::now();
            if let Err(error) = self.look_at_targets() {
                return Ok(Err(error));
            }
        }
        if self.sampled.elapsed() >= SAMPLE {
            self.sampled = Instant::now();
            let totals = self.totals(None)?;
            return Ok(self.write_samples(&totals));
        }
        Ok(self.writer.flush_if_older(FLUSH))
    }

    fn look_at_targets(&mut self) -> Result<(), SessionError> {
        for (alive, target) in self.alive.iter_mut().zip(&self.targets) {
            if *alive && !target.process.is_alive() {
                *alive = false;
                let data = json!({ "pid": target.process.pid });
                self.writer.note(&Note { ts_ns: monotonic_ns(), what: "target_exit".into(), data })?;
            }
        }
        Ok(())
    }

    fn write_samples(&mut self, totals: &Totals) -> Result<(), SessionError> {
        for sample in self.threads.sample() {
            self.writer.push_sample(sample)?;
        }
        let data = serde_json::to_value(totals).unwrap_or_default();
        self.writer.note(&Note { ts_ns: totals.ts_ns, what: "totals".into(), data })?;
        self.writer.flush()
    }

    fn totals(&self, end: Option<EndReason>) -> Result<Totals, RecordError> {
        let cost = OwnCost::now();
        Ok(Totals {
            ts_ns: monotonic_ns(),
            probes: self.tracer.counts()?,
            malformed: self.malformed,
            program_time_ns: self.tracer.program_time().map(|time| time.as_nanos() as u64),
            tracer_cpu_seconds: cost.cpu_seconds - self.cost_at_start.cpu_seconds,
            tracer_peak_rss_bytes: cost.peak_rss_bytes,
            end,
        })
    }

    /// Where it stands.
    ///
    /// # Errors
    /// If the kernel's counters cannot be read.
    pub fn progress(&self) -> Result<Progress, RecordError> {
        Ok(Progress {
            elapsed: self.began.elapsed(),
            bytes_written: self.writer.bytes_written(),
            now: self.aggregator.now(),
            health: self.aggregator.health(),
            totals: self.totals(None)?,
        })
    }

    /// The summary so far.
    pub fn summary(&self) -> &LiveSummary {
        &self.summary
    }

    /// Ends the recording: no more hits, the rest of the ring, the file closed, the probes out.
    ///
    /// # Errors
    /// Errors of the kernel's maps; a file that cannot be closed is in [`Ended::write_error`].
    pub fn end(mut self, reason: EndReason) -> Result<Ended, RecordError> {
        self.tracer.set_recording(false)?;
        while self.drain() {}
        self.orderer.release_all(&mut self.ordered);
        let mut write_error = self.process().err();
        let totals = self.totals(Some(reason))?;
        write_error = self.write_samples(&totals).err().or(write_error);
        let summary = &mut self.summary;
        self.aggregator.finish(&mut |record| summary.add(&record));
        let progress = Progress {
            elapsed: self.began.elapsed(),
            bytes_written: self.writer.bytes_written(),
            now: self.aggregator.now(),
            health: self.aggregator.health(),
            totals: totals.clone(),
        };
        let file_bytes = match self.writer.finish(&serde_json::to_value(&totals)?) {
            Ok(bytes) => bytes,
            Err(error) => {
                write_error.get_or_insert(error);
                progress.bytes_written
            }
        };
        self.tracer.detach();
        Ok(Ended {
            contradictions: self.aggregator.contradictions(),
            summary: self.summary,
            progress,
            file_bytes,
            write_error,
        })
    }
}

fn facts(tracer: &Tracer, targets: &[Target], calibration: Option<Calibration>) -> SessionFacts {
    let mut engines: Vec<EngineFile> = Vec::new();
    for target in targets {
        let engine = &target.engine;
        if !engines.iter().any(|file| file.name == engine.name) {
            engines.push(EngineFile {
                name: engine.name.clone(),
                origin: engine.origin.clone(),
                text: engine.text.clone(),
            });
        }
    }
    SessionFacts {
        tracer_version: env!("CARGO_PKG_VERSION").into(),
        clock: clock_facts(),
        host: host_facts(),
        engines,
        targets: targets.iter().map(target_facts).collect(),
        probes: tracer.probes().to_vec(),
        calibration,
    }
}

fn target_facts(target: &Target) -> TargetFacts {
    TargetFacts {
        pid: target.process.pid,
        namespace_pid: target.process.namespace_pid,
        start_ticks: target.process.start_ticks,
        comm: target.process.comm.clone(),
        engine: target.engine.name.clone(),
        engine_title: target.engine.title.clone(),
        version: target.version.clone(),
        layout: target.layout().name.clone(),
        object: target.object_shown.clone(),
        missing: target.missing.clone(),
    }
}
