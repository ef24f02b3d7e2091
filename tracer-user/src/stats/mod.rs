//! Numbers from many records.

mod distribution;

pub use distribution::Distribution;
