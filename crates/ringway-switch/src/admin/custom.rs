//! A user's module: its file, read and checked, and what a switch keeps of it. `docs/modules.md` says how to write one.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf, absolute};

use libbpf_rs::{MapCore, MapHandle, OpenObject};

use crate::objects;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::libbpf::quiet;
use ringway_sys::maps;
use ringway_sys::trusted_file::check_owner;
use ringway_sys::{bpffs, dirs, linker};

/// Bytes of a module at most.
const OBJECT_MAX: u64 = 1 << 20;

/// Bytes for the file's name, and its path behind that where there is room, before the object's in the map that keeps them.
const NAME: usize = 256;

/// A user's module.
#[derive(Debug)]
pub(crate) struct Custom {
    /// Name of the file that it came from.
    pub(super) name: String,
    /// The absolute path by which it was read.
    path: Option<PathBuf>,
    object: Vec<u8>,
    /// The maps that it declares, by the name of their pin. All ports share them.
    maps: Vec<(String, MapHandle)>,
}

impl Custom {
    pub(crate) fn read_file(path: &Path, on: &str) -> Result<Self> {
        let io = |e| {
            Error::io(on, format!("reading the module {} failed", path.display()), e)
                .cure("give bridge, hub, or the file of a compiled module")
        };
        // What is no file, a FIFO for example, must not make the process wait.
        let open = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(io)?;
        let is = open.metadata().map_err(io)?;
        if !is.is_file() {
            let what = format!("the module {} is no file", path.display());
            return Err(Error::new(ErrorKind::Unfit, on, what).cure("give the file of a compiled module"));
        }
        // Its code runs with root's rights. A link that leads to it does not matter, since the bytes come from this file.
        check_owner(path, &is, false, on)?;
        let mut object = Vec::new();
        open.take(OBJECT_MAX + 1).read_to_end(&mut object).map_err(io)?;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if object.len() as u64 > OBJECT_MAX || name.len() >= NAME {
            let what = format!("the module {} has more than 1 MiB", path.display());
            return Err(Error::new(ErrorKind::Unfit, on, what).cure("strip it: `llvm-strip -g FILE`"));
        }
        Ok(Self { name, path: absolute(path).ok(), object, maps: Vec::new() })
    }

    /// What a switch keeps of its module, without the maps.
    pub(super) fn read_stored(dir: &Path, on: &str) -> Result<Self> {
        let kept = objects::open_map(&dir.join("object"), on)?;
        let size = kept.value_size() as usize;
        let mem = objects::map_values(&kept, size, false, on)?;
        let mut name = vec![0; size];
        mem.read(0, &mut name);
        let object = name.split_off(NAME.min(size));
        let mut words = name.split(|&b| b == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let name = words.next().unwrap_or_default();
        // An older version kept the name alone.
        let path = words.next().filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Self { name, path, object, maps: Vec::new() })
    }

    pub(crate) fn open(dir: &Path, on: &str) -> Result<Self> {
        let dir = dir.join("module");
        let mut custom = Self::read_stored(&dir, on)?;
        let files = fs::read_dir(dir.join("map"))
            .map_err(|e| Error::io(on, "listing the maps of the module failed", e))?;
        for file in files.flatten() {
            custom.maps.push((
                file.file_name().to_string_lossy().into_owned(),
                objects::open_map(&file.path(), on)?,
            ));
        }
        Ok(custom)
    }

    /// The path of its file, where it is known.
    pub(super) fn into_path(self) -> Option<PathBuf> {
        self.path
    }

    pub(crate) fn pin(&self, dir: &Path, on: &str) -> Result<()> {
        let dir = dir.join("module");
        let io = |e| Error::io(on, format!("pinning in {} failed", dir.display()), e);
        let size = NAME + self.object.len();
        let kept = maps::mapped_array("vale_module", size, 1, on)?;
        let mem = objects::map_values(&kept, size, true, on)?;
        mem.write(0, self.name.as_bytes());
        let path = self.path.as_deref().and_then(Path::to_str).unwrap_or_default();
        let at = self.name.len() + 1;
        if at + path.len() < NAME {
            mem.write(at, path.as_bytes());
        }
        mem.write(NAME, &self.object);
        dirs::make(&dir, 0o700).map_err(io)?;
        bpffs::pin(kept.as_fd(), &dir.join("object")).map_err(io)?;
        dirs::make(&dir.join("map"), 0o700).map_err(io)?;
        for (name, map) in &self.maps {
            bpffs::pin(map.as_fd(), &dir.join("map").join(name)).map_err(io)?;
        }
        Ok(())
    }

    /// The object with the program of a port, joined with the module.
    pub(super) fn link(&self, program: &[u8], on: &str) -> Result<Vec<u8>> {
        quiet();
        linker::link(&[program, &self.object]).map_err(|e| {
            Error::io(on, format!("the module {} can't be linked", self.name), e).with_kind(ErrorKind::Unfit).cure(
                "compile it with `clang -O2 -g -target bpf -mcpu=v3`, without a licence, and give its maps names that the \
                 switch does not use; RINGWAY_LIBBPF_LOG=1 shows more",
            )
        })
    }

    /// Has an object use the maps that the switch keeps for its module.
    pub(crate) fn share_maps(&self, object: &mut OpenObject, own: &[&str]) -> libbpf_rs::Result<()> {
        for mut m in object.maps_mut() {
            let pin = pin_name(&m.name().to_string_lossy(), own);
            if let Some((_, map)) = self.maps.iter().find(|(name, _)| Some(name) == pin.as_ref()) {
                m.reuse_fd(map.as_fd())?;
            }
        }
        Ok(())
    }

    /// Notes the maps that a first load made.
    pub(super) fn note_maps(&mut self, object: &libbpf_rs::Object, own: &[&str]) -> libbpf_rs::Result<()> {
        for m in object.maps() {
            if let Some(pin) = pin_name(&m.name().to_string_lossy(), own) {
                self.maps.push((pin, MapHandle::try_from(&m)?));
            }
        }
        Ok(())
    }
}

/// The file for a map of a module; `None` for maps of the switch (`own`), and for constants, which each program has for itself.
/// Variables are maps too, called by section: a file of bpffs has no dot in its name.
fn pin_name(map: &str, own: &[&str]) -> Option<String> {
    match map.find('.') {
        None => (!own.contains(&map)).then(|| map.to_owned()),
        Some(dot) => {
            let section = &map[dot + 1..];
            let each = section.starts_with("rodata") || section == "kconfig";
            (!each).then(|| format!("~{}", section.replace('.', "-")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    /// Name and bytes of a module, or why it is refused.
    type Read = std::result::Result<(String, Vec<u8>), (ErrorKind, String)>;

    /// Only the file that is opened counts: its owner, its mode, and that it is one.
    #[test]
    fn a_file_that_others_may_write_is_no_module() {
        let dir = std::env::temp_dir().join(format!("ringway-module-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let (file, link, fifo) = (dir.join("a.o"), dir.join("link.o"), dir.join("fifo.o"));
        fs::write(&file, "object").unwrap();
        symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let read = |path, mode| {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            Custom::read_file(path, "vale0")
                .map(|custom| (custom.name, custom.object))
                .map_err(|e| (e.kind(), e.to_string()))
        };
        let (own, by_link) = (read(&file, 0o644), read(&link, 0o600));
        let shared = [0o664, 0o646, 0o666].map(|mode| read(&link, mode));
        let waiting = read(&fifo, 0o644);
        let root = ringway_sys::is_root();
        let of_another = root.then(|| {
            chown(&file, Some(65534), None).unwrap();
            read(&file, 0o644)
        });
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(own, Ok(("a.o".into(), b"object".to_vec())));
        assert_eq!(by_link, Ok(("link.o".into(), b"object".to_vec())));
        let refused = |found: Read, kind, word: &str| {
            let (of, text) = found.unwrap_err();
            assert!(of == kind && text.contains(word), "{of:?} {text}");
        };
        shared.into_iter().for_each(|found| refused(found, ErrorKind::Denied, "`chmod go-w "));
        refused(waiting, ErrorKind::Unfit, "is no file");
        match of_another {
            Some(found) => refused(found, ErrorKind::Denied, "belongs to user 65534"),
            None => eprintln!("SKIP: a file of another user needs root; run these tests with sudo"),
        }
    }

    #[test]
    fn maps_and_variables_are_shared_and_constants_are_not() {
        let pin = |name| pin_name(name, &["fdb"]);
        assert_eq!(pin("seen").as_deref(), Some("seen"));
        assert_eq!(pin("vale.bss").as_deref(), Some("~bss"));
        assert_eq!(pin(".data.mine").as_deref(), Some("~data-mine"));
        assert_eq!(
            [pin("fdb"), pin("vale.rodata"), pin(".rodata.str"), pin(".kconfig")],
            [None, None, None, None]
        );
    }
}
