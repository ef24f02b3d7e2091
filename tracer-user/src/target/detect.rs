//! From a PID to the engine process and the functions to probe in it.

use std::{collections::BTreeMap, path::PathBuf};

use super::{Image, Mapping, Process, ProcessError, Symbol, mappings};
use crate::engine::{Engine, Layout, Probe};

/// Suffixes that compilers give to clones of a function which keep taking its arguments in its registers.
const CLONES: [&str; 2] = [".isra.", ".constprop."];

/// No engine, or none that can be probed.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// The process itself.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Nothing in the process tree is an engine that we know.
    #[error(
        "process {pid} ({comm}) and the {below} below it run no engine that ttftrace knows ({known}): \
         give the server's PID, or describe the engine with --engine-spec (see `ttftrace engines`)"
    )]
    NoEngine {
        /// PID asked for.
        pid: u32,
        /// Its name.
        comm: String,
        /// Processes below it.
        below: usize,
        /// Names of known engines.
        known: String,
    },
    /// An engine was recognised but cannot be probed.
    #[error("process {pid} runs {engine}, but no layout fits it: {why}")]
    NoLayout {
        /// Process.
        pid: u32,
        /// Engine.
        engine: String,
        /// What is missing, in words.
        why: String,
    },
}

/// One probe of the engine file, found in a process.
#[derive(Clone, Debug)]
pub struct ProbePoint {
    /// The probe.
    pub probe: Probe,
    /// Symbol that was found.
    pub symbol: Symbol,
}

/// An engine process.
pub struct Target {
    /// The process.
    pub process: Process,
    /// Its engine.
    pub engine: Engine,
    /// Index of the layout that fits.
    pub layout: usize,
    /// Version, or what stands for it.
    pub version: String,
    /// The object with the engine's code: a path to exactly this file.
    pub object: PathBuf,
    /// Its path as the target sees it, for display.
    pub object_shown: String,
    /// Its ELF image.
    pub image: Image,
    /// Probes that were found.
    pub points: Vec<ProbePoint>,
    /// Optional probes that were not, in words.
    pub missing: Vec<String>,
}

impl Target {
    /// The layout in use.
    pub fn layout(&self) -> &Layout {
        &self.engine.layouts[self.layout]
    }
}

/// Finds the engine processes at and below `pid`.
///
/// # Errors
/// If there is none, or one that cannot be probed.
pub fn discover(pid: u32, engines: &[Engine]) -> Result<Vec<Target>, DetectError> {
    let tree = Process::tree(pid)?;
    let mut targets = Vec::new();
    let mut refused = None;
    for process in &tree {
        match look_into(process, engines) {
            Ok(found) => targets.extend(found),
            // The process asked for must be readable; one below it may have ended meanwhile.
            Err(error) if process.pid == pid => return Err(error),
            Err(error @ DetectError::NoLayout { .. }) => refused = Some(error),
            Err(_) => {}
        }
    }
    if !targets.is_empty() {
        return Ok(targets);
    }
    Err(refused.unwrap_or_else(|| DetectError::NoEngine {
        pid,
        comm: tree[0].comm.clone(),
        below: tree.len() - 1,
        known: engines.iter().map(|engine| engine.name.as_str()).collect::<Vec<_>>().join(", "),
    }))
}

/// The executable mappings of a process, one a file.
fn objects(pid: u32) -> Result<Vec<Mapping>, ProcessError> {
    let mut by_file = BTreeMap::new();
    for mapping in mappings(pid)? {
        if mapping.executable {
            by_file.entry(mapping.file.clone()).or_insert(mapping);
        }
    }
    Ok(by_file.into_values().collect())
}

fn look_into(process: &Process, engines: &[Engine]) -> Result<Option<Target>, DetectError> {
    for mapping in objects(process.pid)? {
        let file = match mapping.open(process.pid) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let path = mapping.map_file(process.pid).display().to_string();
                return Err(ProcessError::Read { path, error }.into());
            }
            Err(_) => continue,
        };
        let Ok(image) = Image::open(file) else { continue };
        for engine in engines {
            let symbols = image.functions(&engine.detect.symbol_prefix).unwrap_or_default();
            if !symbols.is_empty() {
                return fit(process, engine, &mapping, image).map(Some);
            }
        }
    }
    Ok(None)
}

/// Picks the first layout all of whose required probes exist.
fn fit(process: &Process, engine: &Engine, mapping: &Mapping, image: Image) -> Result<Target, DetectError> {
    let mut reasons = Vec::new();
    for (index, layout) in engine.layouts.iter().enumerate() {
        let (points, missing) = match locate(layout, &image) {
            Ok(found) => found,
            Err(why) => {
                reasons.push(format!("layout {}: {why}", layout.name));
                continue;
            }
        };
        let version = image
            .build_id()
            .map_or_else(|| "unknown".into(), |id| format!("build {}", &id[..id.len().min(12)]));
        return Ok(Target {
            process: process.clone(),
            engine: engine.clone(),
            layout: index,
            version,
            object: mapping.map_file(process.pid),
            object_shown: mapping.shown_path(),
            image,
            points,
            missing,
        });
    }
    Err(DetectError::NoLayout { pid: process.pid, engine: engine.title.clone(), why: reasons.join("; ") })
}

/// The probe points of a layout, and in words the optional ones that are missing.
fn locate(layout: &Layout, image: &Image) -> Result<(Vec<ProbePoint>, Vec<String>), String> {
    let mut points = Vec::new();
    let mut missing = Vec::new();
    for probe in &layout.probes {
        match probe.symbols.iter().find_map(|symbol| find(image, symbol)) {
            Some(symbol) => points.push(ProbePoint { probe: probe.clone(), symbol }),
            None => match &probe.optional {
                Some(consequence) => missing.push(format!("{} is not there: {consequence}", probe.source)),
                None => {
                    return Err(format!(
                        "function {} is not there (stripped, inlined, or another version than {})",
                        probe.source, layout.source
                    ));
                }
            },
        }
    }
    Ok((points, missing))
}

fn find(image: &Image, symbol: &str) -> Option<Symbol> {
    let all = image.functions(symbol).ok()?;
    let exact = all.iter().find(|found| found.name == symbol);
    let clone = || {
        all.iter().find(|found| {
            let suffix = &found.name[symbol.len()..];
            CLONES.iter().any(|clone| suffix.starts_with(clone)) && !suffix.contains(".cold")
        })
    };
    exact.or_else(clone).cloned()
}
