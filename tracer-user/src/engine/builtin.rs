//! Engine files that are part of the program.

use super::{Engine, SpecError, parse};

const FILES: &[(&str, &str)] =
    &[("engines/llama-server.toml", include_str!("../../engines/llama-server.toml"))];

/// Every built-in engine.
///
/// # Errors
/// None in a released program: the files are checked by the tests.
pub fn builtin() -> Result<Vec<Engine>, SpecError> {
    FILES.iter().map(|(origin, text)| parse(text, origin)).collect()
}

/// The built-in engine with this name.
pub fn find_builtin(name: &str) -> Option<Engine> {
    builtin().ok()?.into_iter().find(|engine| engine.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_file_parses_and_lowers() {
        let engines = builtin().expect("built-in engine files");
        assert_eq!(engines.len(), FILES.len());
        for engine in &engines {
            for layout in &engine.layouts {
                for probe in &layout.probes {
                    for stride in [None, Some(2352)] {
                        super::super::lower(probe, stride).expect(&engine.name);
                    }
                }
            }
        }
    }
}
