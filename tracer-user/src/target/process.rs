//! What `/proc` says of a process.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Most processes of one tree that are looked at.
const MAX_TREE: usize = 4096;
/// Longest piece of text from a target that is shown.
const MAX_SHOWN: usize = 256;

/// A process that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// No such process.
    #[error("no process has PID {0}: check the number (ps -ef), and that it is seen from this PID namespace")]
    Gone(u32),
    /// It ended but its parent has not taken notice.
    #[error("process {0} has ended (a zombie): give the PID of a running server")]
    Zombie(u32),
    /// A kernel thread.
    #[error("process {0} is a kernel thread: give the PID of the server")]
    KernelThread(u32),
    /// `/proc` could not be read.
    #[error("cannot read {path}: {error}; run as root, or with CAP_SYS_PTRACE for another user's process")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        error: io::Error,
    },
}

/// A process, as it was when looked at.
#[derive(Clone, Debug)]
pub struct Process {
    /// PID in this process's PID namespace.
    pub pid: u32,
    /// Parent.
    pub parent: u32,
    /// Name of the main thread, escaped.
    pub comm: String,
    /// Start time in clock ticks after boot: with the PID, it names the process for good.
    pub start_ticks: u64,
    /// PID inside the innermost namespace that it lives in.
    pub namespace_pid: u32,
    /// True if it has another root or mount namespace than the tracer.
    pub other_mounts: bool,
}

/// Text from a target, made fit for a terminal: control characters escaped, length bounded, cuts marked.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= MAX_SHOWN {
            out.push('…');
            break;
        }
        let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() || hidden {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

pub(super) fn proc_path(pid: u32, rest: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(rest)
}

impl Process {
    /// Looks at a process.
    ///
    /// # Errors
    /// A [`ProcessError`] that says why it cannot be a target.
    pub fn look(pid: u32) -> Result<Self, ProcessError> {
        let stat_path = proc_path(pid, "stat");
        let stat = match fs::read(&stat_path) {
            Ok(stat) => String::from_utf8_lossy(&stat).into_owned(),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => {
                return Err(ProcessError::Gone(pid));
            }
            Err(error) => return Err(ProcessError::Read { path: stat_path.display().to_string(), error }),
        };
        let (comm, fields) = parse_stat(&stat).ok_or(ProcessError::Gone(pid))?;
        let field = |n: usize| fields.get(n - 3).copied().unwrap_or_default();
        if matches!(field(3), "Z" | "X") {
            return Err(ProcessError::Zombie(pid));
        }
        let flags: u64 = field(9).parse().unwrap_or(0);
        const PF_KTHREAD: u64 = 0x0020_0000;
        if flags & PF_KTHREAD != 0 {
            return Err(ProcessError::KernelThread(pid));
        }
        Ok(Process {
            pid,
            parent: field(4).parse().unwrap_or(0),
            comm: escape(comm),
            start_ticks: field(22).parse().unwrap_or(0),
            namespace_pid: namespace_pid(pid).unwrap_or(pid),
            other_mounts: other_mounts(pid),
        })
    }

    /// True while this very process runs (not another one that got its PID).
    pub fn is_alive(&self) -> bool {
        Process::look(self.pid).is_ok_and(|now| now.start_ticks == self.start_ticks)
    }

    /// The process and all below it, parents first.
    ///
    /// # Errors
    /// If the process itself cannot be looked at; those below it may come and go.
    pub fn tree(pid: u32) -> Result<Vec<Process>, ProcessError> {
        let root = Process::look(pid)?;
        let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if let Ok(process) = Process::look(pid) {
                children.entry(process.parent).or_default().push(process);
            }
        }
        let mut tree = vec![root];
        let mut next = 0;
        while next < tree.len() && tree.len() < MAX_TREE {
            tree.extend(children.remove(&tree[next].pid).unwrap_or_default());
            next += 1;
        }
        Ok(tree)
    }
}

/// The name and the fields after it, the first of which is field 3 of proc(5).
fn parse_stat(stat: &str) -> Option<(&str, Vec<&str>)> {
    let open = stat.find('(')?;
    let close = stat.rfind(')')?;
    Some((stat.get(open + 1..close)?, stat.get(close + 1..)?.split_ascii_whitespace().collect()))
}

fn namespace_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(proc_path(pid, "status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

fn other_mounts(pid: u32) -> bool {
    let differs = |what: &str| {
        let (theirs, ours) = (fs::metadata(proc_path(pid, what)), fs::metadata(format!("/proc/self/{what}")));
        match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => {
                use std::os::unix::fs::MetadataExt as _;
                (theirs.dev(), theirs.ino()) != (ours.dev(), ours.ino())
            }
            _ => false,
        }
    };
    differs("ns/mnt") || differs("root/.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_confuse_the_parser() {
        let (comm, fields) = parse_stat("12 (a) b) (c) S 1 2 3").expect("parses");
        assert_eq!(comm, "a) b) (c");
        assert_eq!(fields, ["S", "1", "2", "3"]);
        assert!(parse_stat("").is_none() && parse_stat(")(").is_none());
    }

    #[test]
    fn looks_at_itself_and_refuses_the_impossible() {
        let me = Process::look(std::process::id()).expect("this process");
        assert!(me.is_alive() && me.start_ticks > 0);
        assert!(matches!(Process::look(u32::MAX), Err(ProcessError::Gone(_))));
    }

    #[test]
    fn hostile_text_is_escaped_and_cut() {
        let shown = escape("a\u{1b}[31m\n\u{202e}b");
        assert_eq!(shown, "a\\u{1b}[31m\\u{a}\\u{202e}b");
        assert!(escape(&"x".repeat(100_000)).len() < 300);
    }
}
