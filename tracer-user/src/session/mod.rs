//! The `.ttft` session file. `FORMAT.md` beside this file describes it.

mod error;
mod events;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod index;
mod problem;
mod reader;
mod samples;
mod scan;
mod sink;
mod varint;
mod writer;

pub use error::SessionError;
pub use frame::{BlockKind, MAX_BLOCK_BYTES, MAX_BLOCK_ITEMS, MAX_JSON_BYTES, SCHEMA_VERSION};
pub use index::IndexEntry;
pub use problem::Problem;
pub use reader::{Block, Reader};
pub use samples::{MAX_NAME_BYTES, Note, Sample, SampleValue};
pub use sink::{Sink, Unwritten};
pub use writer::Writer;
