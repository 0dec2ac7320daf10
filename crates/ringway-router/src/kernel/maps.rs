//! The maps of a router: six that stay as long as it lives, and six of one control process.

use std::fs;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::path::Path;

use libbpf_rs::{MapCore, MapHandle, MapType};
use libbpf_sys::BPF_F_MMAPABLE;
use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::Adjacencies;

use super::layout::{self, BUDGET, COUNTS, MEMBERS, TALLY};
use super::spec::Spec;
use crate::sys::Mapping;

/// libbpf's error, with a cure.
pub(super) fn refused(on: &str, what: &str, e: &libbpf_rs::Error) -> Error {
    let root = rustix::process::geteuid().is_root();
    let (kind, cure) = match e.kind() {
        // The verifier refuses with the same number as the lack of rights.
        libbpf_rs::ErrorKind::PermissionDenied if root => (
            ErrorKind::Unsupported,
            "the kernel's verifier or a security module refuses it; RINGWAY_LIBBPF_LOG=1 shows what the kernel says",
        ),
        libbpf_rs::ErrorKind::PermissionDenied => (ErrorKind::Denied, "run as root"),
        libbpf_rs::ErrorKind::NotFound => {
            (ErrorKind::NotFound, "`ringway switch list` and `ringway router list` show what there is")
        }
        libbpf_rs::ErrorKind::OutOfMemory => {
            (ErrorKind::Io, "make smaller tables, or give the machine more memory")
        }
        _ => (ErrorKind::Io, ringway::program::cure()),
    };
    Error::new(kind, on, format!("{what} failed: {e}")).cure(cure)
}

/// Keeps libbpf from printing to stderr: its errors reach the user as this crate's.
pub(super) fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if ringway::environment("RINGWAY_LIBBPF_LOG").is_none() {
            libbpf_rs::set_print(None);
        }
    });
}

/// Maps by name: files in a directory, and maps of the eBPF object.
#[derive(Debug)]
pub(super) struct Maps {
    maps: [(&'static str, MapHandle); 6],
}

/// The maps that stay as long as the router lives.
#[derive(Debug)]
pub(super) struct Shared(Maps);

/// The maps of one control process.
#[derive(Debug)]
pub(super) struct Tables(Maps);

impl Deref for Shared {
    type Target = Maps;
    fn deref(&self) -> &Maps {
        &self.0
    }
}

impl Deref for Tables {
    type Target = Maps;
    fn deref(&self) -> &Maps {
        &self.0
    }
}

/// Their names. The eBPF object has all of them but `router`.
const SHARED: [&str; 6] = ["router", "members", "budgets", "counts", "devs", "nics"];
const TABLES: [&str; 6] = ["control", "fib4", "fib6", "hops", "tally", "groups"];

/// CPU numbers that counters are kept for: a power of two.
pub(super) fn cpus(on: &str) -> Result<usize> {
    let cpus =
        libbpf_rs::num_possible_cpus().map_err(|e| refused(on, "asking for the number of CPUs", &e))?;
    let cpus = cpus.next_power_of_two();
    if cpus > 256 {
        let what = format!("the machine may have {cpus} CPUs, counters are for 256");
        return Err(Error::new(ErrorKind::Unsupported, on, what).cure("boot with nr_cpus=256"));
    }
    Ok(cpus)
}

impl Shared {
    /// Makes them.
    pub(super) fn new(cpus: usize, on: &str) -> Result<Self> {
        let entries = MEMBERS as u32;
        let of = |name: &'static str| {
            let map = match name {
                "router" => array(name, layout::info::SIZE, on),
                "members" => array(name, MEMBERS * layout::member::SIZE, on),
                "budgets" => array(name, MEMBERS * BUDGET, on),
                "counts" => array(name, cpus * MEMBERS * COUNTS, on),
                "devs" => create(name, MapType::DevmapHash, (4, 4), entries, 0, on),
                _ => create(name, MapType::Hash, (8, 4), entries, libbpf_sys::BPF_F_RDONLY_PROG, on),
            };
            Ok::<_, Error>((name, map?))
        };
        let [a, b, c, d, e, f] = SHARED.map(of);
        Ok(Self(Maps { maps: [a?, b?, c?, d?, e?, f?] }))
    }

    pub(super) fn open(dir: &Path, on: &str) -> Result<Self> {
        Maps::open(dir, SHARED, on).map(Self)
    }
}

impl Tables {
    /// Makes tables without routes.
    pub(super) fn new(spec: &Spec, cpus: usize, on: &str) -> Result<Self> {
        let of = |name: &'static str| {
            let size = match name {
                "control" => layout::control::SIZE,
                "fib4" => spec.layout4().size,
                "fib6" => spec.layout6().size,
                "hops" => Adjacencies::SIZE,
                "tally" => cpus * TALLY,
                _ => spec.groups as usize * 512,
            };
            Ok::<_, Error>((name, array(name, size, on)?))
        };
        let [a, b, c, d, e, f] = TABLES.map(of);
        Ok(Self(Maps { maps: [a?, b?, c?, d?, e?, f?] }))
    }

    pub(super) fn open(dir: &Path, on: &str) -> Result<Self> {
        Maps::open(dir, TABLES, on).map(Self)
    }
}

impl Maps {
    fn open(dir: &Path, names: [&'static str; 6], on: &str) -> Result<Self> {
        quiet();
        let of = |name: &'static str| {
            let map = MapHandle::from_pinned_path(dir.join(name));
            map.map(|map| (name, map))
                .map_err(|e| refused(on, &format!("opening {}", dir.join(name).display()), &e))
        };
        let [a, b, c, d, e, f] = names.map(of);
        Ok(Self { maps: [a?, b?, c?, d?, e?, f?] })
    }

    /// Pins them in a directory, for root alone.
    pub(super) fn pin(&self, dir: &Path, on: &str) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        for (name, map) in self.iter() {
            let at = dir.join(name);
            let io = |e| Error::io(on, format!("pinning {} failed", at.display()), e);
            crate::sys::pin(map.as_fd(), &at).map_err(io)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(0o600)).map_err(io)?;
        }
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &MapHandle)> {
        self.maps.iter().map(|(name, map)| (*name, map))
    }

    /// # Panics
    /// When there is no map of that name.
    pub(super) fn get(&self, name: &str) -> &MapHandle {
        let found = self.iter().find(|(n, _)| *n == name);
        found.map(|(_, map)| map).expect("names are those in this file")
    }

    /// The value of an array.
    pub(super) fn mapping(&self, name: &str, on: &str) -> Result<Mapping> {
        let map = self.get(name);
        Mapping::new(map.as_fd(), map.value_size() as usize)
            .map_err(|e| Error::io(on, format!("mapping {name} failed"), e))
    }
}

/// A mapped array of one value.
pub(super) fn array(name: &str, size: usize, on: &str) -> Result<MapHandle> {
    create(name, MapType::Array, (4, size), 1, BPF_F_MMAPABLE, on)
}

fn create(
    name: &str,
    kind: MapType,
    (key, value): (u32, usize),
    entries: u32,
    flags: u32,
    on: &str,
) -> Result<MapHandle> {
    quiet();
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
        map_flags: flags,
        ..Default::default()
    };
    MapHandle::create(kind, Some(format!("rt_{name}")), key, value as u32, entries, &opts)
        .map_err(|e| refused(on, &format!("making the map {name} of {value} bytes"), &e))
}
