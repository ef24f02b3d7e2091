//! `ttftrace` as a library: from a PID to phase records of every request.
//!
//! The arrows go one way: `engine`, `target` → `loader` → `stream` → `aggregate` → `model` ← `stats`, `export`, `cli`.
//! Nothing right of `model` sees the wire types.

pub mod aggregate;
pub mod cli;
pub mod engine;
pub mod export;
pub mod format;
pub mod host;
pub mod loader;
pub mod model;
pub mod record;
pub mod report;
pub mod session;
pub mod session_facts;
pub mod stats;
pub mod stream;
pub mod target;
