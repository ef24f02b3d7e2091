//! What the developer commands are made of; the tests use it too.

#[allow(missing_docs)] // also part of a build script, where private items need no more than they have
pub mod bpf_toolchain;
pub mod command;
pub mod program;
pub mod setup;

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
