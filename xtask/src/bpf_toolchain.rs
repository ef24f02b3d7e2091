//! Which Rust toolchain and which linker build the kernel programs. Shared by `cargo xtask setup` and
//! `tracer-user/build.rs`, so that both always agree; uses the standard library only.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Version of bpf-linker that is known to work.
pub const BPF_LINKER_VERSION: &str = "0.13.0";

/// A cargo and a rustc whose sysroot has the source of `core`.
pub struct Toolchain {
    /// The cargo to call.
    pub cargo: PathBuf,
    /// The rustc that it must use.
    pub rustc: PathBuf,
}

/// What to do where no toolchain can build the kernel programs.
pub const NO_TOOLCHAIN: &str = "no Rust toolchain here can build the kernel programs: it needs the standard library's \
source of exactly its own version. Run `cargo xtask setup`, or one of:\n  \
rustup toolchain install nightly --component rust-src\n  \
apt-get install rustc-web cargo-web rust-web-src      (Debian)\n\
or name a toolchain (its rustup name, or the folder of its cargo and rustc) in TTFTRACE_EBPF_TOOLCHAIN, \
or a prebuilt object in TTFTRACE_EBPF_OBJECT";

/// The toolchain to build the kernel programs with: the one that `TTFTRACE_EBPF_TOOLCHAIN` names, else rustup's nightly
/// if it has its source, else the toolchain of this build, else whatever pair stands in `PATH` or `/usr/bin`.
pub fn find_toolchain() -> Result<Toolchain, String> {
    if let Ok(name) = env::var("TTFTRACE_EBPF_TOOLCHAIN") {
        let named = if name.contains('/') { pair(Path::new(&name)) } else { rustup(&name) };
        return named.ok_or_else(|| {
            format!("TTFTRACE_EBPF_TOOLCHAIN={name}: no cargo and rustc with rust-src there")
        });
    }
    rustup("nightly")
        .or_else(|| pair(Path::new(&env::var_os("RUSTC")?).parent()?))
        .or_else(|| rustup("stable"))
        .or_else(|| env::split_paths(&env::var_os("PATH")?).find_map(|folder| pair(&folder)))
        .or_else(|| pair(Path::new("/usr/bin")))
        .ok_or_else(|| NO_TOOLCHAIN.to_owned())
}

/// The linker: `BPF_LINKER`, else the one that `cargo xtask setup` built, else the one in `PATH`.
pub fn find_linker(workspace: &Path) -> Option<PathBuf> {
    if let Some(named) = env::var_os("BPF_LINKER") {
        return Some(PathBuf::from(named));
    }
    let built = tools(workspace).join("bin/bpf-linker");
    if built.exists() {
        return Some(built);
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join("bpf-linker")).find(|path| path.exists())
}

/// Where `cargo xtask setup` puts the linker (`bin/bpf-linker` below it).
pub fn tools(workspace: &Path) -> PathBuf {
    workspace.join("target/tools")
}

/// The sysroot of a compiler, if the source of its own `core` is there.
pub fn sysroot_with_source(rustc: &Path) -> Option<PathBuf> {
    let sysroot = PathBuf::from(output(Command::new(rustc).args(["--print", "sysroot"]))?);
    sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs").exists().then_some(sysroot)
}

fn rustup(name: &str) -> Option<Toolchain> {
    let which = |tool: &str| {
        output(Command::new("rustup").args(["which", "--toolchain", name, tool])).map(PathBuf::from)
    };
    let toolchain = Toolchain { cargo: which("cargo")?, rustc: which("rustc")? };
    sysroot_with_source(&toolchain.rustc)?;
    Some(toolchain)
}

fn pair(folder: &Path) -> Option<Toolchain> {
    let toolchain = Toolchain { cargo: folder.join("cargo"), rustc: folder.join("rustc") };
    if !toolchain.cargo.exists() {
        return None;
    }
    sysroot_with_source(&toolchain.rustc)?;
    Some(toolchain)
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
