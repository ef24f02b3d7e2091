//! A session file, aggregated as it is read: one block in memory at a time.

use std::{collections::BTreeMap, path::Path};

use crate::{
    aggregate::{Aggregator, Health, Rules, RulesError},
    model::PhaseRecord,
    session::{Block, Problem, Reader, SampleValue, SessionError},
    session_facts::{SessionFacts, Totals},
};

/// A session that cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its facts.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The first block is not there or not ours.
    #[error("{path} holds no session facts ({why}): nothing can be told from its events; record it again")]
    Facts {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
}

/// First and last reading of a counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterSpan {
    /// First reading.
    pub first: u64,
    /// Last reading.
    pub last: u64,
    /// Time of the first reading.
    pub first_ns: u64,
    /// Time of the last reading.
    pub last_ns: u64,
}

/// Everything of a session but its records.
#[derive(Debug)]
pub struct LoadedSession {
    /// The file, as it was named.
    pub path: String,
    /// Its facts.
    pub facts: SessionFacts,
    /// Its last counters; absent if none were written.
    pub totals: Option<Totals>,
    /// How well the events fit together.
    pub health: Health,
    /// The engine file does not fit, in words.
    pub contradictions: Vec<String>,
    /// What is missing from the file.
    pub problems: Vec<Problem>,
    /// The file was closed properly.
    pub complete: bool,
    /// Events read.
    pub events: u64,
    /// Time of the first and last event.
    pub span_ns: Option<(u64, u64)>,
    /// Processes that ended during the recording.
    pub exited: Vec<u32>,
    /// Counters by thread and name.
    pub counters: BTreeMap<(String, String), CounterSpan>,
    /// Counters that the machine did not offer.
    pub counters_absent: Vec<String>,
}

/// Reads a session and hands every record to `emit`, in the order in which the requests ended.
///
/// # Errors
/// If the file is not a session, or its facts are not there.
pub fn read_session(path: &Path, mut emit: impl FnMut(PhaseRecord)) -> Result<LoadedSession, ReadError> {
    let mut reader = Reader::open(path)?;
    let shown = path.display().to_string();
    let no_facts = |why: String| ReadError::Facts { path: shown.clone(), why };
    let mut facts: Option<SessionFacts> = None;
    let mut aggregator: Option<Aggregator> = None;
    let mut totals = None;
    let mut events = 0;
    let mut span_ns: Option<(u64, u64)> = None;
    let mut exited = Vec::new();
    let mut counters: BTreeMap<(String, String), CounterSpan> = BTreeMap::new();
    let mut counters_absent = Vec::new();
    for block in reader.by_ref() {
        match block? {
            Block::Meta(value) if facts.is_none() => {
                let found: SessionFacts =
                    serde_json::from_value(value).map_err(|error| no_facts(error.to_string()))?;
                aggregator = Some(Aggregator::new(Rules::from_facts(&found)?));
                facts = Some(found);
            }
            Block::Events(batch) => {
                let aggregator = aggregator.as_mut().ok_or_else(|| no_facts("events come first".into()))?;
                for raw in batch.events() {
                    let ts_ns = raw.event.header.ts_ns;
                    span_ns = Some(span_ns.map_or((ts_ns, ts_ns), |(a, b)| (a.min(ts_ns), b.max(ts_ns))));
                    aggregator.push(raw, batch.text(raw), &mut emit);
                }
                events += batch.len() as u64;
            }
            Block::Samples(samples) => {
                for sample in samples {
                    let SampleValue::Count(value) = sample.value else { continue };
                    let span = CounterSpan {
                        first: value,
                        last: value,
                        first_ns: sample.ts_ns,
                        last_ns: sample.ts_ns,
                    };
                    let kept = counters.entry((sample.source, sample.name)).or_insert(span);
                    (kept.last, kept.last_ns) = (value, sample.ts_ns);
                }
            }
            Block::Notes(notes) => {
                for note in notes {
                    match note.what.as_str() {
                        "totals" => totals = serde_json::from_value(note.data).ok().or(totals),
                        "target_exit" => exited.extend(note.data["pid"].as_u64().map(|pid| pid as u32)),
                        "counters_absent" => {
                            counters_absent = serde_json::from_value(note.data).unwrap_or(counters_absent);
                        }
                        _ => {}
                    }
                }
            }
            Block::End(value) => totals = serde_json::from_value(value).ok().or(totals),
            Block::Meta(_) | Block::Unknown { .. } => {}
        }
    }
    let (Some(facts), Some(mut aggregator)) = (facts, aggregator) else {
        let why = reader.problems().first().map_or("the file ends before them".into(), ToString::to_string);
        return Err(no_facts(why));
    };
    aggregator.finish(&mut emit);
    Ok(LoadedSession {
        path: shown,
        facts,
        totals,
        health: aggregator.health(),
        contradictions: aggregator.contradictions(),
        complete: reader.is_complete(),
        problems: reader.problems().to_vec(),
        events,
        span_ns,
        exited,
        counters,
        counters_absent,
    })
}
