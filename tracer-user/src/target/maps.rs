//! The file mappings of a process.

use std::{fs, fs::File, io, path::PathBuf};

use super::{ProcessError, escape, process::proc_path};

/// Largest `/proc/PID/maps` that is read.
const MAX_MAPPINGS: usize = 100_000;

/// A mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Code can run in it.
    pub executable: bool,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Device and inode: the identity of the file, whatever its path says.
    pub file: (String, u64),
    /// Path inside the target's mount namespace, as the kernel tells it; for display and lookups by name only.
    pub path: String,
}

impl Mapping {
    /// A path that leads to exactly the mapped file, also across mount namespaces and after it was deleted.
    pub fn map_file(&self, pid: u32) -> PathBuf {
        proc_path(pid, &format!("map_files/{:x}-{:x}", self.start, self.end))
    }

    /// Opens exactly the mapped file.
    ///
    /// # Errors
    /// What the system says; without CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE it refuses.
    pub fn open(&self, pid: u32) -> io::Result<File> {
        File::open(self.map_file(pid))
    }

    /// The path, fit for a terminal.
    pub fn shown_path(&self) -> String {
        escape(&self.path)
    }
}

/// Every file mapping of a process.
///
/// # Errors
/// If `/proc/PID/maps` cannot be read.
pub fn mappings(pid: u32) -> Result<Vec<Mapping>, ProcessError> {
    let path = proc_path(pid, "maps");
    let text = fs::read(&path).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => ProcessError::Gone(pid),
        _ => ProcessError::Read { path: path.display().to_string(), error },
    })?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

fn parse(text: &str) -> Vec<Mapping> {
    text.lines().take(MAX_MAPPINGS).filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let trimmed = rest.trim_start_matches(' ');
        let end = trimmed.find(' ').unwrap_or(trimmed.len());
        let (word, after) = trimmed.split_at(end);
        rest = after;
        word
    };
    let (range, perms, offset, device, inode) = (word(), word(), word(), word(), word());
    let (start, end) = range.split_once('-')?;
    let inode: u64 = inode.parse().ok()?;
    if inode == 0 {
        return None;
    }
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: perms.as_bytes().get(2) == Some(&b'x'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        file: (device.to_string(), inode),
        path: rest.trim_start_matches(' ').to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_paths_with_spaces_and_skips_anonymous_memory() {
        let text = "55d0-55e0 r-xp 00001000 fe:00 1234                       /opt/my engine/a b (deleted)\n\
                    7f00-7f10 rw-p 00000000 00:00 0 \nnonsense\n-- -- -- -- --\n";
        let all = parse(text);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].path, "/opt/my engine/a b (deleted)");
        assert!(all[0].executable);
        assert_eq!((all[0].start, all[0].offset, all[0].file.1), (0x55d0, 0x1000, 1234));
    }

    #[test]
    fn opens_its_own_mapped_executable() {
        let me = std::process::id();
        let maps = mappings(me).expect("maps");
        let own = maps.iter().find(|m| m.executable).expect("an executable mapping");
        assert!(own.map_file(me).ends_with(format!("map_files/{:x}-{:x}", own.start, own.end)));
    }
}
