//! `ttftrace`.
fn main() {}
