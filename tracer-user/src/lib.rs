//! `ttftrace` as a library: from a PID to phase records of every request.
//!
//! The arrows go one way: `engine`, `target` → `loader` → `stream` → `aggregate` → `model` ← `stats`, `export`, `cli`.
//! Nothing right of `model` sees the wire types.

pub mod engine;
pub mod loader;
pub mod session;
pub mod stream;
pub mod target;
