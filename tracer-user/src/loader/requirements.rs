//! What the machine must offer, checked one by one and in words.

use std::{fs, path::Path};

use serde::Serialize;

/// One requirement.
#[derive(Clone, Debug, Serialize)]
pub struct Requirement {
    /// What is needed.
    pub name: &'static str,
    /// True if it is there; absent if that could not be told.
    pub met: Option<bool>,
    /// Without it nothing works; else only a part is missing.
    pub essential: bool,
    /// What was found.
    pub found: String,
    /// What to do if it is not met, or what will be missing.
    pub remedy: &'static str,
}

/// Bits of capabilities(7).
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Oldest kernel with attach cookies for uprobes (5.15) and `bpf_loop` (5.17).
const OLDEST_KERNEL: (u32, u32) = (5, 17);

/// Looks at the machine.
pub fn check() -> Vec<Requirement> {
    let capabilities = effective_capabilities();
    let capability = |name, bit: u32, remedy| Requirement {
        name,
        met: capabilities.map(|set| set & (1 << bit) != 0),
        essential: true,
        found: match capabilities {
            Some(set) if set & (1 << bit) != 0 => "held".into(),
            Some(_) => "not held".into(),
            None => "cannot read /proc/self/status".into(),
        },
        remedy,
    };
    vec![
        architecture(),
        kernel(),
        exists(
            "uprobe events",
            "/sys/bus/event_source/devices/uprobe/type",
            "build the kernel with CONFIG_UPROBES, and mount /sys",
        ),
        capability("CAP_BPF", CAP_BPF, "run as root, or grant cap_bpf: it loads the kernel programs"),
        capability(
            "CAP_PERFMON",
            CAP_PERFMON,
            "run as root, or grant cap_perfmon: it reads the target's memory in a probe",
        ),
        capability(
            "CAP_SYS_ADMIN",
            CAP_SYS_ADMIN,
            "run as root, or grant cap_sys_admin: it attaches uprobes and opens /proc/PID/map_files",
        ),
        capability(
            "CAP_SYS_PTRACE",
            CAP_SYS_PTRACE,
            "run as root, or grant cap_sys_ptrace: it reads /proc of another user's process",
        ),
        not_locked_down(),
    ]
}

/// The essential requirements that are not met.
pub fn unmet() -> Vec<Requirement> {
    check()
        .into_iter()
        .filter(|requirement| requirement.essential && requirement.met == Some(false))
        .collect()
}

fn architecture() -> Requirement {
    Requirement {
        name: "x86-64",
        met: Some(cfg!(target_arch = "x86_64")),
        essential: true,
        found: std::env::consts::ARCH.into(),
        remedy: "probe sites are chosen by decoding x86-64 code: use an x86-64 machine",
    }
}

fn kernel() -> Requirement {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    Requirement {
        name: "kernel 5.17 or newer",
        met: version.map(|version| version >= OLDEST_KERNEL),
        essential: true,
        found: release.trim().into(),
        remedy: "uprobe cookies and bpf_loop are needed: use a newer kernel",
    }
}

fn exists(name: &'static str, path: &str, remedy: &'static str) -> Requirement {
    let met = Path::new(path).exists();
    Requirement {
        name,
        met: Some(met),
        essential: true,
        found: if met { "there".into() } else { format!("{path} is not there") },
        remedy,
    }
}

fn not_locked_down() -> Requirement {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").ok();
    let confidential = text.as_ref().map(|text| text.contains("[confidentiality]"));
    Requirement {
        name: "no confidentiality lockdown",
        met: Some(confidential != Some(true)),
        essential: true,
        found: text.map_or_else(|| "no lockdown in this kernel".into(), |text| text.trim().to_string()),
        remedy: "kernel lockdown forbids programs to read memory: boot without lockdown=confidentiality",
    }
}

fn effective_capabilities() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
