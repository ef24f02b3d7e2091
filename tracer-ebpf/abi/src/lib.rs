//! Wire types shared by the kernel programs and user space.
//!
//! Everything here is plain data: `repr(C)`, no padding, sizes asserted, numbers append-only. A value's
//! meaning never changes once it has been released; new meanings get new numbers.
#![no_std]

mod event;
mod plan;
mod stats;

pub use event::*;
pub use plan::*;
pub use stats::*;
