//! Developer commands: `cargo xtask --help`.

mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cargo xtask demo                                   attach to a real server under load and print the report
  cargo xtask test                                   set up what is missing and run every test
  cargo xtask engine llama-server --serve --port 8080 --slots 2";

/// Sets up, demonstrates, tests and measures ttftrace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Bring what the build needs: a toolchain for the kernel programs and bpf-linker
    Setup,
    /// Set up what is missing and run every test
    Test(test::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Setup => xtask::setup::run_setup(),
        Command::Test(args) => test::run_tests(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
