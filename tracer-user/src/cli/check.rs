//! `ttftrace check`.

use std::{collections::BTreeSet, fmt::Write as _};

use serde::Serialize;

use super::{EngineArgs, Failure, Verdict, print, print_json};
use crate::{
    engine::{arguments_used, catalogue},
    loader::{Calibration, SiteKind, Tracer, choose, requirements},
    target::{DetectError, Target, discover},
};

/// Options of `check`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Server to look at; without it only the machine is checked
    #[arg(short, long, value_name = "PID")]
    pid: Vec<u32>,
    #[command(flatten)]
    engines: EngineArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Checked {
    ok: bool,
    machine: Vec<requirements::Requirement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<Calibration>,
    targets: Vec<CheckedTarget>,
}

#[derive(Serialize)]
struct CheckedTarget {
    asked_pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_mounts: Option<bool>,
    probes: Vec<CheckedProbe>,
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct CheckedProbe {
    event: &'static str,
    function: String,
    symbol: String,
    site_offset: Option<u64>,
    site: Option<SiteKind>,
}

pub(super) fn run(args: &Args) -> Result<Verdict, Failure> {
    let engines = args.engines.load()?;
    let machine = requirements::check();
    let unmet = machine.iter().any(|requirement| requirement.essential && requirement.met == Some(false));
    let (calibration, load_error) = match Tracer::load(1 << 16) {
        Ok(mut tracer) => match tracer.calibrate() {
            Ok(calibration) => (Some(calibration), None),
            Err(error) => (None, Some(error.to_string())),
        },
        Err(error) => (None, Some(error.to_string())),
    };
    let mut targets = Vec::new();
    for pid in args.pid.iter().collect::<BTreeSet<_>>() {
        match discover(*pid, &engines) {
            Ok(found) => targets.extend(found.iter().map(|target| checked(*pid, target))),
            Err(error) => targets.push(refused(*pid, &error)),
        }
    }
    let ok = !unmet && load_error.is_none() && targets.iter().all(|target| target.error.is_none());
    let result = Checked { ok, machine, load_error, calibration, targets };
    if args.json {
        print_json(&result)?;
    } else {
        print(&as_text(&result))?;
    }
    if result.ok { Ok(Verdict::Fine) } else { Err(Failure { message: String::new(), code: 1 }) }
}

fn checked(asked_pid: u32, target: &Target) -> CheckedTarget {
    let probe = |point: &crate::target::ProbePoint| {
        let len = point.symbol.size_bytes.clamp(64, 1 << 16);
        let code = target.image.bytes(point.symbol.address, len);
        let site = code.and_then(|code| choose(code, &arguments_used(&point.probe)));
        CheckedProbe {
            event: catalogue::by_kind(point.probe.event).name,
            function: point.probe.source.clone(),
            symbol: point.symbol.name.clone(),
            site_offset: site.map(|site| site.offset),
            site: site.map(|site| site.kind),
        }
    };
    CheckedTarget {
        asked_pid,
        pid: Some(target.process.pid),
        engine: Some(target.engine.name.clone()),
        version: Some(target.version.clone()),
        object: Some(target.object_shown.clone()),
        other_mounts: Some(target.process.other_mounts),
        probes: target.points.iter().map(probe).collect(),
        missing: target.missing.clone(),
        error: None,
    }
}

fn refused(asked_pid: u32, error: &DetectError) -> CheckedTarget {
    CheckedTarget {
        asked_pid,
        pid: None,
        engine: None,
        version: None,
        object: None,
        other_mounts: None,
        probes: Vec::new(),
        missing: Vec::new(),
        error: Some(error.to_string()),
    }
}

fn as_text(result: &Checked) -> String {
    let mut out = String::new();
    for requirement in &result.machine {
        let mark = match requirement.met {
            Some(true) => "ok  ",
            Some(false) => "MISS",
            None => "?   ",
        };
        let _ = writeln!(out, "{mark} {:<28} {}", requirement.name, requirement.found);
        if requirement.met == Some(false) {
            let _ = writeln!(out, "     → {}", requirement.remedy);
        }
    }
    match (&result.load_error, result.calibration) {
        (Some(error), _) => {
            let _ = writeln!(out, "MISS {:<28} {error}", "kernel programs");
        }
        (None, Some(c)) => {
            let _ = writeln!(out, "ok   {:<28} loaded", "kernel programs");
            let _ = writeln!(
                out,
                "ok   {:<28} {:.0} ns at a nop, {:.0} ns emulated, {:.0} ns single-stepped",
                "cost of a probe hit", c.nop5_ns, c.emulated_ns, c.single_stepped_ns
            );
        }
        (None, None) => {}
    }
    for target in &result.targets {
        out.push('\n');
        if let Some(error) = &target.error {
            let _ = writeln!(out, "MISS PID {}: {error}", target.asked_pid);
            continue;
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let _ = writeln!(
            out,
            "ok   PID {}: {} ({})",
            target.pid.unwrap_or_default(),
            text(&target.engine),
            text(&target.version)
        );
        let elsewhere = if target.other_mounts == Some(true) { ", in another mount namespace" } else { "" };
        let _ = writeln!(out, "     code in {}{elsewhere}", text(&target.object));
        for probe in &target.probes {
            let site = match (probe.site, probe.site_offset) {
                (Some(SiteKind::SingleStepped), Some(offset)) => {
                    format!("at +{offset}, single-stepped: dear")
                }
                (Some(_), Some(offset)) => format!("at +{offset}, cheap"),
                _ => "cannot be placed".into(),
            };
            let _ = writeln!(out, "ok   {:<18} {} ({site})", probe.event, probe.function);
        }
        for missing in &target.missing {
            let _ = writeln!(out, "?    {missing}");
        }
    }
    out
}
