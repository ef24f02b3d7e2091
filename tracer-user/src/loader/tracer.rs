//! The tracer in the kernel: programs, maps, attached probes.

use std::{num::NonZeroU32, os::fd::OwnedFd, time::Duration};

use aya::{
    Ebpf, EbpfLoader,
    maps::{Array, MapData, PerCpuArray, RingBuf},
    programs::{
        UProbe,
        uprobe::{UProbeAttachLocation, UProbeAttachPoint, UProbeLink, UProbeScope},
    },
    sys::{Stats, enable_stats},
};
use serde::{Deserialize, Serialize};
use tracer_abi::{Control, MAX_PLANS, ProbeStats};

use super::{
    CalibrateError, Calibration, SiteKind, calibrate, element_stride,
    pod::{PodControl, PodPlan, PodStats},
    site,
};
use crate::{
    engine::{LowerError, arguments_used, catalogue, lower},
    stream::{DecodeError, EventBatch, decode},
    target::{ProbePoint, Target},
};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tracer.bpf.o"));

/// Largest function that is decoded, in bytes.
const MAX_FUNCTION_BYTES: u64 = 1 << 16;

/// The kernel does not take the programs.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not allowed to.
    #[error(
        "the kernel refused to load the programs: {0}; run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN (`ttftrace check` says what is missing)"
    )]
    Denied(String),
    /// Anything else.
    #[error("cannot load the programs: {0}; `ttftrace check` says what this kernel lacks")]
    Kernel(String),
}

/// A probe that could not be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Too many probes.
    #[error("more than {MAX_PLANS} probes: attach to fewer processes")]
    TooMany,
    /// The function's code could not be read.
    #[error("cannot decode the code of {0}")]
    Code(String),
    /// The engine file asks for more than a plan can do.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The kernel refused.
    #[error("cannot probe {function}: {error}")]
    Kernel {
        /// The function, in source words.
        function: String,
        /// The error.
        error: String,
    },
}

/// A probe in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttachedProbe {
    /// Number of the probe, as events carry it.
    pub index: u16,
    /// Process that it is in.
    pub pid: u32,
    /// Event, as in engine files.
    pub event: String,
    /// Function in source words.
    pub source: String,
    /// Symbol that was found.
    pub symbol: String,
    /// Bytes from the function's start.
    pub site_offset: u64,
    /// How the kernel handles a hit there.
    pub site: SiteKind,
    /// Size of the elements of the probed list in bytes, where there is one and it is known.
    pub stride_bytes: Option<u64>,
}

/// Counters of one probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCounts {
    /// Hits while recording.
    pub hits: u64,
    /// Events that reached user space.
    pub sent: u64,
    /// Events lost as the ring was full.
    pub lost_ring: u64,
    /// Events with a failed read.
    pub faults: u64,
}

/// What a drain brought.
#[derive(Clone, Debug, Default)]
pub struct Drained {
    /// Records that were no events of ours.
    pub malformed: u64,
    /// The first of their errors.
    pub error: Option<DecodeError>,
    /// True if the ring still holds events.
    pub more: bool,
}

/// Programs in the kernel. Dropping it detaches everything.
pub struct Tracer {
    ebpf: Ebpf,
    ring: RingBuf<MapData>,
    probes: Vec<AttachedProbe>,
    links: Vec<UProbeLink>,
    _stats: Option<OwnedFd>,
}

impl Tracer {
    /// Loads the programs. `ring_bytes` is the size of the ring buffer (a power of two, whole pages).
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn load(ring_bytes: u32) -> Result<Self, LoadError> {
        let mut ebpf = EbpfLoader::new()
            .map_max_entries("EVENTS", ring_bytes)
            .load(OBJECT)
            .map_err(|error| classify(&error))?;
        for name in ["follow_plan", "calibrate"] {
            program(&mut ebpf, name)?.load().map_err(|error| classify(&error))?;
        }
        let ring = ebpf
            .take_map("EVENTS")
            .and_then(|map| RingBuf::try_from(map).ok())
            .ok_or_else(|| LoadError::Kernel("the object has no ring buffer".into()))?;
        // The kernel then counts the time that the programs take: shown as the tracer's own cost.
        let stats = enable_stats(Stats::RunTime).ok();
        Ok(Tracer { ebpf, ring, probes: Vec::new(), links: Vec::new(), _stats: stats })
    }

    /// Hands over the kernel programs, for their log.
    pub fn ebpf_mut(&mut self) -> &mut Ebpf {
        &mut self.ebpf
    }

    /// Measures what a hit costs here.
    ///
    /// # Errors
    /// If the tracer cannot probe itself.
    pub fn calibrate(&mut self) -> Result<Calibration, CalibrateError> {
        let program: &mut UProbe = self
            .ebpf
            .program_mut("calibrate")
            .ok_or(CalibrateError::OwnCode)?
            .try_into()
            .map_err(CalibrateError::Attach)?;
        calibrate::calibrate(program)
    }

    /// Attaches every probe of a target. The last one of the request's life comes first, so that what is seen
    /// to begin is seen to end.
    ///
    /// # Errors
    /// The first probe that could not be attached; those before it stay until the tracer is dropped.
    pub fn attach(&mut self, target: &Target) -> Result<(), AttachError> {
        let mut points: Vec<&ProbePoint> = target.points.iter().collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.probe.event));
        for point in points {
            self.attach_point(target, point)?;
        }
        Ok(())
    }

    fn attach_point(&mut self, target: &Target, point: &ProbePoint) -> Result<(), AttachError> {
        let index = self.probes.len();
        if index >= MAX_PLANS {
            return Err(AttachError::TooMany);
        }
        let probe = &point.probe;
        let no_code = || AttachError::Code(probe.source.clone());
        let len =
            if point.symbol.size_bytes == 0 { 512 } else { point.symbol.size_bytes.min(MAX_FUNCTION_BYTES) };
        let code = target.image.bytes(point.symbol.address, len).ok_or_else(no_code)?;
        let site = site::choose(code, &arguments_used(probe)).ok_or_else(no_code)?;
        let stride_bytes = probe.each.as_ref().and_then(|_| element_stride(code));
        let offset = target.image.file_offset(point.symbol.address + site.offset).ok_or_else(no_code)?;
        let plan = lower(probe, stride_bytes)?;
        let kernel = |error: String| AttachError::Kernel { function: probe.source.clone(), error };
        let mut plans: Array<_, PodPlan> = self
            .ebpf
            .map_mut("PLANS")
            .ok_or_else(|| kernel("no map PLANS".into()))
            .and_then(|map| Array::try_from(map).map_err(|error| kernel(error.to_string())))?;
        plans.set(index as u32, PodPlan(plan), 0).map_err(|error| kernel(error.to_string()))?;
        let pid = NonZeroU32::new(target.process.pid).ok_or_else(no_code)?;
        let follow = program(&mut self.ebpf, "follow_plan").map_err(|error| kernel(error.to_string()))?;
        let at = UProbeAttachPoint {
            location: UProbeAttachLocation::AbsoluteOffset(offset),
            cookie: Some(index as u64),
        };
        let id = follow
            .attach(at, &target.object, UProbeScope::OneProcess(pid))
            .map_err(|error| kernel(chain(&error)))?;
        self.links.push(follow.take_link(id).map_err(|error| kernel(chain(&error)))?);
        self.probes.push(AttachedProbe {
            index: index as u16,
            pid: target.process.pid,
            event: catalogue::by_kind(probe.event).name.into(),
            source: probe.source.clone(),
            symbol: point.symbol.name.clone(),
            site_offset: site.offset,
            site: site.kind,
            stride_bytes,
        });
        Ok(())
    }

    /// The attached probes, by index.
    pub fn probes(&self) -> &[AttachedProbe] {
        &self.probes
    }

    /// Switches recording on or off, for all probes at once.
    ///
    /// # Errors
    /// If the map cannot be written.
    pub fn set_recording(&mut self, on: bool) -> Result<(), aya::maps::MapError> {
        let map = self
            .ebpf
            .map_mut("CONTROL")
            .ok_or(aya::maps::MapError::InvalidName { name: "CONTROL".into() })?;
        let mut control: Array<_, PodControl> = Array::try_from(map)?;
        control.set(0, PodControl(Control { recording: u32::from(on) }), 0)
    }

    /// Moves up to `max` events from the ring buffer to `batch`.
    pub fn drain(&mut self, batch: &mut EventBatch, max: usize) -> Drained {
        let mut drained = Drained::default();
        for _ in 0..max {
            let Some(record) = self.ring.next() else { return drained };
            if let Err(error) = decode(&record, batch) {
                drained.malformed += 1;
                drained.error.get_or_insert(error);
            }
        }
        drained.more = true;
        drained
    }

    /// Counters of every probe, by index, summed over the CPUs.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn counts(&self) -> Result<Vec<ProbeCounts>, aya::maps::MapError> {
        let map = self.ebpf.map("STATS").ok_or(aya::maps::MapError::InvalidName { name: "STATS".into() })?;
        let stats: PerCpuArray<_, PodStats> = PerCpuArray::try_from(map)?;
        (0..self.probes.len() as u32)
            .map(|index| {
                let values = stats.get(&index, 0)?;
                let mut sum = ProbeCounts::default();
                for PodStats(ProbeStats { hits, sent, ring_full, faults }) in values.iter() {
                    sum.hits += hits;
                    sum.sent += sent;
                    sum.lost_ring += ring_full;
                    sum.faults += faults;
                }
                Ok(sum)
            })
            .collect()
    }

    /// Time that the probes' program has taken in the target's threads; `None` where the kernel does not count it.
    pub fn program_time(&self) -> Option<Duration> {
        self._stats.as_ref()?;
        self.ebpf.program("follow_plan")?.info().ok().map(|info| info.run_time())
    }

    /// Takes all probes out. Each costs the kernel a grace period, so they go side by side.
    pub fn detach(&mut self) {
        let threads: Vec<_> =
            self.links.drain(..).map(|link| std::thread::spawn(move || drop(link))).collect();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.detach();
    }
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut UProbe, LoadError> {
    let missing = || LoadError::Kernel(format!("the object has no program {name}"));
    ebpf.program_mut(name).ok_or_else(missing)?.try_into().map_err(|_| missing())
}

/// An error with all its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn classify(error: &(dyn std::error::Error + 'static)) -> LoadError {
    let text = chain(error);
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::PermissionDenied
        {
            return LoadError::Denied(text);
        }
        cause = error.source();
    }
    LoadError::Kernel(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_loads_and_calibrates() {
        let mut tracer = Tracer::load(1 << 16).expect("the kernel takes the programs");
        let calibration = tracer.calibrate().expect("calibration");
        // Emulated sites are cheap, stepped ones a trap dearer: on every machine, by a wide margin.
        assert!(calibration.emulated_ns > 0.0 && calibration.single_stepped_ns > calibration.emulated_ns);
        assert!(tracer.probes().is_empty() && tracer.counts().expect("counts").is_empty());
    }
}
