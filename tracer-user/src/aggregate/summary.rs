//! A running summary in constant memory.

use hdrhistogram::Histogram;

use crate::model::{Outcome, Phase, PhaseRecord};

/// Significant decimal digits of the histograms: quantiles are right within 1 %.
const DIGITS: u8 = 2;

/// Counts and quantiles of everything so far.
#[derive(Debug)]
pub struct LiveSummary {
    phases: [Histogram<u64>; Phase::ALL.len()],
    outcomes: [u64; Outcome::ALL.len()],
}

impl Default for LiveSummary {
    fn default() -> Self {
        let histogram = || Histogram::new(DIGITS).expect("two digits are allowed");
        LiveSummary { phases: std::array::from_fn(|_| histogram()), outcomes: [0; Outcome::ALL.len()] }
    }
}

impl LiveSummary {
    /// Takes one record.
    pub fn add(&mut self, record: &PhaseRecord) {
        self.outcomes[Outcome::ALL.iter().position(|o| *o == record.outcome).unwrap_or_default()] += 1;
        for (histogram, phase) in self.phases.iter_mut().zip(Phase::ALL) {
            if let Some(ns) = record.phase_ns(phase) {
                histogram.saturating_record(ns);
            }
        }
    }

    /// Number of records with this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[Outcome::ALL.iter().position(|o| *o == outcome).unwrap_or_default()]
    }

    /// A quantile of a phase in nanoseconds; absent if there is no value.
    pub fn quantile_ns(&self, phase: Phase, quantile: f64) -> Option<u64> {
        let histogram = &self.phases[Phase::ALL.iter().position(|p| *p == phase)?];
        (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile))
    }
}
