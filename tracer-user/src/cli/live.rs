//! The line that shows how a recording goes.

use std::{
    io::{IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use crate::{
    aggregate::LiveSummary,
    format::{bytes, duration},
    model::{Outcome, Phase},
    record::Progress,
};

/// Time between lines where they cannot replace each other.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Time between updates of the line on a terminal.
const UPDATE_EVERY: Duration = Duration::from_millis(500);

/// A status line on standard error.
pub(super) struct LiveLine {
    terminal: bool,
    quiet: bool,
    shown: Instant,
    width: usize,
}

impl LiveLine {
    pub(super) fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        LiveLine {
            terminal: std::io::stderr().is_terminal() && !dumb,
            quiet,
            shown: Instant::now(),
            width: 0,
        }
    }

    /// True if it is time for an update.
    pub(super) fn due(&self) -> bool {
        !self.quiet && self.shown.elapsed() >= if self.terminal { UPDATE_EVERY } else { LOG_EVERY }
    }

    /// Shows where a recording stands.
    pub(super) fn show(&mut self, progress: &Progress, summary: &LiveSummary) {
        self.shown = Instant::now();
        let line = status(progress, summary);
        let mut err = std::io::stderr().lock();
        if self.terminal {
            let pad = self.width.saturating_sub(line.chars().count());
            let _ = write!(err, "\r{line}{}", " ".repeat(pad));
            self.width = line.chars().count();
        } else {
            let _ = writeln!(err, "{line}");
        }
        let _ = err.flush();
    }

    /// Ends the line, so that what follows stands on its own.
    pub(super) fn end(&mut self) {
        if self.terminal && self.width > 0 {
            let _ = writeln!(std::io::stderr());
            self.width = 0;
        }
    }
}

/// One line, within 80 columns for ordinary numbers.
fn status(progress: &Progress, summary: &LiveSummary) -> String {
    let p99 = |phase| summary.quantile_ns(phase, 0.99).map_or("-".into(), duration);
    let lost: u64 = progress.totals.probes.iter().map(|probe| probe.lost_ring).sum();
    let lost = if lost > 0 { format!("  LOST {lost}") } else { String::new() };
    format!(
        "{}s  {} done  {} waiting {} running  P99 queue {} prefill {}  {}{lost}",
        progress.elapsed.as_secs(),
        summary.count(Outcome::Completed),
        progress.now.0,
        progress.now.1,
        p99(Phase::QueueWait),
        p99(Phase::Prefill),
        bytes(progress.bytes_written)
    )
}
