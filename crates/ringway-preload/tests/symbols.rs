//! The library has the name and the symbols of the system's.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::process::Command;

fn output(program: &str, args: &[&str]) -> String {
    let done = Command::new(program).args(args).output().unwrap();
    assert!(done.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Names that a library defines for others, and whether each is data.
fn defined(library: &str) -> BTreeSet<(String, bool)> {
    let text = output("nm", &["-D", "--defined-only", library]);
    let symbol = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next().unwrap();
        (words.next().unwrap().to_owned(), kind != "T")
    };
    text.lines().map(symbol).collect()
}

fn libc() -> String {
    format!("/lib/{}-linux-gnu/libc.so.6", std::env::consts::ARCH)
}

fn system() -> String {
    format!("/usr/lib/{}-linux-gnu/libpcap.so.0.8", std::env::consts::ARCH)
}

#[test]
fn the_symbols_of_the_system_library_and_some_of_libc() {
    let theirs = defined(&system());
    assert_eq!(theirs.len(), 96);
    let ours = defined(support::library().to_str().unwrap());
    assert_eq!(theirs.difference(&ours).count(), 0, "{theirs:?}");
    let libc = output("nm", &["-D", "--defined-only", "--without-symbol-versions", &libc()]);
    let of_libc = |name: &str| libc.lines().any(|l| l.split_whitespace().last() == Some(name));
    let for_netmap = ["ringway_preload_enter", "ringway_preload_leave"];
    let known = |name: &str| of_libc(name) || for_netmap.contains(&name);
    let others: Vec<_> = ours.difference(&theirs).filter(|(name, data)| *data || !known(name)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn its_soname_and_no_libpcap_linked() {
    let text = output("readelf", &["-d", support::library().to_str().unwrap()]);
    assert!(text.contains("Library soname: [libpcap.so.0.8]"), "{text}");
    assert!(!text.lines().any(|l| l.contains("(NEEDED)") && l.contains("pcap")), "{text}");
}

#[test]
fn data_is_that_of_the_system_library() {
    let program = support::compile("data");
    let program = [program.to_str().unwrap()];
    let system = support::run(None, support::Pcap::System, &program);
    let ours = support::run(None, support::Pcap::Ringway(""), &program);
    assert!(system.stdout.contains("arp 806") && system.code == Some(0), "{system:?}");
    assert_eq!(ours.stdout, system.stdout);
}

/// Also when RINGWAY_LIBPCAP names the library itself.
#[test]
fn without_a_system_library_it_says_so() {
    let program = support::compile("filters");
    let list = support::directory().join("one-expression");
    std::fs::write(&list, "tcp\n").unwrap();
    for path in ["/nonexistent", support::library().to_str().unwrap()] {
        for device in ["no-such-device", "null:"] {
            let args = [program.to_str().unwrap(), device, list.to_str().unwrap()];
            let child = support::command(None, support::Pcap::Ringway(""), &args)
                .env("RINGWAY_LIBPCAP", path)
                .spawn();
            let ended = support::end(child.unwrap());
            assert!(
                ended.stdout.contains("the system's libpcap was not found; install"),
                "{path} {device}: {ended:?}"
            );
        }
    }
}
