//! `ttftrace engines`.

use std::fmt::Write as _;

use serde::Serialize;

use super::{EngineArgs, Failure, Verdict, print, print_json};
use crate::engine::{Engine, catalogue};

/// Options of `engines`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    engines: EngineArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Print the file of this engine, to start an engine file of your own
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    print: Option<String>,
}

#[derive(Serialize)]
struct EngineJson<'a> {
    name: &'a str,
    title: &'a str,
    origin: &'a str,
    layouts: Vec<LayoutJson<'a>>,
}

#[derive(Serialize)]
struct LayoutJson<'a> {
    name: &'a str,
    versions: &'a str,
    source: &'a str,
    truth: Option<&'a str>,
    probes: Vec<ProbeJson<'a>>,
}

#[derive(Serialize)]
struct ProbeJson<'a> {
    event: &'a str,
    function: &'a str,
    symbols: &'a [String],
    optional: Option<&'a str>,
}

pub(super) fn run(args: &Args) -> Result<Verdict, Failure> {
    let engines = args.engines.load()?;
    if let Some(name) = &args.print {
        let engine = engines.iter().find(|engine| engine.name == *name).ok_or_else(|| {
            let known: Vec<_> = engines.iter().map(|engine| engine.name.as_str()).collect();
            Failure::usage(format!(
                "no engine is named `{}`: known are {}",
                name.escape_debug(),
                known.join(", ")
            ))
        })?;
        print(&engine.text)?;
    } else if args.json {
        print_json(&engines.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        print(&as_text(&engines))?;
    }
    Ok(Verdict::Fine)
}

fn as_json(engine: &Engine) -> EngineJson<'_> {
    let layouts = engine.layouts.iter().map(|layout| LayoutJson {
        name: &layout.name,
        versions: &layout.versions,
        source: &layout.source,
        truth: layout.truth.as_deref(),
        probes: layout
            .probes
            .iter()
            .map(|probe| ProbeJson {
                event: catalogue::by_kind(probe.event).name,
                function: &probe.source,
                symbols: &probe.symbols,
                optional: probe.optional.as_deref(),
            })
            .collect(),
    });
    EngineJson {
        name: &engine.name,
        title: &engine.title,
        origin: &engine.origin,
        layouts: layouts.collect(),
    }
}

fn as_text(engines: &[Engine]) -> String {
    let mut out = String::new();
    for engine in engines {
        let _ = writeln!(out, "{}  {} ({})", engine.name, engine.title, engine.origin);
        for layout in &engine.layouts {
            let versions = if layout.versions == "*" {
                "any version that has these functions"
            } else {
                &layout.versions
            };
            let _ = writeln!(out, "  layout {}: {versions}", layout.name);
            for probe in &layout.probes {
                let optional = if probe.optional.is_some() { " (optional)" } else { "" };
                let _ = writeln!(
                    out,
                    "    {:<18} {}{optional}",
                    catalogue::by_kind(probe.event).name,
                    probe.source
                );
            }
        }
    }
    out
}
