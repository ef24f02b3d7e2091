//! A command that did not work: what to say and which exit code.

use std::io;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// For the user; empty if there is nobody to read it.
    pub message: String,
    /// Exit code.
    pub code: u8,
}

impl Failure {
    /// The command failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure { message: message.into(), code: 1 }
    }

    /// The command was called in a way that cannot work.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure { message: message.into(), code: 2 }
    }

    /// Output could not be written.
    pub fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure { message: String::new(), code: 0 }
        } else {
            Failure::failed(format!("cannot write the output: {error}"))
        }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::failed(error.to_string())
    }
}
