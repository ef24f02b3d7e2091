//! What the aggregation has to know of the probes and the engine, taken from a session's facts.

use std::collections::BTreeMap;

use tracer_abi::EventKind;

use crate::{
    engine::{Engine, Layout, RequestIds, SpecError, catalogue, parse},
    loader::AttachedProbe,
    session_facts::SessionFacts,
};

/// A session whose facts do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The engine file inside the session.
    #[error("the engine file inside the session is not accepted: {0}")]
    Engine(#[from] SpecError),
    /// A name that refers to nothing.
    #[error("the session's facts name {what} `{name}`, which they do not define")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// One probe, as the aggregation sees it.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRule {
    /// Index of its target.
    pub target: usize,
    /// Event that it sends.
    pub kind: EventKind,
    /// Size of the elements of its list in bytes, if known.
    pub stride_bytes: Option<u64>,
}

/// One target, as the aggregation sees it.
#[derive(Clone, Debug)]
pub struct TargetRule {
    /// Process.
    pub pid: u32,
    /// Identities come in ascending order.
    pub ascending_ids: bool,
    /// Largest share of admissions without a post.
    pub max_unposted_share: f64,
    /// The engine takes a place away from requests.
    pub preempts: bool,
    /// Deferrals are seen.
    pub sees_deferrals: bool,
    /// Preemptions are seen.
    pub sees_preemptions: bool,
}

/// Everything that the aggregation needs beside the events.
#[derive(Clone, Debug)]
pub struct Rules {
    /// By probe index.
    pub probes: BTreeMap<u16, ProbeRule>,
    /// By target index.
    pub targets: Vec<TargetRule>,
}

impl Rules {
    /// Rules for a session.
    ///
    /// # Errors
    /// If the facts do not fit together.
    pub fn from_facts(facts: &SessionFacts) -> Result<Self, RulesError> {
        let mut engines: BTreeMap<&str, Engine> = BTreeMap::new();
        for file in &facts.engines {
            engines.insert(&file.name, parse(&file.text, &file.origin)?);
        }
        let mut targets = Vec::new();
        for target in &facts.targets {
            let unknown = |what, name: &str| RulesError::Unknown { what, name: name.to_string() };
            let engine =
                engines.get(target.engine.as_str()).ok_or_else(|| unknown("engine", &target.engine))?;
            let layout = engine
                .layouts
                .iter()
                .find(|layout| layout.name == target.layout)
                .ok_or_else(|| unknown("layout", &target.layout))?;
            targets.push(target_rule(target.pid, layout, &facts.probes));
        }
        let mut probes = BTreeMap::new();
        for probe in &facts.probes {
            let kind = catalogue::by_name(&probe.event)
                .ok_or_else(|| RulesError::Unknown { what: "event", name: probe.event.clone() })?
                .kind;
            let target = targets
                .iter()
                .position(|target| target.pid == probe.pid)
                .ok_or_else(|| RulesError::Unknown { what: "process", name: probe.pid.to_string() })?;
            probes.insert(probe.index, ProbeRule { target, kind, stride_bytes: probe.stride_bytes });
        }
        Ok(Rules { probes, targets })
    }
}

fn target_rule(pid: u32, layout: &Layout, probes: &[AttachedProbe]) -> TargetRule {
    let sees = |kind| {
        let name = catalogue::by_kind(kind).name;
        probes.iter().any(|probe| probe.pid == pid && probe.event == name)
    };
    TargetRule {
        pid,
        ascending_ids: layout.request_ids == RequestIds::Ascending,
        max_unposted_share: layout.max_unposted_share,
        preempts: layout.preempts,
        sees_deferrals: sees(EventKind::RequestDeferred),
        sees_preemptions: sees(EventKind::RequestPreempted),
    }
}
