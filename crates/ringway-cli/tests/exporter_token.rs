//! `ringway exporter` with a token, by names of other sites, and with files that are no place for a secret.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use support::room::NOBODY;
use support::{Running, directory, file, run, start};

const TOKEN: &str = "5f0c7a1e9b3d42688c1f0a7be2d93c55";

/// A running exporter.
struct Exporter {
    running: Running,
    address: String,
}

impl Exporter {
    fn start(options: &[&str]) -> Self {
        let running = start(&[&["exporter", "--listen", "127.0.0.1:0"], options].concat());
        running.wait_said("/metrics", 1);
        let said = running.said();
        let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        Self { address: address.to_owned(), running }
    }

    /// The whole answer.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The status of the answer to a request with these headers.
    fn status(&self, path: &str, headers: &str) -> String {
        let answer = self.ask(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n"));
        answer.split(' ').nth(1).unwrap().to_owned()
    }
}

/// A file with a token that this user alone reads.
fn token_file(name: &str) -> PathBuf {
    let path = file("").canonicalize().unwrap().join(name); // no link leads to it
    fs::write(&path, format!("{TOKEN}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn clients_need_the_token_on_every_path() {
    let path = token_file("token");
    let exporter = Exporter::start(&["--token-file", path.to_str().unwrap()]);
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for (path, found) in [
        ("/", "200"),
        ("/metrics", "200"),
        ("/state.json", "200"),
        ("/history.json", "200"),
        ("/none", "404"),
    ] {
        assert_eq!(exporter.status(path, &bearer(TOKEN)), found, "{path}");
        for hostile in [
            String::new(),
            bearer(""),
            bearer(&TOKEN[..31]),
            bearer(&format!("{TOKEN}0")),
            bearer(&TOKEN.replace("55", "54")),
            bearer(&TOKEN.to_uppercase()),
            bearer(TOKEN).repeat(2),
            bearer("x") + &bearer(TOKEN),
            bearer(TOKEN) + &bearer("x"),
            format!("Authorization: Basic {TOKEN}\r\n"),
            format!("Authorization: {TOKEN}\r\n"),
            format!("Proxy-Authorization: Bearer {TOKEN}\r\n"),
            bearer(&"x".repeat(7000)),
        ] {
            assert_eq!(exporter.status(path, &hostile), "401", "{path} {hostile:.99}");
        }
    }
    assert_eq!(exporter.status("/metrics", &bearer(&"x".repeat(9000))), "431");
    assert_eq!(exporter.status("/metrics", &format!("Authorization : Bearer {TOKEN}\r\n")), "400");
    let refused = exporter.ask("POST /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{refused}");
    assert!(refused.contains("\r\nWWW-Authenticate: Bearer realm=\"ringway\"\r\n"), "{refused}");
    assert!(!refused.contains("ringway_"), "{refused}");
    // With the token, a client may call the machine what it likes.
    let named = format!("GET /metrics HTTP/1.1\r\nHost: router1:9788\r\n{}\r\n", bearer(TOKEN));
    assert!(exporter.ask(&named).contains("\nringway_build_info{"));
    let ended = exporter.running.interrupt();
    assert!(
        ended.code == Some(0) && !(ended.stdout + &ended.stderr).contains(TOKEN),
        "nobody reads it in a log"
    );
}

/// A page of another site has the browser ask by the name of that site, which leads to 127.0.0.1.
#[test]
fn other_names_get_nothing_without_a_token() {
    let exporter = Exporter::start(&["--host", "Router1", "--host", "r.example.net"]);
    let status = |host: &str, path: &str| {
        let answer = exporter.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 ") || !answer.contains("ringway_"), "{answer}");
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    for host in
        [&exporter.address[..], "127.0.0.1", "localhost:9788", "[::1]:9788", "router1:9788", "R.EXAMPLE.NET"]
    {
        assert_eq!(status(host, "/metrics"), "200", "{host}");
    }
    for host in ["evil.example", "evil.example:9788", "127.0.0.1.evil.example", "localhost.evil.example", ""]
    {
        for path in ["/", "/metrics", "/state.json", "/history.json", "/none", "http://localhost/metrics"] {
            assert_eq!(status(host, path), "421", "{host} {path}");
        }
    }
    assert_eq!(status("localhost", "http://evil.example/metrics"), "421");
    exporter.running.interrupt();
    let plain = Exporter::start(&[]);
    assert!(plain.ask("GET /metrics HTTP/1.1\r\nHost: router1\r\n\r\n").contains("--host NAME"));
    plain.running.interrupt();
}

/// What the exporter says of a file, and the number of the error.
fn refused(path: &Path, says: &str, number: &str) {
    let ended = run(&["exporter", "--listen", "127.0.0.1:0", "--token-file", path.to_str().unwrap()]);
    let said = ended.error(1);
    assert!(said.contains(says) && said.ends_with(&format!("[{number}]\n")), "{says}: {said}");
    assert!(!said.contains(TOKEN), "{said}");
}

#[test]
fn files_that_are_no_place_for_a_secret_are_refused() {
    let path = token_file("open");
    for mode in [0o604, 0o620, 0o602, 0o644, 0o666, 0o601] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        refused(&path, &format!("it has mode {mode:04o}; `chmod 600`"), "E0201");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    Exporter::start(&["--token-file", path.to_str().unwrap()]).running.interrupt();

    let link = file("link");
    symlink(&path, &link).unwrap();
    refused(&link, "a link leads to it", "E0201");
    let folder = file("folder");
    symlink(directory(), &folder).unwrap();
    refused(&folder.join("open"), "a link leads to it", "E0201");
    refused(&directory(), "it is no file", "E0201");
    refused(Path::new("/dev/null"), "it is no file", "E0201");
    let pipe = file("fifo");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    refused(&pipe, "it is no file", "E0201");

    for text in
        ["", "\n", "short", "two words of a token", "0123456789abcdef\u{e9}", "0123456789abcdef\nmore"]
    {
        fs::write(&path, text).unwrap();
        refused(&path, "one word of 16 to 1024 characters", "E0203");
    }
    for bytes in
        [vec![b'x'; 1025], vec![b'x'; 9000], [vec![b' '; 5000], TOKEN.into()].concat(), vec![0xff; 32]]
    {
        fs::write(&path, bytes).unwrap();
        refused(&path, "one word of 16 to 1024 characters", "E0203");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    let path = token_file("given");
    if chown(&path, Some(NOBODY), None).is_err() {
        eprintln!("SKIPPED: only root can give files to others");
        return;
    }
    refused(&path, "who knows the token", "E0201");
}
