//! What a probe hit costs on this machine, measured on functions of the tracer itself.

use std::{arch::global_asm, num::NonZeroU32, time::Instant};

use aya::programs::{
    UProbe,
    uprobe::{UProbeAttachLocation, UProbeScope},
};
use serde::{Deserialize, Serialize};

use super::SiteKind;
use crate::target::mappings;

// One function a kind of site: the probed instruction is the first.
global_asm!(
    ".pushsection .text.ttftrace_calibrate, \"ax\", @progbits",
    ".balign 64",
    "ttftrace_calibrate_nop5: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
    "ret",
    ".balign 64",
    "ttftrace_calibrate_push: push rbp",
    "pop rbp",
    "ret",
    ".balign 64",
    "ttftrace_calibrate_step: mov eax, edi",
    "ret",
    ".popsection",
);

unsafe extern "C" {
    fn ttftrace_calibrate_nop5();
    fn ttftrace_calibrate_push();
    fn ttftrace_calibrate_step();
}

/// Calls a measurement; single-stepped sites take tens of microseconds each.
const CALLS: u32 = 200;
/// Measurements, of which the fastest counts.
const ROUNDS: u32 = 5;

/// Cost of a hit by kind of site, in nanoseconds, of an empty program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// At a five-byte no-operation.
    pub nop5_ns: f64,
    /// At an emulated instruction.
    pub emulated_ns: f64,
    /// At a single-stepped instruction.
    pub single_stepped_ns: f64,
}

impl Calibration {
    /// Cost of a hit at a kind of site, in nanoseconds.
    pub fn cost_ns(&self, kind: SiteKind) -> f64 {
        match kind {
            SiteKind::Nop5 => self.nop5_ns,
            SiteKind::Emulated => self.emulated_ns,
            SiteKind::SingleStepped => self.single_stepped_ns,
        }
    }
}

/// A calibration that did not work.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The kernel refused the probe.
    #[error("cannot probe the tracer's own code: {0}")]
    Attach(#[from] aya::programs::ProgramError),
    /// The tracer's own code was not found in its mappings.
    #[error("cannot find the tracer's own code in /proc/self/maps")]
    OwnCode,
}

/// Measures all kinds of site with `program`, which must do nothing.
pub(super) fn calibrate(program: &mut UProbe) -> Result<Calibration, CalibrateError> {
    let own = mappings(std::process::id()).map_err(|_| CalibrateError::OwnCode)?;
    let mut measure = |function: unsafe extern "C" fn()| -> Result<f64, CalibrateError> {
        let address = function as usize as u64;
        let mapping =
            own.iter().find(|m| (m.start..m.end).contains(&address)).ok_or(CalibrateError::OwnCode)?;
        let offset = address - mapping.start + mapping.offset;
        let plain = time(function);
        let pid = NonZeroU32::new(std::process::id()).ok_or(CalibrateError::OwnCode)?;
        let id = program.attach(
            UProbeAttachLocation::AbsoluteOffset(offset),
            "/proc/self/exe",
            UProbeScope::OneProcess(pid),
        )?;
        let probed = time(function);
        // Taking a probe out waits for a grace period of the kernel: not on this thread.
        let link = program.take_link(id)?;
        std::thread::spawn(move || drop(link));
        Ok((probed - plain).max(0.0))
    };
    Ok(Calibration {
        nop5_ns: measure(ttftrace_calibrate_nop5)?,
        emulated_ns: measure(ttftrace_calibrate_push)?,
        single_stepped_ns: measure(ttftrace_calibrate_step)?,
    })
}

/// Nanoseconds a call, of the fastest round.
fn time(function: unsafe extern "C" fn()) -> f64 {
    let round = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            // SAFETY: the functions above take nothing, change nothing and return.
            unsafe { function() };
        }
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
