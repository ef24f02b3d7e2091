//! The processes to watch: which they are, what code they have mapped, which engine they run.

mod detect;
mod elf;
mod maps;
mod process;

pub use detect::{DetectError, ProbePoint, Target, discover};
pub use elf::{ElfError, Image, Symbol};
pub use maps::{Mapping, mappings};
pub use process::{Process, ProcessError, escape};
