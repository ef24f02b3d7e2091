//! The plan machine: follows a read plan through a target's memory.
//!
//! The same code runs inside the kernel programs, over the live target, and in ordinary tests, over saved
//! memory. It never allocates, never loops (the caller steps it a bounded number of times) and trusts
//! nothing that it reads.
#![no_std]

mod machine;

pub use machine::{Flow, Machine, Target, run};
