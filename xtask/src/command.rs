//! Running other programs: what ran and why it failed are always said.

use std::{
    env,
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// A step of long work, on standard error.
pub fn say(text: &str) {
    eprintln!("==> {text}");
}

/// The command as a person would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs a command with this program's own output.
///
/// # Errors
/// If it cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output.
///
/// # Errors
/// If it cannot be started or fails; its standard error is in the message.
pub fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{}`", shown(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` failed: {}\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program in `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::workspace());
    command
}

/// Installs Debian packages, if this is such a system and we may.
///
/// # Errors
/// Says exactly what to install where it cannot do so itself.
pub fn apt_install(packages: &[&str], purpose: &str) -> Result<()> {
    let wanted = packages.join(" ");
    let Some(apt) = find("apt-get") else {
        bail!("{purpose} needs what Debian calls: {wanted}. Install your system's packages of that kind");
    };
    // SAFETY: no arguments, no memory; it cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        bail!("{purpose} needs packages: run `sudo apt-get install {wanted}`");
    }
    say(&format!("installing {wanted} ({purpose})"));
    let install = |apt: &PathBuf| {
        let mut command = Command::new(apt);
        command.env("DEBIAN_FRONTEND", "noninteractive").args([
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
        ]);
        command.args(packages).stdin(Stdio::null());
        output(&mut command)
    };
    // Package lists may be absent or old on a fresh machine: refresh them only if they turn out to be.
    if install(&apt).is_err() {
        output(Command::new(&apt).args(["update", "-qq"]).stdin(Stdio::null()))?;
        install(&apt).with_context(|| format!("{purpose} needs packages: {wanted}"))?;
    }
    Ok(())
}
