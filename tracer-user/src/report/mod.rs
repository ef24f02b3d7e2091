//! What a session says: read a file, aggregate it, summarise.

mod build;
mod load;
mod text;

pub use build::{Cost, Join, Loss, Report, ReportBuilder, TargetLine, ThreadLine};
pub use load::{CounterSpan, LoadedSession, ReadError, read_session};
pub use text::{end_words, render};
