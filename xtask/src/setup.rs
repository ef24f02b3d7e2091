//! `cargo xtask setup`: what the build of the kernel programs needs.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::{
    bpf_toolchain::{self, BPF_LINKER_VERSION, NO_TOOLCHAIN, Toolchain},
    command::{apt_install, cargo, find, output, run, say},
    workspace,
};

/// Debian's compiler with its own source; any Rust there is of one version with its LLVM.
const DEBIAN_TOOLCHAIN: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Brings the toolchain and the linker for the kernel programs. Does nothing where all is there.
///
/// # Errors
/// Says what is missing and how to get it, where it cannot be brought here.
pub fn run_setup() -> Result<()> {
    if std::env::var_os("TTFTRACE_EBPF_OBJECT").is_some() {
        say("TTFTRACE_EBPF_OBJECT names a prebuilt object: no BPF toolchain needed");
        return Ok(());
    }
    if find("cc").is_none() {
        apt_install(&["gcc", "libc6-dev"], "compiling zstd")?;
    }
    let toolchain = toolchain()?;
    linker(&toolchain)
}

fn toolchain() -> Result<Toolchain> {
    if let Ok(found) = bpf_toolchain::find_toolchain() {
        return Ok(found);
    }
    apt_install(&DEBIAN_TOOLCHAIN, "building the kernel programs").context(NO_TOOLCHAIN)?;
    bpf_toolchain::find_toolchain().map_err(|reason| anyhow!(reason))
}

fn linker(toolchain: &Toolchain) -> Result<()> {
    if let Some(found) = bpf_toolchain::find_linker(&workspace()) {
        match output(Command::new(&found).arg("--version")) {
            Ok(version) if version.trim().ends_with(BPF_LINKER_VERSION) => return Ok(()),
            Ok(version) if std::env::var_os("BPF_LINKER").is_some() => {
                say(&format!("BPF_LINKER is {}, known to work is {BPF_LINKER_VERSION}", version.trim()));
                return Ok(());
            }
            Ok(_) | Err(_) => {}
        }
    }
    let library = llvm_library(&toolchain.rustc)?;
    let major = llvm_major(&library)
        .with_context(|| format!("{} does not tell its LLVM version", library.display()))?;
    let tools = bpf_toolchain::tools(&workspace());
    // bpf-linker must use the very LLVM that wrote the bitcode; this folder stands for an LLVM installation.
    let prefix = tools.join("llvm");
    let folder = prefix.join("lib");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let own_name = library.file_name().context("the LLVM library has no file name")?;
    for name in [Path::new("libLLVM.so"), Path::new(own_name)] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(&library, &link).with_context(|| format!("cannot link {}", link.display()))?;
    }
    say(&format!("building bpf-linker {BPF_LINKER_VERSION} (about a minute)"));
    let mut install = cargo();
    install
        .args(["install", "bpf-linker", "--quiet", "--locked", "--force", "--version", BPF_LINKER_VERSION])
        .args(["--no-default-features", "--features", &format!("llvm-{major}")])
        .arg("--root")
        .arg(&tools)
        .env("LLVM_PREFIX", &prefix);
    run(&mut install)
}

/// The LLVM library that a compiler is linked to.
fn llvm_library(rustc: &Path) -> Result<PathBuf> {
    let listing = output(Command::new("ldd").arg(rustc))?;
    for line in listing.lines() {
        let Some((name, place)) = line.split_once("=>") else { continue };
        let path = place.trim().split(" (").next().unwrap_or_default();
        if name.trim().starts_with("libLLVM") && !path.is_empty() {
            return fs::canonicalize(path).with_context(|| format!("cannot find {path}"));
        }
    }
    bail!(
        "{} is not linked to a shared libLLVM, so bpf-linker cannot share it; name a linker in BPF_LINKER",
        rustc.display()
    )
}

/// 22 of `libLLVM.so.22.1-rust-1.97.0-nightly`.
fn llvm_major(library: &Path) -> Option<u32> {
    let name = library.file_name()?.to_str()?;
    let version = name.strip_prefix("libLLVM.so.").or_else(|| name.strip_prefix("libLLVM-"))?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_llvm_version_is_in_the_library_name() {
        let major = |name: &str| llvm_major(Path::new(name));
        assert_eq!(major("/usr/lib/libLLVM.so.22.1"), Some(22));
        assert_eq!(major("libLLVM.so.22.1-rust-1.97.0-nightly"), Some(22));
        assert_eq!(major("libLLVM-14.so.1"), Some(14));
        assert_eq!(major("libz.so.1"), None);
    }
}
