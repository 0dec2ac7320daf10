//! What a client can open, and what root believes of what it finds.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::client::{NOBODY, owner, passes, switch, words};
use crate::support::members::add;
use crate::support::new_lab;
use crate::support::switch::{Request, bpf, files, open_object};

const OBJ_PIN: i64 = 6;
const OBJ_GET: i64 = 7;

/// Whether this process can open a pinned object, for reading at least.
fn opens(path: &Path) -> bool {
    const RDONLY: u64 = 1 << 3;
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    [0, RDONLY].iter().any(|flags| {
        let fd = bpf(OBJ_GET, &mut [name.as_ptr() as u64, flags << 32]);
        // SAFETY: the call made this descriptor, and nobody else has it.
        fd >= 0 && unsafe { OwnedFd::from_raw_fd(fd as i32) }.as_raw_fd() >= 0
    })
}

/// All files below a directory that this process may look into.
fn below(dir: &Path, all: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => below(&entry.path(), all),
            _ => all.push(entry.path()),
        }
    }
}

/// The child of the next test: opens what it can of a switch, and prints it.
#[test]
fn opens_what_it_can() {
    let Some(words) = words() else { return };
    let dir = files(&words[0], "p1");
    let switch = dir.ancestors().nth(2).unwrap();
    let mut all = Vec::new();
    below(switch, &mut all);
    let mut open: Vec<String> = all
        .iter()
        .filter(|path| opens(path))
        .map(|path| path.strip_prefix(switch).unwrap().display().to_string())
        .collect();
    open.sort();
    let nic = &words[1];
    let own = ["bell0", "look", &format!("nics/{nic}"), "region", "send"].map(|f| format!("port/p1/{f}"));
    let wanted: Vec<String> = std::iter::once("info".to_owned()).chain(own).collect();
    assert_eq!(open, if words[2] == "owner" { wanted } else { vec!["info".to_owned()] });
    for hidden in
        ["ports", "fdb", "vlans", "regions", "states", "bells", &format!("out/{nic}"), "port/p2/region"]
    {
        assert!(!opens(&switch.join(hidden)), "{hidden}");
    }
}

#[test]
fn a_client_opens_its_own_port_and_no_more() {
    let (Some(lab), Some(switch)) = (new_lab(), switch()) else { return };
    lab.ip("link add n1 type veth peer name far").unwrap();
    for link in ["n1", "far"] {
        lab.ip(&format!("link set {link} up")).unwrap();
    }
    let nic = add(&lab, switch.name(), "n1", false).unwrap();
    passes("descriptors::opens_what_it_can", &format!("{} {nic} owner", switch.name()));
    // A port that comes later has the program of the NIC, too.
    switch.add_port("p3", &owner(1000)).unwrap();
    let out = |port: &str| files(switch.name(), port).join("nics").join(nic.to_string());
    assert!(out("p3").exists());
    switch.set_access("p1", &owner(1000)).unwrap();
    passes("descriptors::opens_what_it_can", &format!("{} {nic} stranger", switch.name()));
    assert!(out("p1").exists());
    switch.reload().unwrap();
    let is = fs::metadata(out("p1")).unwrap();
    let (uid, mode) = (std::os::unix::fs::MetadataExt::uid(&is), std::os::unix::fs::MetadataExt::mode(&is));
    assert_eq!((uid, mode & 0o777), (1000, 0o600));
    crate::support::members::inside(&lab, || switch.del_port("n1", false).unwrap());
    assert!(["p1", "p2", "p3"].iter().all(|p| !out(p).exists()), "the program of a NIC that is gone stays");
}

/// The child of the next test: writes numbers into its region that pass for a state, and pins it where it can.
#[test]
fn pins_a_false_state() {
    let Some(words) = words() else { return };
    let dir = files(&words[0], "p1");
    let region = open_object(&dir.join("region"));
    // SAFETY: a new mapping where the kernel likes, for the life of the process.
    let mem = unsafe {
        let (prot, fd) = (libc::PROT_READ | libc::PROT_WRITE, region.as_raw_fd());
        libc::mmap(std::ptr::null_mut(), 1 << 16, prot, libc::MAP_SHARED, fd, 0)
    };
    assert_ne!(mem, libc::MAP_FAILED);
    for word in 0..(1 << 16) / 8 {
        // SAFETY: in the mapping; others may write there too, in whole words.
        unsafe { mem.cast::<u64>().add(word).write_volatile(12_345_678_901) };
    }
    for name in ["state", "use/state", "use/region", "../state", "../p2/state"] {
        let path = std::ffi::CString::new(dir.join(name).to_str().unwrap()).unwrap();
        bpf(OBJ_PIN, &mut [path.as_ptr() as u64, region.as_raw_fd() as u64]);
    }
    // The directory that it locks is its own.
    let path = std::ffi::CString::new(dir.join("use/mine").to_str().unwrap()).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(dir.join("use"), mode).unwrap();
    assert_eq!(bpf(OBJ_PIN, &mut [path.as_ptr() as u64, region.as_raw_fd() as u64]), 0);
}

#[test]
fn counters_and_other_ports_are_out_of_reach() {
    let Some(switch) = switch() else { return };
    let mut other = switch.open("p2");
    let totals = || switch.totals(&switch.stats());
    assert_eq!(totals(), ringway::switch::SwitchTotals::default());
    passes("descriptors::pins_a_false_state", switch.name());
    assert_eq!(totals(), ringway::switch::SwitchTotals::default());
    assert!(switch.stats().iter().all(|s| s.waiting == 0), "what is no position of the ring counts");
    switch.set_access("p1", &owner(NOBODY)).unwrap();
    passes("descriptors::pins_a_false_state", switch.name());
    switch.del_port("p1", false).unwrap();
    assert_eq!(totals(), ringway::switch::SwitchTotals::default());
    // The other port was not ended instead of that one.
    assert!(other.tx[0].push(&[0xff; 60]));
    other.tx[0].sync().unwrap();
    other.rx[0].sync().unwrap();
    assert_eq!(totals().tx.frames_in, 1);
}

/// The ticket of a port that was deleted moves nothing, whatever port has its number.
#[test]
fn a_ticket_outlives_its_port_in_vain() {
    let Some(switch) = switch() else { return };
    let number = switch.find_port("p1").unwrap().number;
    let [send, look] = ["send", "look"].map(|f| open_object(&files(switch.name(), "p1").join(f)));
    let request = Request::of(&look);
    assert_eq!(request.run(&send), 0);
    switch.del_port("p1", false).unwrap();
    let names: Vec<String> = (0..300).map(|i| format!("q{i}")).collect();
    let same = names.iter().any(|name| {
        let found = switch.add_port(name, &owner(1000)).unwrap() == number;
        if !found {
            switch.del_port(name, false).unwrap();
        }
        found
    });
    assert!(same, "the number is never given again");
    assert_ne!(request.run(&send), 0);
    assert_eq!(switch.totals(&switch.stats()), ringway::switch::SwitchTotals::default());
}
