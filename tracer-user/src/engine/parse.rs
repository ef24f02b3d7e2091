//! Strict parsing of engine files: an unknown key, a wrong word or a missing field is refused with file and line.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::{
    Base, Detect, Each, Engine, Expression, Layout, Probe, RequestIds, Skip, VersionFrom, catalogue,
    catalogue::EventDef,
};

/// Largest engine file, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// An engine file that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}:{line}: {what}")]
pub struct SpecError {
    /// The file.
    pub origin: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what was expected.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileToml {
    name: Spanned<String>,
    title: String,
    detect: DetectToml,
    version: VersionToml,
    layout: Vec<LayoutToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectToml {
    symbol_prefix: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionToml {
    from: VersionFromToml,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum VersionFromToml {
    BuildId,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RequestIdsToml {
    Ascending,
    Opaque,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutToml {
    name: Spanned<String>,
    versions: Spanned<String>,
    source: String,
    truth: Option<String>,
    request_ids: RequestIdsToml,
    max_unposted_share: Spanned<f64>,
    preempts: bool,
    probe: Vec<Spanned<ProbeToml>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProbeToml {
    event: Spanned<String>,
    symbols: Spanned<Vec<String>>,
    source: String,
    each: Option<EachToml>,
    #[serde(default)]
    fields: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    skip: Vec<SkipToml>,
    arms: Option<Spanned<String>>,
    takes: Option<Spanned<String>>,
    optional: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EachToml {
    begin: Spanned<String>,
    end: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkipToml {
    value: Spanned<String>,
    is: i64,
}

/// A message and the byte at which it applies.
type At<T> = Result<T, (usize, String)>;

fn at<T>(spanned: &Spanned<T>) -> usize {
    spanned.span().start
}

/// Parses the engine file `text`; `origin` is its name in messages.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn parse(text: &str, origin: &str) -> Result<Engine, SpecError> {
    let error = |(byte, what): (usize, String)| {
        let line = text.as_bytes().iter().take(byte).filter(|b| **b == b'\n').count() + 1;
        SpecError { origin: origin.to_string(), line, what }
    };
    if text.len() > MAX_FILE_BYTES {
        return Err(error((0, format!("an engine file of {} bytes: at most {MAX_FILE_BYTES}", text.len()))));
    }
    let file: FileToml = toml::from_str(text)
        .map_err(|e| error((e.span().map_or(0, |s| s.start), e.message().to_string())))?;
    engine(file, text, origin).map_err(error)
}

fn engine(file: FileToml, text: &str, origin: &str) -> At<Engine> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = file.name.get_ref();
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        return Err((
            at(&file.name),
            format!("name `{}`: letters, digits, - and _ only", name.escape_debug()),
        ));
    }
    if file.detect.symbol_prefix.get_ref().len() < 4 {
        return Err((at(&file.detect.symbol_prefix), "symbol_prefix: at least 4 characters".into()));
    }
    let mut names = BTreeSet::new();
    let mut ranges = BTreeSet::new();
    let mut layouts = Vec::new();
    for layout in file.layout {
        if !names.insert(layout.name.get_ref().clone()) {
            return Err((at(&layout.name), format!("a second layout is named `{}`", layout.name.get_ref())));
        }
        if layout.versions.get_ref() != "*" {
            return Err((
                at(&layout.versions),
                format!(
                    "versions `{}`: an engine known by build id only takes \"*\"",
                    layout.versions.get_ref()
                ),
            ));
        }
        if !ranges.insert(layout.versions.get_ref().clone()) {
            return Err((at(&layout.versions), "the version range overlaps an earlier layout's".into()));
        }
        layouts.push(self::layout(layout)?);
    }
    if layouts.is_empty() {
        return Err((0, "no [[layout]]".into()));
    }
    Ok(Engine {
        name: name.clone(),
        title: file.title,
        detect: Detect { symbol_prefix: file.detect.symbol_prefix.into_inner() },
        version: match file.version.from {
            VersionFromToml::BuildId => VersionFrom::BuildId,
        },
        layouts,
        text: text.to_string(),
        origin: origin.to_string(),
    })
}

fn layout(layout: LayoutToml) -> At<Layout> {
    let share = *layout.max_unposted_share.get_ref();
    if !(0.0..=1.0).contains(&share) {
        return Err((at(&layout.max_unposted_share), format!("max_unposted_share {share}: expected 0 to 1")));
    }
    let here = at(&layout.name);
    let probes = layout.probe.into_iter().map(probe).collect::<At<Vec<_>>>()?;
    for needed in ["request_enqueued", "request_admitted"] {
        let count = probes.iter().filter(|p| catalogue::by_kind(p.event).name == needed).count();
        if count == 0 {
            return Err((here, format!("layout `{}` has no {needed} probe", layout.name.get_ref())));
        }
    }
    Ok(Layout {
        name: layout.name.into_inner(),
        versions: layout.versions.into_inner(),
        source: layout.source,
        truth: layout.truth,
        request_ids: match layout.request_ids {
            RequestIdsToml::Ascending => RequestIds::Ascending,
            RequestIdsToml::Opaque => RequestIds::Opaque,
        },
        max_unposted_share: share,
        preempts: layout.preempts,
        probes,
    })
}

fn probe(spanned: Spanned<ProbeToml>) -> At<Probe> {
    let here = at(&spanned);
    let probe = spanned.into_inner();
    let def = catalogue::by_name(probe.event.get_ref()).ok_or_else(|| {
        let names: Vec<_> = catalogue::EVENTS.iter().map(|e| e.name).collect();
        (
            at(&probe.event),
            format!("event `{}` is unknown: one of {}", probe.event.get_ref(), names.join(", ")),
        )
    })?;
    if probe.symbols.get_ref().is_empty() || probe.symbols.get_ref().iter().any(String::is_empty) {
        return Err((at(&probe.symbols), "symbols: at least one, none of them empty".into()));
    }
    let each = probe
        .each
        .map(|each| Ok(Each { begin: expression(&each.begin, false)?, end: expression(&each.end, false)? }))
        .transpose()?;
    let mut fields = Vec::new();
    for (name, text) in &probe.fields {
        let slot = slot(def, name)?;
        fields.push((slot, expression(text, each.is_some())?));
    }
    if !def.needs_one_of.is_empty()
        && !def.needs_one_of.iter().any(|n| probe.fields.keys().any(|k| k.get_ref() == n))
    {
        return Err((here, format!("{} needs the field {}", def.name, def.needs_one_of.join(" or "))));
    }
    let named = |name: Option<Spanned<String>>| -> At<Option<u8>> {
        let Some(name) = name else { return Ok(None) };
        let slot = slot(def, &name)?;
        if !fields.iter().any(|(s, _)| *s == slot) {
            return Err((at(&name), format!("`{}` is not read by this probe", name.get_ref())));
        }
        Ok(Some(slot))
    };
    let (arms, takes) = (named(probe.arms)?, named(probe.takes)?);
    let skip = probe
        .skip
        .iter()
        .map(|s| Ok(Skip { value: expression(&s.value, each.is_some())?, is: s.is }))
        .collect::<At<Vec<_>>>()?;
    Ok(Probe {
        event: def.kind,
        symbols: probe.symbols.into_inner(),
        source: probe.source,
        each,
        fields,
        skip,
        arms,
        takes,
        optional: probe.optional,
    })
}

fn slot(def: &EventDef, name: &Spanned<String>) -> At<u8> {
    def.slot(name.get_ref()).ok_or_else(|| {
        let names: Vec<_> = def.fields.iter().map(|f| f.name).collect();
        let expected = if names.is_empty() { "none".into() } else { names.join(", ") };
        (at(name), format!("{} has no field `{}`: expected {expected}", def.name, name.get_ref()))
    })
}

fn expression(text: &Spanned<String>, in_each: bool) -> At<Expression> {
    let expression = Expression::parse(text.get_ref()).map_err(|what| (at(text), what))?;
    if expression.base == Base::Each && !in_each {
        return Err((at(text), format!("`{}`: the probe has no `each`", text.get_ref())));
    }
    Ok(expression)
}
