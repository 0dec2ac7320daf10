//! Captures that are malformed, truncated or damaged: the same answers as the system's libpcap for savefiles, and no crash on a
//! port that replays them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use support::{Ended, Pcap, directory, has};

/// All captures, real and hostile; `None`, said loudly, where there are none.
fn all() -> Option<Vec<PathBuf>> {
    Some([support::captures("real")?, support::captures("hostile")?].concat())
}

/// Runs `tests/c/captures.c` on the files.
fn read(pcap: Pcap<'_>, how: &str, files: &[PathBuf]) -> Ended {
    let program = support::compile("captures");
    let files = files.iter().map(|f| f.to_str().unwrap());
    let args: Vec<_> = [program.to_str().unwrap(), how].into_iter().chain(files).collect();
    support::run(None, pcap, &args)
}

/// Copies that end early, or have wrong bytes in the headers of the file and of its first record.
fn damaged(files: &[PathBuf]) -> Vec<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0); // tests run in parallel
    let dir = directory().join(format!("damaged-{}", NUMBER.fetch_add(1, Relaxed)));
    std::fs::create_dir_all(&dir).unwrap();
    let mut made = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let whole = std::fs::read(file).unwrap();
        let cut = |at: usize| whole[..at.min(whole.len())].to_vec();
        let with = |at: usize, bytes: &[u8]| {
            let mut copy = whole.clone();
            copy.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
            copy
        };
        let copies = [
            cut(whole.len() - 1),
            cut(24 + i % 60),
            cut(i % 24),
            with(i % 4, &[!0]),
            with(16, &(i as u32).to_le_bytes()),
            with(32, &[!0; 4]),
            with(32, &[0, 0, 4, 0]),
            with(32, &[0; 8]),
            with(36, &[0, 0, 0, 0x80]),
        ];
        for copy in copies {
            let path = dir.join(format!("{}.pcap", made.len()));
            std::fs::write(&path, copy).unwrap();
            made.push(path);
        }
    }
    made
}

#[test]
fn savefiles_are_those_of_the_system_library() {
    let Some(all) = all() else { return };
    for files in [&all, &damaged(&all[all.len() - 20..])] {
        let [system, ours] = [Pcap::System, Pcap::Ringway("")].map(|pcap| read(pcap, "offline", files));
        assert_eq!(
            (system.code, system.stdout.lines().count() >= files.len()),
            (Some(0), true),
            "{system:?}"
        );
        assert_eq!((ours.code, &ours.stdout, &ours.stderr), (system.code, &system.stdout, &system.stderr));
    }
}

#[test]
fn tcpdump_decodes_the_same() {
    let Some(hostile) = support::captures("hostile") else { return };
    if !has("tcpdump") {
        return;
    }
    let list = directory().join("hostile");
    let names: Vec<_> = hostile.iter().map(|f| f.to_str().unwrap()).collect();
    std::fs::write(&list, names.join("\n")).unwrap();
    let tcpdump = |pcap, args: &[&str]| {
        support::run(None, pcap, &[&["tcpdump", "-n", "-e", "-vvv", "-XX"], args].concat())
    };
    let [system, ours] =
        [Pcap::System, Pcap::Ringway("")].map(|pcap| tcpdump(pcap, &["-V", list.to_str().unwrap()]));
    assert_eq!((system.code, system.stdout.lines().count() > 5000), (Some(0), true));
    assert!((ours.code, &ours.stdout, &ours.stderr) == (system.code, &system.stdout, &system.stderr));
    for file in damaged(&hostile[..1]) {
        let [system, ours] =
            [Pcap::System, Pcap::Ringway("")].map(|pcap| tcpdump(pcap, &["-r", file.to_str().unwrap()]));
        assert_eq!((ours.code, ours.stdout, ours.stderr), (system.code, system.stdout, system.stderr));
    }
}

/// The same packets match, and a file that libpcap finds damaged is found damaged here too, after the packets before.
#[test]
fn ports_replay_what_is_whole_and_survive_the_rest() {
    let Some(all) = all() else { return };
    let ours = read(Pcap::Ringway(""), "live", &all);
    assert_eq!((ours.code, ours.stderr.as_str()), (Some(0), ""));
    assert!(ours.stdout == read(Pcap::System, "offline", &all).stdout);

    let files = damaged(&all[all.len() - 20..]);
    let (ours, system) = (read(Pcap::Ringway(""), "live", &files), read(Pcap::System, "offline", &files));
    assert_eq!(ours.code, Some(0));
    let failed = |ended: &Ended, file: &Path| ended.stderr.contains(&format!("{}: ", file.display()));
    let unnoticed: Vec<_> = files.iter().filter(|f| failed(&system, f) && !failed(&ours, f)).collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
