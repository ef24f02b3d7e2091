//! Engines as data: what an engine file says, and its translation into read plans.
//!
//! Everything that is particular to one engine lives in `engines/*.toml`; no code here knows an engine.

mod builtin;
pub mod catalogue;
mod expression;
mod lower;
mod parse;
mod spec;

pub use builtin::{builtin, find_builtin};
pub use expression::{Base, Expression, Width};
pub use lower::{LowerError, arguments_used, lower};
pub use parse::{SpecError, parse};
pub use spec::{Detect, Each, Engine, Layout, Probe, RequestIds, Skip, VersionFrom};
