//! The command line. One file a subcommand; exit codes are decided here.

mod check;
mod engines;
mod export;
mod failure;
mod live;
mod record;
mod report;

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::engine::{Engine, SpecError, builtin, parse};
pub use failure::Failure;

/// What a command that worked has to say by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is missing.
    Fine,
    /// Finished, with losses or below full coverage.
    Losses,
}

const EXAMPLES: &str = "\
Examples:
  ttftrace check -p 1234                      what will work on this server, and what will not
  ttftrace record -p 1234 -o s.ttft --for 60s record a minute
  ttftrace report s.ttft                      queue wait and prefill, P50 to P99.9
  ttftrace export s.ttft --to jsonl           one JSON object a request

Exit codes: 0 fine, 1 failed, 2 usage, 3 finished with losses or below full coverage.";

/// Which phase of the time to first token moved, and why: attaches by PID to a running LLM server.
#[derive(Parser)]
#[command(name = "ttftrace", version, about, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what will work on this machine and this server, and which setting fixes the rest
    Check(check::Args),
    /// Attach to a running server and record its requests to a file
    Record(record::Args),
    /// Report the phases of a recording
    Report(report::Args),
    /// Write the requests of a recording in another format
    Export(export::Args),
    /// List the engines, versions and probe points that are known
    Engines(engines::Args),
    /// Print a completion script for a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Options of commands that look for engines.
#[derive(clap::Args)]
struct EngineArgs {
    /// Use this engine file before the built-in ones (see `ttftrace engines --print NAME`)
    #[arg(long, value_name = "FILE")]
    engine_spec: Vec<PathBuf>,
}

impl EngineArgs {
    fn load(&self) -> Result<Vec<Engine>, Failure> {
        let mut engines = Vec::new();
        for path in &self.engine_spec {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!("cannot read the engine file {}: {error}", path.display()))
            })?;
            let spec_error =
                |error: SpecError| Failure::usage(format!("the engine file is not accepted: {error}"));
            engines.push(parse(&text, &path.display().to_string()).map_err(spec_error)?);
        }
        let own = engines.len();
        for engine in builtin().map_err(|error| Failure::failed(error.to_string()))? {
            if !engines[..own].iter().any(|given| given.name == engine.name) {
                engines.push(engine);
            }
        }
        Ok(engines)
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Engines(args) => engines::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ttftrace", &mut script);
            print(&String::from_utf8_lossy(&script)).map(|()| Verdict::Fine)
        }
        Command::Man => {
            let mut page = Vec::new();
            match clap_mangen::Man::new(Cli::command()).render(&mut page) {
                Ok(()) => print(&String::from_utf8_lossy(&page)).map(|()| Verdict::Fine),
                Err(error) => Err(Failure::failed(error.to_string())),
            }
        }
    };
    match result {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Losses) => ExitCode::from(3),
        Err(failure) => {
            if !failure.message.is_empty() {
                let _ = writeln!(std::io::stderr(), "ttftrace: {}", failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}

/// Prints to standard output. A reader that went away (`| head`) ends the program quietly.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}

/// Prints a value as JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::failed(error.to_string()))?;
    print(&(text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
