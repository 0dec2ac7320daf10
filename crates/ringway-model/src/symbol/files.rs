//! Names for addresses in binaries and libraries, by their symbols and debug data.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use blazesym::Pid;
use blazesym::symbolize::source::{Elf, Process, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};

use super::qualified::qualified;
use crate::sample::Mapping;

/// Reads files and keeps what it has read.
pub(super) struct Files {
    symbolizer: Symbolizer,
    /// Where this process has the kernel's page of functions, which is the same in all processes.
    vdso: Option<u64>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("vdso", &self.vdso).finish_non_exhaustive()
    }
}

impl Files {
    pub(super) fn new() -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let line = maps.lines().find(|line| line.ends_with("[vdso]"));
        let vdso = line.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
        let symbolizer = Symbolizer::builder().enable_code_info(true).enable_inlined_fns(true).build();
        Self { symbolizer, vdso }
    }

    /// The functions at an address of a mapping of process `pid`, the innermost inlined one first. Empty when nothing has a name for it.
    pub(super) fn find(&self, pid: u32, mapping: &Mapping, address: u64) -> Vec<String> {
        let at = address - mapping.address;
        if mapping.path == "[vdso]" {
            let own = self.vdso.map(|own| own + at);
            return own.map_or_else(Vec::new, |own| {
                self.ask(&Source::Process(Process::new(Pid::Slf)), Input::AbsAddr(own))
            });
        }
        let Some(path) = file_of(pid, mapping) else { return Vec::new() };
        self.ask(&Source::Elf(Elf::new(path)), Input::FileOffset(at + mapping.offset))
    }

    fn ask(&self, source: &Source<'_>, input: Input<u64>) -> Vec<String> {
        // A file that can't be read has no names.
        match self.symbolizer.symbolize_single(source, input) {
            Ok(Symbolized::Sym(sym)) => names(&sym),
            _ => Vec::new(),
        }
    }
}

fn names(sym: &Sym<'_>) -> Vec<String> {
    let whole = |name: &str, at: Option<&CodeInfo<'_>>| {
        qualified(name, at.and_then(|c| c.dir.as_deref()), at.and_then(|c| c.file.to_str()))
    };
    let inlined = sym.inlined.iter().rev().map(|f| whole(&f.name, f.code_info.as_ref()));
    inlined.chain([whole(&sym.name, sym.code_info.as_deref())]).collect()
}

/// The file that was mapped: by its path, if it still is that file, or else by the mapping of the process, if that lives.
fn file_of(pid: u32, mapping: &Mapping) -> Option<PathBuf> {
    let is_it = |path: &Path| fs::metadata(path).is_ok_and(|m| m.is_file() && m.ino() == mapping.inode);
    let path = PathBuf::from(&mapping.path);
    let end = mapping.address + mapping.len;
    let of_process = PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{end:x}", mapping.address));
    let in_root = PathBuf::from(format!("/proc/{pid}/root{}", mapping.path));
    [path, in_root, of_process].into_iter().find(|path| path.is_absolute() && is_it(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Image;

    #[inline(never)]
    fn a_function_of_this_test() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn functions_of_this_binary_have_names() {
        assert_eq!(a_function_of_this_test(), 7);
        let image = Image::of_process(std::process::id());
        let address = a_function_of_this_test as fn() -> u64 as usize as u64;
        let mapping = image.find(address).unwrap();
        let names = Files::new().find(std::process::id(), mapping, address + 1);
        assert!(names.iter().any(|n| n.ends_with("files::tests::a_function_of_this_test")), "{names:?}");
        let deleted = Mapping { inode: mapping.inode + 1, ..mapping.clone() };
        assert!(Files::new().find(u32::MAX, &deleted, address + 1).is_empty());
    }
}
