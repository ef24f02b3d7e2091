//! `ttftrace report`.

use std::path::PathBuf;

use super::{Failure, Verdict, print, print_json};
use crate::report::{ReportBuilder, read_session, render};

/// Options of `report`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Recording to report on
    file: PathBuf,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Verdict, Failure> {
    let mut builder = ReportBuilder::default();
    let session = read_session(&args.file, |record| builder.add(&record))?;
    let report = builder.build(&session);
    if args.json {
        print_json(&report)?;
    } else {
        print(&render(&report))?;
    }
    Ok(if report.has_losses() { Verdict::Losses } else { Verdict::Fine })
}
