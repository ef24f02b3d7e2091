//! The life of a request, from its events.

use std::collections::{BTreeMap, HashMap};

use tracer_abi::EventKind;

use super::Rules;
use crate::{
    engine::catalogue::{
        MAX_SIBLINGS, SLOT_PLACE, SLOT_PROMPT_TOKENS, SLOT_REQUEST, SLOT_SIBLINGS, SLOT_SPAN_BYTES,
    },
    model::{Outcome, PhaseRecord},
    stream::RawEvent,
    target::escape,
};

/// Requests that are followed at once; beyond it the oldest is given up, counted.
const MAX_OPEN: usize = 200_000;
/// Units of work that one request may have.
const MAX_SEQUENCES: u64 = 4096;
/// Child units that a request launches on its own are launched in one go: within this time of its own launch.
const FAMILY_NS: u64 = 50_000_000;
/// Children that are held until their parent is launched.
const MAX_ORPHANS: usize = 256;

/// How well the events fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Requests enqueued since the recording began.
    pub enqueued: u64,
    /// Requests given out as records, all outcomes.
    pub closed: u64,
    /// Of those that ended, the ones whose life was seen whole.
    pub whole: u64,
    /// Of those that ended, the ones of which an event is missing.
    pub incomplete: u64,
    /// Units of work that were in flight when the recording began: not requests of this session.
    pub in_flight_at_start: u64,
    /// Admissions of something that was not posted though it should have been seen.
    pub unposted: u64,
    /// Admissions.
    pub admissions: u64,
    /// Events whose read failed.
    pub faults: u64,
    /// Events that fit no request (the end of an idle slot, a probe that the session does not define).
    pub unmatched: u64,
    /// Requests given up as too many were open.
    pub evicted: u64,
}

impl Health {
    /// Share of the requests that ended whose life was seen whole, with events that were lost counted against it.
    pub fn coverage(&self, lost_enqueues: u64) -> f64 {
        let all = self.whole + self.incomplete + self.unposted + self.evicted + lost_enqueues;
        if all == 0 { 1.0 } else { self.whole as f64 / all as f64 }
    }
}

/// A request that has not ended.
#[derive(Debug)]
struct Open {
    record: PhaseRecord,
    /// Units that were posted and neither ended nor withdrawn.
    left: u32,
    /// Units that hold a place.
    running: u32,
    aborted: bool,
    /// Admissions under identities of its own making, until it is admitted itself.
    orphans: Vec<Admission>,
    /// Identities of its units beside the first.
    more_units: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Admission {
    id: u64,
    place: Option<u64>,
    ts_ns: u64,
}

#[derive(Default, Debug)]
struct TargetState {
    /// By first identity.
    open: BTreeMap<u64, Open>,
    /// Unit to its request's first identity.
    units: HashMap<u64, u64>,
    /// Place to the unit that holds it; `None`: a unit that is not of this session.
    places: HashMap<u64, Option<u64>>,
    first_id: Option<u64>,
    waiting: u32,
    running: u32,
    strangers_running: u32,
    /// A request of this session has been admitted: those that waited before it are gone.
    settled: bool,
    health: Health,
}

/// Turns events, in time order, into records.
#[derive(Debug)]
pub struct Aggregator {
    rules: Rules,
    targets: Vec<TargetState>,
    stray: u64,
}

impl Aggregator {
    /// An aggregator for a session.
    pub fn new(rules: Rules) -> Self {
        let targets = rules.targets.iter().map(|_| TargetState::default()).collect();
        Aggregator { rules, targets, stray: 0 }
    }

    /// Takes one event; `emit` gets the record of a request that it ends.
    pub fn push(&mut self, raw: &RawEvent, text: &[u8], emit: &mut impl FnMut(PhaseRecord)) {
        let header = &raw.event.header;
        let Some(rule) = self.rules.probes.get(&header.probe).copied() else {
            self.stray += 1;
            return;
        };
        let target_rule = &self.rules.targets[rule.target];
        let state = &mut self.targets[rule.target];
        if header.fault != 0 {
            state.health.faults += 1;
        }
        let value = |slot: usize| (header.present & (1 << slot) != 0).then(|| raw.event.values[slot]);
        let id = value(SLOT_REQUEST);
        let place = value(SLOT_PLACE);
        let ts_ns = header.ts_ns;
        match (rule.kind, id) {
            (EventKind::RequestEnqueued, Some(id)) => {
                let span = value(SLOT_SPAN_BYTES);
                let mut record = state.new_record(id, ts_ns, target_rule);
                record.sequences = sequences(span, rule.stride_bytes);
                record.prompt_tokens = value(SLOT_PROMPT_TOKENS);
                record.request_id = (!text.is_empty()).then(|| escape(&String::from_utf8_lossy(text)));
                record.faults = u32::from(header.fault != 0);
                let siblings = (0..MAX_SIBLINGS).map_while(|n| value(SLOT_SIBLINGS + n));
                state.enqueue(id, siblings, record, emit);
            }
            (EventKind::RequestDeferred, Some(id)) => {
                if let Some(open) = state.of_unit(id) {
                    let deferred = open.record.deferred.get_or_insert(0);
                    *deferred = deferred.saturating_add(1);
                }
            }
            (EventKind::RequestAdmitted, Some(id)) => {
                state.admit(Admission { id, place, ts_ns }, target_rule.ascending_ids);
            }
            (EventKind::FirstToken, _) => {
                let first = state.holder(id, place).and_then(|unit| state.of_unit(unit));
                match first {
                    Some(open) => {
                        open.record.first_token_ns.get_or_insert(ts_ns);
                    }
                    None => state.health.unmatched += 1,
                }
            }
            (EventKind::RequestEnded, _) => state.end(id, place, ts_ns, emit),
            (EventKind::RequestAborted, Some(id)) => state.abort(id, ts_ns, emit),
            (EventKind::RequestPreempted, _) | (EventKind::StepBegin | EventKind::StepEnd, _) => {}
            (_, None) => state.health.unmatched += 1,
        }
    }

    /// Gives out what is still open when the recording ends.
    pub fn finish(&mut self, emit: &mut impl FnMut(PhaseRecord)) {
        for state in &mut self.targets {
            for (_, mut open) in std::mem::take(&mut state.open) {
                open.record.outcome = match open.record.admitted_ns {
                    Some(_) => Outcome::RunningAtEnd,
                    None => Outcome::WaitingAtEnd,
                };
                state.health.closed += 1;
                emit(open.record);
            }
        }
    }

    /// How well the events fit together, over all targets.
    pub fn health(&self) -> Health {
        let mut sum = Health { unmatched: self.stray, ..Health::default() };
        for health in self.targets.iter().map(|state| &state.health) {
            sum.enqueued += health.enqueued;
            sum.closed += health.closed;
            sum.whole += health.whole;
            sum.incomplete += health.incomplete;
            sum.in_flight_at_start += health.in_flight_at_start;
            sum.unposted += health.unposted;
            sum.admissions += health.admissions;
            sum.faults += health.faults;
            sum.unmatched += health.unmatched;
            sum.evicted += health.evicted;
        }
        sum
    }

    /// The processes whose events contradict the engine file, in words.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (rule, state) in self.rules.targets.iter().zip(&self.targets) {
            let Health { unposted, admissions, .. } = state.health;
            if unposted > 2 && unposted as f64 > rule.max_unposted_share * admissions as f64 {
                found.push(format!(
                    "process {}: {unposted} of {admissions} admissions were never posted: the engine file does not \
                     fit this build, and its numbers cannot be trusted",
                    rule.pid
                ));
            }
        }
        found
    }

    /// Requests that wait and that run now, over all targets.
    pub fn now(&self) -> (u32, u32) {
        let sum = |f: fn(&TargetState) -> u32| self.targets.iter().map(f).sum();
        (sum(|state| state.waiting), sum(|state| state.running + state.strangers_running))
    }
}

/// Number of units in a posted list.
fn sequences(span_bytes: Option<u64>, stride_bytes: Option<u64>) -> u32 {
    match (span_bytes, stride_bytes) {
        (Some(span), Some(stride)) if stride > 0 && span % stride == 0 && span / stride <= MAX_SEQUENCES => {
            (span / stride).max(1) as u32
        }
        _ => 1,
    }
}

impl TargetState {
    fn new_record(&self, id: u64, ts_ns: u64, rule: &super::rules::TargetRule) -> PhaseRecord {
        PhaseRecord {
            request_id: None,
            engine_id: (id as i64).to_string(),
            pid: rule.pid,
            enqueue_ns: ts_ns,
            admitted_ns: None,
            first_token_ns: None,
            end_ns: None,
            requeue_wait_ns: (!rule.preempts).then_some(0),
            prompt_tokens: None,
            slot: None,
            sequences: 1,
            deferred: rule.sees_deferrals.then_some(0),
            waiting_at_enqueue: self.settled.then_some(self.waiting),
            running_at_enqueue: self.settled.then_some(self.running + self.strangers_running),
            outcome: Outcome::Incomplete,
            faults: 0,
        }
    }

    fn of_unit(&mut self, unit: u64) -> Option<&mut Open> {
        self.open.get_mut(self.units.get(&unit)?)
    }

    /// The unit that an event is about: named, or by the place that it holds.
    fn holder(&self, id: Option<u64>, place: Option<u64>) -> Option<u64> {
        id.or_else(|| self.places.get(&place?).copied().flatten())
    }

    fn enqueue(
        &mut self,
        id: u64,
        siblings: impl Iterator<Item = u64>,
        record: PhaseRecord,
        emit: &mut impl FnMut(PhaseRecord),
    ) {
        self.health.enqueued += 1;
        self.first_id.get_or_insert(id);
        if let Some(old) = self.open.remove(&id) {
            // The engine uses the identity again: the end of its first use was not seen.
            self.give_up(id, old, emit);
        }
        if self.open.len() >= MAX_OPEN
            && let Some((first, oldest)) = self.open.pop_first()
        {
            self.health.evicted += 1;
            self.give_up(first, oldest, emit);
        }
        let count = u64::from(record.sequences);
        self.units.insert(id, id);
        let mut more_units: Vec<u64> = siblings.take(count as usize - 1).collect();
        // Beyond what an event carries, identities are taken to follow each other.
        while (more_units.len() as u64) < count - 1 {
            more_units.push(more_units.last().unwrap_or(&id).wrapping_add(1));
        }
        for unit in &more_units {
            self.units.insert(*unit, id);
        }
        self.waiting += 1;
        let (left, orphans) = (record.sequences, Vec::new());
        self.open.insert(id, Open { record, left, running: 0, aborted: false, orphans, more_units });
    }

    fn admit(&mut self, admission: Admission, ascending: bool) {
        self.health.admissions += 1;
        if let Some(request) = self.units.get(&admission.id).copied() {
            self.launch(request, admission);
            return;
        }
        // A unit that was not posted: perhaps a child that its parent launches before itself or just after.
        let parent = ascending.then(|| self.open.range_mut(..admission.id).next_back()).flatten();
        match parent {
            Some((id, open)) => match open.record.admitted_ns {
                None if open.orphans.len() < MAX_ORPHANS => open.orphans.push(admission),
                Some(at) if admission.ts_ns.saturating_sub(at) <= FAMILY_NS => {
                    let id = *id;
                    self.adopt(id, admission);
                }
                _ => self.stranger(admission),
            },
            None => self.stranger(admission),
        }
    }

    fn adopt(&mut self, request: u64, child: Admission) {
        self.units.insert(child.id, request);
        if let Some(open) = self.open.get_mut(&request) {
            open.left += 1;
            open.record.sequences += 1;
            open.more_units.push(child.id);
        }
        self.launch(request, child);
    }

    fn launch(&mut self, request: u64, admission: Admission) {
        let Some(open) = self.open.get_mut(&request) else { return };
        if let Some(place) = admission.place {
            self.places.insert(place, Some(admission.id));
        }
        if open.running == 0 && open.record.admitted_ns.is_none() {
            self.waiting = self.waiting.saturating_sub(1);
            self.running += 1;
            self.settled = true;
        }
        open.running += 1;
        let earlier = open.record.admitted_ns.is_none_or(|at| admission.ts_ns < at);
        if earlier {
            open.record.admitted_ns = Some(admission.ts_ns);
            open.record.slot = admission.place.map(|place| place as u32);
        }
        for orphan in std::mem::take(&mut open.orphans) {
            if admission.ts_ns.saturating_sub(orphan.ts_ns) <= FAMILY_NS {
                self.adopt(request, orphan);
            } else {
                self.stranger(orphan);
            }
        }
    }

    fn stranger(&mut self, admission: Admission) {
        if self.first_id.is_none_or(|first| admission.id < first) {
            self.health.in_flight_at_start += 1;
        } else {
            self.health.unposted += 1;
        }
        if let Some(place) = admission.place {
            self.strangers_running += 1;
            self.places.insert(place, None);
        }
    }

    fn end(&mut self, id: Option<u64>, place: Option<u64>, ts_ns: u64, emit: &mut impl FnMut(PhaseRecord)) {
        let held = place.and_then(|place| self.places.remove(&place));
        let unit = match (id, held) {
            (Some(id), _) => id,
            (None, Some(Some(unit))) => unit,
            (None, Some(None)) => {
                self.strangers_running = self.strangers_running.saturating_sub(1);
                return;
            }
            // An idle slot is released too, and places taken before the recording are not known.
            (None, None) => {
                self.health.unmatched += 1;
                return;
            }
        };
        let Some(request) = self.units.remove(&unit) else { return };
        let Some(open) = self.open.get_mut(&request) else { return };
        open.running = open.running.saturating_sub(1);
        open.left = open.left.saturating_sub(1);
        if open.left == 0 {
            self.close(request, ts_ns, emit);
        }
    }

    fn abort(&mut self, id: u64, ts_ns: u64, emit: &mut impl FnMut(PhaseRecord)) {
        let Some(request) = self.units.get(&id).copied() else {
            self.health.unmatched += 1;
            return;
        };
        let Some(open) = self.open.get_mut(&request) else { return };
        open.aborted = true;
        let holds_a_place = self.places.values().any(|unit| *unit == Some(id));
        if !holds_a_place {
            self.units.remove(&id);
            open.left = open.left.saturating_sub(1);
            if open.left == 0 {
                self.close(request, ts_ns, emit);
            }
        }
    }

    fn close(&mut self, request: u64, ts_ns: u64, emit: &mut impl FnMut(PhaseRecord)) {
        let Some(mut open) = self.open.remove(&request) else { return };
        self.leave(request, &open);
        let record = &mut open.record;
        record.end_ns = Some(ts_ns);
        record.outcome = match (record.admitted_ns, record.first_token_ns) {
            (None, _) if open.aborted => Outcome::AbortedWaiting,
            (Some(_), _) if open.aborted => Outcome::AbortedRunning,
            (Some(_), Some(_)) => Outcome::Completed,
            (Some(_), None) => Outcome::NoToken,
            (None, _) => Outcome::Incomplete,
        };
        if record.outcome == Outcome::Incomplete {
            self.health.incomplete += 1;
        } else {
            self.health.whole += 1;
        }
        self.health.closed += 1;
        emit(open.record);
    }

    fn give_up(&mut self, request: u64, mut open: Open, emit: &mut impl FnMut(PhaseRecord)) {
        self.leave(request, &open);
        open.record.outcome = Outcome::Incomplete;
        self.health.incomplete += 1;
        self.health.closed += 1;
        emit(open.record);
    }

    /// Forgets a request's units and takes it out of the counts.
    fn leave(&mut self, request: u64, open: &Open) {
        for unit in open.more_units.iter().chain([&request]) {
            if self.units.get(unit) == Some(&request) {
                self.units.remove(unit);
            }
        }
        let gone = if open.record.admitted_ns.is_some() { &mut self.running } else { &mut self.waiting };
        *gone = gone.saturating_sub(1);
    }
}
