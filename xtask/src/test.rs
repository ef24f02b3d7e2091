//! `cargo xtask test`.

use anyhow::Result;
use xtask::{
    command::{cargo, run, say},
    program::{Profile, build},
    setup::run_setup,
};

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains this
    filter: Option<String>,
}

pub(crate) fn run_tests(args: &Args) -> Result<()> {
    run_setup()?;
    say("building ttftrace");
    let program = build(Profile::Dev)?;
    say("tests that need no engine");
    let mut unit = cargo();
    unit.args(["test", "--locked", "--workspace", "--exclude", "ttftrace-tests"]);
    unit.args(&args.filter);
    run(&mut unit)?;
    say("tests on real engines");
    let mut engines = cargo();
    engines.args(["test", "--locked", "--package", "ttftrace-tests"]).args(&args.filter);
    // One at a time: each has a server and a load of its own, and measures it.
    engines.args(["--", "--test-threads=1"]).env("TTFTRACE_BIN", program);
    run(&mut engines)
}
