//! What machine this is.

use std::fs;

use crate::{session_facts::HostFacts, target::escape};

/// Looks at the machine.
pub fn host_facts() -> HostFacts {
    let line = |path: &str| escape(fs::read_to_string(path).unwrap_or_default().trim());
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    HostFacts {
        name: line("/proc/sys/kernel/hostname"),
        kernel: line("/proc/sys/kernel/osrelease"),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        cpu_model: escape(model.trim_start_matches([' ', '\t', ':'])),
    }
}
