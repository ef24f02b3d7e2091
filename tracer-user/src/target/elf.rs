//! The parts of an ELF file that probing needs: symbols, code bytes, file offsets, the build id.

use std::{fs::File, io};

use object::{
    Endianness,
    elf::{self, FileHeader64},
    read::{
        ReadCache, ReadRef as _, StringTable,
        elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _},
    },
};

/// Most symbols with one prefix that are looked at.
const MAX_MATCHES: usize = 4096;
/// Longest build id that is believed, in bytes.
const MAX_BUILD_ID: usize = 64;

/// A file that cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// Not an ELF file, or a damaged one.
    #[error("not a readable 64-bit little-endian ELF file: {0}")]
    Format(#[from] object::Error),
    /// Another machine's code.
    #[error("ELF machine {0} is not supported: only x86-64 (62) is")]
    Machine(u16),
    /// The file could not be read.
    #[error("cannot read the file: {0}")]
    Io(#[from] io::Error),
}

/// A function symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name as in the file.
    pub name: String,
    /// Virtual address.
    pub address: u64,
    /// Size in bytes; 0 if not told.
    pub size_bytes: u64,
}

/// An open ELF file.
pub struct Image {
    cache: ReadCache<File>,
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

type Header = FileHeader64<Endianness>;

impl Image {
    /// Reads an ELF file's headers.
    ///
    /// # Errors
    /// If it is no x86-64 ELF file.
    pub fn open(file: File) -> Result<Self, ElfError> {
        let cache = ReadCache::new(file);
        let header = Header::parse(&cache)?;
        let endian = header.endian()?;
        let machine = header.e_machine(endian);
        if machine != elf::EM_X86_64 {
            return Err(ElfError::Machine(machine));
        }
        let segments = header
            .program_headers(endian, &cache)?
            .iter()
            .filter(|segment| segment.p_type(endian) == elf::PT_LOAD)
            .map(|segment| Segment {
                address: segment.p_vaddr(endian),
                offset: segment.p_offset(endian),
                size: segment.p_filesz(endian),
            })
            .collect();
        Ok(Image { cache, segments })
    }

    /// The file offset of a virtual address, if it is backed by the file.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let segment =
            self.segments.iter().find(|s| address.checked_sub(s.address).is_some_and(|d| d < s.size))?;
        (address - segment.address).checked_add(segment.offset)
    }

    /// Up to `len` bytes at a virtual address; fewer at the end of a segment.
    pub fn bytes(&self, address: u64, len: u64) -> Option<&[u8]> {
        let segment =
            self.segments.iter().find(|s| address.checked_sub(s.address).is_some_and(|d| d < s.size))?;
        let delta = address - segment.address;
        let len = len.min(segment.size - delta);
        (&self.cache).read_bytes_at(segment.offset.checked_add(delta)?, len).ok()
    }

    /// Function symbols whose name starts with `prefix`: of .symtab, else of .dynsym.
    ///
    /// # Errors
    /// If the tables are damaged.
    pub fn functions(&self, prefix: &str) -> Result<Vec<Symbol>, ElfError> {
        let header = Header::parse(&self.cache)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, &self.cache)?;
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let found = self.table(endian, &sections, kind, prefix)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    fn table<'a>(
        &'a self,
        endian: Endianness,
        sections: &object::read::elf::SectionTable<'a, Header, &'a ReadCache<File>>,
        kind: u32,
        prefix: &str,
    ) -> Result<Vec<Symbol>, ElfError> {
        let mut found = Vec::new();
        let Some(section) = sections.iter().find(|s| s.sh_type(endian) == kind) else { return Ok(found) };
        let strings = sections.section(object::SectionIndex(section.sh_link(endian) as usize))?;
        let text = strings.data(endian, &self.cache)?;
        // Most objects hold nothing of interest: one look at the names saves reading the table.
        if memchr::memmem::find(text, prefix.as_bytes()).is_none() {
            return Ok(found);
        }
        let table = StringTable::new(text, 0, text.len() as u64);
        let symbols: &[elf::Sym64<Endianness>] =
            section.data_as_array(endian, &self.cache).map_err(ElfError::Format)?;
        for symbol in symbols {
            if symbol.st_type() != elf::STT_FUNC || symbol.st_value(endian) == 0 {
                continue;
            }
            let Ok(name) = symbol.name(endian, table) else { continue };
            if name.starts_with(prefix.as_bytes()) && found.len() < MAX_MATCHES {
                found.push(Symbol {
                    name: String::from_utf8_lossy(name).into_owned(),
                    address: symbol.st_value(endian),
                    size_bytes: symbol.st_size(endian),
                });
            }
        }
        Ok(found)
    }

    /// The GNU build id, in hex.
    pub fn build_id(&self) -> Option<String> {
        let header = Header::parse(&self.cache).ok()?;
        let endian = header.endian().ok()?;
        for segment in header.program_headers(endian, &self.cache).ok()? {
            let Ok(Some(mut notes)) = segment.notes(endian, &self.cache) else { continue };
            while let Ok(Some(note)) = notes.next() {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                    let id = note.desc();
                    return (id.len() <= MAX_BUILD_ID)
                        .then(|| id.iter().map(|b| format!("{b:02x}")).collect());
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn own() -> Image {
        Image::open(File::open("/proc/self/exe").expect("exe")).expect("own ELF")
    }

    #[test]
    fn finds_own_functions_and_their_bytes() {
        let image = own();
        let symbols = image.functions("main").expect("symbols");
        let main = symbols.iter().find(|s| s.name == "main").expect("main");
        assert!(image.file_offset(main.address).is_some());
        assert!(!image.bytes(main.address, 16).expect("code").is_empty());
        assert!(image.functions("no_such_symbol_anywhere").expect("symbols").is_empty());
        assert!(image.file_offset(u64::MAX).is_none() && image.bytes(u64::MAX, 8).is_none());
    }

    #[test]
    fn garbage_and_truncated_files_are_refused_without_a_panic() {
        let whole = std::fs::read("/proc/self/exe").expect("exe");
        for cut in [0, 1, 4, 16, 63, 64, 65, 100, 1000, 4096] {
            let mut file = tempfile::tempfile().expect("temp file");
            file.write_all(&whole[..cut]).expect("write");
            if let Ok(image) = Image::open(file) {
                let _ = (image.functions("main"), image.build_id(), image.bytes(0x1000, 64));
            }
        }
        let mut seed = 1_u64;
        for _ in 0..2000 {
            let mut bytes = whole[..4096.min(whole.len())].to_vec();
            for _ in 0..16 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (seed >> 33) as usize % bytes.len();
                bytes[at] = (seed >> 20) as u8;
            }
            let mut file = tempfile::tempfile().expect("temp file");
            file.write_all(&bytes).expect("write");
            if let Ok(image) = Image::open(file) {
                let _ = (image.functions("main"), image.build_id(), image.bytes(0x1000, 64));
            }
        }
    }
}
