//! `libringway_netmap.so` before libc: programs in C that use its device, and programs that know nothing of it.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of the libraries as the sources are now: cargo does not build them for tests.
fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let build = ["build", "--quiet", "--package", "ringway-netmap"];
        let built = Command::new(env!("CARGO")).args(build).args(release).status().unwrap();
        assert!(built.success());
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        deps.parent().unwrap().to_owned()
    })
}

/// A program with the library under it.
fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env("LD_PRELOAD", libraries().join("libringway_netmap.so")).env("LC_ALL", "C");
    command
}

fn succeeds(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{command:?}: {}: {said}", done.status);
    done
}

/// Compiles a program of `tests/c`, once for each set of options.
fn compile(name: &str, options: &[&str]) -> PathBuf {
    let folder = env!("CARGO_MANIFEST_DIR");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "netmap-{name}-{}-{}",
        options.len(),
        std::process::id()
    ));
    let cc = Command::new("cc")
        .args(["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(format!("{folder}/include"))
        .args(options)
        .args(["-o".as_ref(), program.as_os_str()])
        .arg(format!("{folder}/tests/c/{name}.c"))
        .args(["-lpthread", "-ldl"])
        .output()
        .unwrap();
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    program
}

/// With the names that programs get by default, by flags for large files, and by checks of buffer sizes.
fn runs(name: &str) {
    let large = ["-D_FILE_OFFSET_BITS=64", "-O1"];
    let checked = ["-D_FILE_OFFSET_BITS=64", "-D_FORTIFY_SOURCE=2", "-O2"];
    for options in [&[][..], &large, &checked] {
        let program = compile(name, options);
        succeeds(&mut command(&program));
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn the_device_opens_under_every_name() {
    runs("opens");
}

#[test]
fn a_descriptor_is_known_however_it_came() {
    runs("travels");
}

#[test]
fn polls_mix_it_with_ordinary_descriptors() {
    runs("waits");
}

#[test]
fn memory_is_looked_at_where_a_filter_forbids_the_usual_way() {
    runs("confined");
}

/// The library defines functions of libc, and nothing else.
#[test]
fn only_names_of_libc_are_visible() {
    let names = |library: &Path| {
        let done = Command::new("nm")
            .args(["-D", "--defined-only", "--without-symbol-versions"])
            .arg(library)
            .output();
        let text = String::from_utf8(done.unwrap().stdout).unwrap();
        text.lines().filter_map(|l| l.split_whitespace().nth(2)).map(str::to_owned).collect::<Vec<_>>()
    };
    let libc = names(format!("/lib/{}-linux-gnu/libc.so.6", std::env::consts::ARCH).as_ref());
    let ours = names(&libraries().join("libringway_netmap.so"));
    let others: Vec<_> = ours.iter().filter(|name| !libc.contains(name)).collect();
    assert!(ours.len() > 50 && others.is_empty(), "{others:?}");
}

/// A program gets the same with the library as without it.
fn is_undisturbed(program: &str, args: &[&str]) {
    let plain = Command::new(program).args(args).env("LC_ALL", "C").output().unwrap();
    let ours = command(program).args(args).output().unwrap();
    assert_eq!(
        (ours.status, ours.stdout, ours.stderr),
        (plain.status, plain.stdout, plain.stderr),
        "{program}"
    );
}

#[test]
fn other_programs_are_undisturbed() {
    is_undisturbed("ls", &["-l", env!("CARGO_MANIFEST_DIR")]);
    is_undisturbed("sh", &["-c", "seq 1000 | sort -n | tail -1; exec 9</dev/null; cat <&9; ls /nonexistent"]);
    for (program, args) in [("curl", &["--version"][..]), ("python3", &["-c", SERVER])] {
        let there = Command::new(program).arg("--version").output();
        match there {
            Ok(_) => is_undisturbed(program, args),
            Err(_) => eprintln!("SKIP: there is no {program}"),
        }
    }
}

/// Sockets, epoll, threads, children, temporary files.
const SERVER: &str = r#"
import asyncio, os, select, socket, subprocess, tempfile, threading
async def echo(reader, writer):
    writer.write(await reader.read(100))
    await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"over tcp")
    print(await reader.read(100))
    server.close()
asyncio.run(main())
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
e, p = select.epoll(), select.poll()
e.register(b, select.EPOLLIN)
p.register(b, select.POLLIN)
threading.Timer(0.05, lambda: a.send(b"packet")).start()
print(e.poll(10) == [(b.fileno(), select.EPOLLIN)], p.poll(10) == [(b.fileno(), select.POLLIN)])
a.close()
print(select.select([b], [], [], 10)[0] == [b], b.recv(100), b.recv(100))
print(subprocess.run(["sh", "-c", "echo child; exec 5>&1; echo more >&5"], capture_output=True, close_fds=True).stdout)
with tempfile.TemporaryFile() as f:
    f.write(b"text")
    f.seek(0)
    print(f.read())
print(os.path.exists("/dev/netmap2"))
"#;
