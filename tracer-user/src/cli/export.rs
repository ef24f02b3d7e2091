//! `ttftrace export`.

use std::{
    fs::OpenOptions,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{Failure, Verdict};
use crate::{
    export::write_jsonl,
    report::{ReportBuilder, read_session},
};

/// Options of `export`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Recording to export
    file: PathBuf,
    /// Format
    #[arg(long, value_enum)]
    to: Format,
    /// File to write; without it, text formats go to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// One JSON object a request, one a line
    Jsonl,
}

pub(super) fn run(args: &Args) -> Result<Verdict, Failure> {
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(BufWriter::new(create(path, args.force)?)),
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let mut builder = ReportBuilder::default();
    let mut failed = None;
    let session = read_session(&args.file, |record| {
        builder.add(&record);
        if failed.is_none() {
            let written = match args.to {
                Format::Jsonl => write_jsonl(&mut out, &record),
            };
            failed = written.err();
        }
    })?;
    if let Some(error) = failed.or_else(|| out.flush().err()) {
        return Err(Failure::output(error));
    }
    let report = builder.build(&session);
    for problem in &report.problems {
        let _ = writeln!(io::stderr(), "ttftrace: {}: {problem}", args.file.display());
    }
    Ok(if report.has_losses() { Verdict::Losses } else { Verdict::Fine })
}

fn create(path: &Path, force: bool) -> Result<std::fs::File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::failed(format!("{} exists: give another name, or --force to replace it", path.display()))
        }
        _ => Failure::failed(format!("cannot write {}: {error}", path.display())),
    })
}
