//! From events to requests. The rules live here and only here: a session file keeps raw events, so that they
//! can be aggregated again by newer rules.

mod requests;
mod rules;
mod summary;

pub use requests::{Aggregator, Health};
pub use rules::{ProbeRule, Rules, RulesError};
pub use summary::LiveSummary;
