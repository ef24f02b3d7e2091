//! What an engine file says, checked.

use tracer_abi::EventKind;

use super::Expression;

/// One engine.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Short name, as on the command line and in output.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// How to recognise its processes.
    pub detect: Detect,
    /// How to tell its version.
    pub version: VersionFrom,
    /// Probe points, by version.
    pub layouts: Vec<Layout>,
    /// The text that all this was parsed from: it goes into the session file.
    pub text: String,
    /// Where the text came from, for messages.
    pub origin: String,
}

/// How to recognise an engine's process.
#[derive(Clone, Debug)]
pub struct Detect {
    /// A mapped object defines a symbol that starts so.
    pub symbol_prefix: String,
}

/// How to tell an engine's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionFrom {
    /// The engine tells none: the build id of the object that holds its code stands for it.
    BuildId,
}

/// How request identities are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestIds {
    /// In ascending order; an admitted identity that was not posted belongs to the nearest one before it.
    Ascending,
    /// Without an order.
    Opaque,
}

/// Probe points that hold for a range of versions.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Name, for messages.
    pub name: String,
    /// Versions, in words.
    pub versions: String,
    /// Where the probe points were read off.
    pub source: String,
    /// What the engine itself reports, to check against.
    pub truth: Option<String>,
    /// How identities are handed out.
    pub request_ids: RequestIds,
    /// Largest share of admissions without a post before the layout counts as not matching.
    pub max_unposted_share: f64,
    /// The engine takes places away from running requests. If not, a requeue wait of zero is a fact.
    pub preempts: bool,
    /// Probe points.
    pub probes: Vec<Probe>,
}

/// One probe point and what to read there.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Event that a hit means.
    pub event: EventKind,
    /// Symbols to probe, the first that exists. A compiler's `.isra` and `.constprop` clones count as the symbol.
    pub symbols: Vec<String>,
    /// The function in source words.
    pub source: String,
    /// A list whose elements are the requests.
    pub each: Option<Each>,
    /// What to read: value slot and expression.
    pub fields: Vec<(u8, Expression)>,
    /// Hits to pass over.
    pub skip: Vec<Skip>,
    /// Value slot that arms later probes.
    pub arms: Option<u8>,
    /// Value slot that must have been armed.
    pub takes: Option<u8>,
    /// The engine works without this probe; what is then not known.
    pub optional: Option<String>,
}

/// A contiguous list of elements.
#[derive(Clone, Debug)]
pub struct Each {
    /// Address of the first element.
    pub begin: Expression,
    /// Address after the last element.
    pub end: Expression,
}

/// A hit is passed over when a value equals a constant.
#[derive(Clone, Debug)]
pub struct Skip {
    /// The value.
    pub value: Expression,
    /// The constant.
    pub is: i64,
}
