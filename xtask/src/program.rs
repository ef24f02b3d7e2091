//! Building `ttftrace` and finding what was built.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::command::{cargo, output, run};

/// Which build of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// For tests: overflow checks and debug assertions.
    Dev,
    /// As users run it.
    Release,
}

/// Builds `ttftrace` and returns the program's path.
///
/// # Errors
/// If the build fails.
pub fn build(profile: Profile) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--locked", "--package", "ttftrace", "--bin", "ttftrace"]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    run(&mut command)?;
    let folder = if profile == Profile::Release { "release" } else { "debug" };
    Ok(target_folder()?.join(folder).join("ttftrace"))
}

/// Where cargo puts what it builds.
fn target_folder() -> Result<PathBuf> {
    let text = output(cargo().args(["metadata", "--format-version=1", "--no-deps", "--offline"]))?;
    let metadata: Value = serde_json::from_str(&text).context("reading cargo's metadata")?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .context("cargo's metadata names no target directory")
}
