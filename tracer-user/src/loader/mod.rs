//! Into the kernel and out of it again: load the programs, choose where to probe, attach, count, detach.

mod calibrate;
mod pod;
pub mod requirements;
mod site;
mod stride;
mod tracer;

pub use calibrate::{CalibrateError, Calibration};
pub use site::{Site, SiteKind, choose};
pub use stride::element_stride;
pub use tracer::{AttachError, AttachedProbe, Drained, LoadError, ProbeCounts, Tracer};
