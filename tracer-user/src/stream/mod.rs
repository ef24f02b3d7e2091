//! From bytes in the ring buffer to events in time order.

mod batch;
mod decode;
mod order;

pub use batch::{EventBatch, RawEvent};
pub use decode::{DecodeError, decode};
pub use order::Orderer;
