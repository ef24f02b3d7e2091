//! Builds the kernel programs and leaves them as `tracer.bpf.o` in `OUT_DIR`.
//!
//! `TTFTRACE_EBPF_OBJECT` names a prebuilt object to take instead.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, exit},
};

#[path = "../xtask/src/bpf_toolchain.rs"]
#[allow(dead_code, unreachable_pub)]
mod bpf_toolchain;

fn main() {
    if let Err(reason) = build() {
        eprintln!("{reason}");
        exit(1);
    }
}

fn build() -> Result<(), String> {
    for name in ["TTFTRACE_EBPF_OBJECT", "TTFTRACE_EBPF_TOOLCHAIN", "BPF_LINKER"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let out = path_variable("OUT_DIR")?;
    let object = out.join("tracer.bpf.o");
    if let Some(prebuilt) = env::var_os("TTFTRACE_EBPF_OBJECT") {
        let prebuilt = PathBuf::from(prebuilt);
        println!("cargo::rerun-if-changed={}", prebuilt.display());
        return copy(&prebuilt, &object);
    }

    let workspace = path_variable("CARGO_MANIFEST_DIR")?.join("..");
    let kernel = workspace.join("tracer-ebpf");
    for part in ["src", "abi", "walk", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", kernel.join(part).display());
    }
    println!("cargo::rerun-if-changed={}", workspace.join("xtask/src/bpf_toolchain.rs").display());

    let toolchain = bpf_toolchain::find_toolchain()?;
    let linker = bpf_toolchain::find_linker(&workspace).ok_or_else(|| {
        let version = bpf_toolchain::BPF_LINKER_VERSION;
        format!("bpf-linker {version} is needed to build the kernel programs: run `cargo xtask setup`, or name one in BPF_LINKER")
    })?;
    let variable =
        |name: &str| env::var(name).map_err(|_| format!("{name} is not set: run this through cargo"));
    let architecture = variable("CARGO_CFG_TARGET_ARCH")?;
    let target = match variable("CARGO_CFG_TARGET_ENDIAN")?.as_str() {
        "big" => "bpfeb-unknown-none",
        _ => "bpfel-unknown-none",
    };
    let build_folder = out.join("kernel");

    let mut cargo = Command::new(&toolchain.cargo);
    // The outer cargo's compiler, flags and wrappers are for the host: none may reach the inner build.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let kept = ["CARGO_HOME", "RUSTUP_HOME"].contains(&text.as_ref())
            || ["CARGO_NET", "CARGO_HTTP", "CARGO_REGISTR", "CARGO_SOURCE"]
                .iter()
                .any(|prefix| text.starts_with(prefix));
        if !kept && (text.starts_with("CARGO") || text.starts_with("RUST")) {
            cargo.env_remove(&name);
        }
    }
    let linker_variable = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    let flags = [
        format!("--cfg=bpf_target_arch=\"{architecture}\""),
        "--check-cfg=cfg(bpf_target_arch,values(any()))".to_owned(),
        "-Cdebuginfo=2".to_owned(),
        "-Clink-arg=--btf".to_owned(),
    ];
    cargo
        .current_dir(&kernel)
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &build_folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env(linker_variable, &linker)
        .args(["build", "--release", "--locked", "-Zbuild-std=core", "--target", target]);
    let output =
        cargo.output().map_err(|error| format!("cannot run {}: {error}", toolchain.cargo.display()))?;
    if !output.status.success() {
        return Err(format!(
            "building the kernel programs failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    copy(&build_folder.join(target).join("release/tracer"), &object)
}

fn path_variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set: run this through cargo"))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}
