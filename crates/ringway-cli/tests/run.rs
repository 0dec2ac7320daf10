//! `ringway run`: programs that know nothing of Ringway.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use ringway_wire::pcapfile::Writer;
use support::{Ended, run};

/// Runs `ringway run`, whose library cargo does not build for tests.
fn ringway_run(args: &[&str]) -> Ended {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let build = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "ringway-preload", "--package", "ringway-netmap"])
            .args(release)
            .status();
        assert!(build.unwrap().success());
    });
    run(&[&["run"], args].concat())
}

/// A capture of 5 frames of ARP.
fn capture() -> PathBuf {
    let path = support::file("run.pcap");
    let mut writer = Writer::create(&path, 0).unwrap();
    for n in 0..5 {
        let mut frame = [n; 60];
        frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        writer.write(u64::from(n), 60, &frame).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Compiles a program; `None`, said loudly, without a compiler.
fn compile(name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (program, file) = (support::file(name), support::file(&format!("{name}.c")));
    std::fs::write(&file, source).unwrap();
    let cc = Command::new("cc").arg("-o").arg(&program).arg(&file).args(options).output().unwrap();
    assert!(cc.status.success(), "{cc:?}");
    program
}

/// Reads packets until there are no more, from the libpcap that it loads by the name it is given, or links.
const READER: &str = r#"
#include <dlfcn.h>
#include <pcap/pcap.h>
#include <stdio.h>
int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE] = "";
	struct pcap_pkthdr *h;
	const u_char *data;
	void *lib = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	pcap_t *(*open_live)(const char *, int, int, int, char *) = dlsym(lib, "pcap_open_live");
	int (*next_ex)(pcap_t *, struct pcap_pkthdr **, const u_char **) = dlsym(lib, "pcap_next_ex");
	pcap_t *p = open_live(argv[1], 100, 0, 100, err);
	int n = 0;
	if (!p)
		return puts(err), 1;
	while (argc && next_ex(p, &h, &data) == 1)
		n++;
	printf("%d packets\n", n);
	return 0;
}
"#;

#[test]
fn ports_by_name_and_by_map_however_libpcap_is_loaded() {
    let reader = compile("reader", READER, &["-ldl"]);
    let reader = reader.to_str().unwrap();
    let port = format!("pcap:{}@top", capture().display());
    for library in ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"] {
        let named = ringway_run(&["--", reader, &port, library]);
        assert_eq!((named.code, named.stdout.as_str()), (Some(0), "5 packets\n"), "{library}: {named:?}");
        let map = format!("lan0={port}");
        let mapped = ringway_run(&["--map", &map, "-v", reader, "lan0", library]);
        assert_eq!((mapped.code, mapped.stdout.as_str()), (Some(0), "5 packets\n"), "{library}: {mapped:?}");
        let report = mapped.stderr.lines().last().unwrap();
        assert!(report.contains("1 ports opened, 0 refused; 5 packets in"), "{mapped:?}");
        assert!(mapped.stderr.contains("ringway: LD_PRELOAD="), "{mapped:?}");
    }
    let other = ringway_run(&["-v", reader, "no-such-if", "libpcap.so.0.8"]);
    assert!(other.code == Some(1) && other.stdout.contains("No such device exists"), "{other:?}");
    assert!(other.stderr.contains("1 opens passed on"), "{other:?}");
}

#[test]
fn the_program_takes_over() {
    let ended = ringway_run(&["--", "sh", "-c", "echo $0 $RINGWAY_BATCH_US; exit 7", "a b"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(7), "a b\n", ""));
    let ended = ringway_run(&[
        "--batch-us",
        "30",
        "--copy",
        "--",
        "sh",
        "-c",
        "echo $RINGWAY_BATCH_US $RINGWAY_COPY",
    ]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "30 1\n"));
    let status = support::command(&["run", "sh", "-c", "kill -USR1 $$"]).status().unwrap();
    assert_eq!((status.code(), status.signal()), (None, Some(10)), "signals reach the program itself");
}

#[test]
fn what_is_not_wanted_is_not_served() {
    for (only, pcap) in [("pcap", true), ("socket", false), ("netmap", false)] {
        let ended = ringway_run(&["--only", only, "env"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.lines().any(|l| l == format!("RINGWAY_ONLY={only}")), "{ended:?}");
        let report = ringway_run(&["--only", only, "-v", "true"]).stderr;
        assert_eq!(report.contains("ringway: libpcap calls of pid"), pcap, "{report}");
    }
}

/// What `make install` puts where works from there.
#[test]
fn an_installation_is_whole() {
    let (reader, port) =
        (compile("installed", READER, &["-ldl"]), format!("lan0=pcap:{}@top", capture().display()));
    assert_eq!(ringway_run(&["true"]).code, Some(0), "the libraries are built");
    let (command, root) = (PathBuf::from(env!("CARGO_BIN_EXE_ringway")), support::file("root"));
    let built = command.parent().unwrap();
    let link = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../ringway-c/c-library"))
        .args(["link".as_ref(), built.join("libringway_c.a").as_os_str(), built.as_os_str()])
        .output()
        .unwrap();
    assert!(link.status.success(), "`cargo build --workspace` first: {link:?}");
    let pages = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/man-pages"))
        .args([command.as_os_str(), built.join("man").as_os_str()])
        .output()
        .unwrap();
    assert!(pages.status.success(), "{pages:?}");
    let make = Command::new("make")
        .args(["-s", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), "install", "PREFIX=/usr"])
        .arg(format!("DESTDIR={}", root.display()))
        .arg(format!("BUILT={}", built.display()))
        .output()
        .unwrap();
    assert!(make.status.success(), "{make:?}");
    let libraries = root.join("usr/lib/ringway");
    for library in ["libringway_preload.so", "libpcap.so.0.8", "libpcap.so.1", "libpcap.so"] {
        assert!(libraries.join(library).is_file(), "{library}");
        let run = Command::new(root.join("usr/bin/ringway"))
            .args(["run", "--map", &port, "-v", reader.to_str().unwrap(), "lan0", library])
            .env("RINGWAY_DIR", support::directory())
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(
            err.contains(&format!("LD_PRELOAD={}/", libraries.canonicalize().unwrap().display())),
            "{err}"
        );
        assert_eq!(out, "5 packets\n", "{library}: {err}");
    }
    for file in [
        "lib/libringway.so",
        "include/ringway.h",
        "lib/pkgconfig/ringway.pc",
        "include/ringway-netmap/net/netmap_user.h",
        "lib/pkgconfig/ringway-netmap.pc",
    ] {
        assert!(root.join("usr").join(file).is_file(), "{file}");
    }
    let device = Command::new(root.join("usr/bin/ringway"))
        .args(["run", "--", "test", "-c", "/dev/netmap"])
        .env("RINGWAY_DIR", support::directory())
        .output()
        .unwrap();
    assert!(libraries.join("libringway_netmap.so").is_file() && device.status.success(), "{device:?}");
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn programs_of_netmap_find_the_device() {
    let open = ["sh", "-c", "test -c /dev/netmap && exec 3<>/dev/netmap && ! read line <&3"];
    let ended = ringway_run(&[&["-v", "--"], &open[..]].concat());
    assert!(ended.stderr.contains("libringway_netmap.so:"), "before the other one: {ended:?}");
    assert_eq!(ended.code, Some(0), "nothing can be read from it: {ended:?}");
    // With both libraries, as with the one: its own tests say what these programs do.
    for name in ["travels", "waits"] {
        let (own, source) = (concat!(env!("CARGO_MANIFEST_DIR"), "/../ringway-netmap"), format!("{name}.c"));
        let source = std::fs::read_to_string(format!("{own}/tests/c/{source}")).unwrap();
        let include = [format!("-I{own}/include"), format!("-I{own}/tests/c")];
        let program = compile(name, &source, &[&include[0], &include[1], "-lpthread"]);
        let ended = ringway_run(&["--", program.to_str().unwrap()]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{name}: {ended:?}");
    }
    let other = ringway_run(&[&["--only", "pcap", "--"], &open[..]].concat());
    assert_eq!(other.code, Some(1), "{other:?}");
}

#[test]
fn what_cannot_be_served_is_refused_and_explained() {
    let stationary = compile("static", "int main(void) { return 0; }", &["-static"]);
    let ended = ringway_run(&[stationary.to_str().unwrap()]);
    assert!(ended.error(1).contains("it is linked statically"), "{ended:?}");
    let script = support::file("script");
    std::fs::write(&script, format!("#!{}\n", stationary.display())).unwrap();
    assert!(ringway_run(&[script.to_str().unwrap()]).error(1).contains("it may not be executed"));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ringway_run(&[script.to_str().unwrap()]).error(1).contains("it is linked statically"));
    std::fs::write(&script, "just text\n").unwrap();
    assert!(ringway_run(&[script.to_str().unwrap()]).error(1).contains("neither a program"));
    assert!(ringway_run(&["/"]).error(1).contains("it is a directory"));
    assert!(ringway_run(&["no-such-program"]).error(1).contains("no such program in PATH"));
    assert!(ringway_run(&["--map", "eth0", "true"]).error(2).contains("write NAME=PORT"));
    assert!(ringway_run(&["--map", "eth0=bad:name", "true"]).error(2).contains("not a port name"));
    let twice = ringway_run(&["--map", "a=null:", "--map", "a=loop:", "true"]);
    assert!(twice.error(2).contains("gives a to two ports"), "{twice:?}");

    let mut elsewhere = support::command(&["run", "true"]);
    elsewhere.env("RINGWAY_LIB", "/nonexistent");
    assert!(
        support::spawn(&mut elsewhere)
            .end()
            .error(1)
            .contains("libringway_preload.so is not in /nonexistent")
    );
}

#[test]
fn programs_that_gain_rights_are_refused() {
    if !ringway_lab::is_root() {
        return eprintln!("SKIP: only root can give a file to somebody else");
    }
    let program = compile("setuid", "int main(void) { return 0; }", &[]);
    let path = program.to_str().unwrap();
    let set =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    chown(&program, Some(65534), Some(65534)).unwrap();
    set(&program, 0o4755);
    assert!(ringway_run(&[path]).error(1).contains("(setuid)"));
    set(&program, 0o2755);
    assert!(ringway_run(&[path]).error(1).contains("(setgid)"));
    set(&program, 0o755);
    assert_eq!(ringway_run(&[path]).code, Some(0));
}
