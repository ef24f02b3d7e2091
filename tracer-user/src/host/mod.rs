//! The machine below the engine: clocks, the tracer's own cost, counters of the scheduler's thread.

mod clock;
mod counters;
mod facts;
mod own;

pub use clock::{clock_facts, monotonic_ns};
pub use counters::{COUNTERS, CounterDef, ThreadCounters};
pub use facts::host_facts;
pub use own::OwnCost;
