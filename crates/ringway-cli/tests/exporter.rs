//! `ringway exporter`: what it answers, and clients that mean harm.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use support::openmetrics::parse;
use support::{command, run, start, wait_open};

/// A running exporter on a port of its own; killed when dropped.
struct Exporter {
    child: Child,
    address: String,
}

impl Exporter {
    fn start() -> Self {
        Self::on("127.0.0.1:0")
    }

    /// Listens on `address` when this returns.
    fn on(address: &str) -> Self {
        Self::with(address, &[])
    }

    /// The same with options.
    fn with(address: &str, options: &[&str]) -> Self {
        let mut command = command(&[&["exporter", "--listen", address], options].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim_end().strip_prefix("listening on http://").and_then(|l| l.strip_suffix("/metrics"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Status line, headers and body of the answer to `request`.
    fn ask(&self, request: &[u8]) -> (String, String, String) {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        answer(&mut stream)
    }

    fn get(&self, path: &str) -> (String, String, String) {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
    }

    /// Ends it by a signal; returns its exit code and what it said on standard error.
    fn end(mut self, signal: libc::c_int) -> (Option<i32>, String) {
        let begin = Instant::now();
        // SAFETY: a plain system call; the child has not been waited for, so its number is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = self.child.wait().unwrap().code();
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?} after the signal", begin.elapsed());
        (code, said)
    }

    /// Kilobytes of memory it uses.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Still there, and answers as before.
    fn assert_well(&mut self) {
        let (status, _, body) = self.get("/metrics");
        assert_eq!(status, "HTTP/1.1 200 OK");
        parse(&body);
        assert!(self.child.try_wait().unwrap().is_none());
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(stream: &mut TcpStream) -> (String, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    let (status, headers) = head.split_once("\r\n").unwrap();
    assert!(headers.contains(&format!("Content-Length: {}\r\n", body.len())), "{headers}");
    (status.into(), headers.into(), body.into())
}

/// Whether the other end closes without a word, and when.
fn closed_after(stream: &mut TcpStream) -> Duration {
    let begin = Instant::now();
    loop {
        match stream.read(&mut [0; 64]) {
            Ok(0) => return begin.elapsed(),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return begin.elapsed(),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            other => panic!("{other:?} after {:?}", begin.elapsed()),
        }
    }
}

#[test]
fn the_page_is_that_of_stats() {
    let exporter = Exporter::start();
    let port = start(&["pkt-gen", "-i", "null:70", "-f", "tx", "-R", "1"]);
    wait_open("null:70");
    let (status, headers, body) = exporter.get("/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    let kind = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(headers.contains(kind) && headers.contains("Connection: close"), "{headers}");
    let (served, printed) = (parse(&body), parse(&run(&["stats", "--openmetrics"]).stdout));
    assert!(served.keys().eq(printed.keys()), "{body}");
    let labels = [("port", "null:70"), ("pid", &port.pid().to_string()[..]), ("side", "tx"), ("dir", "in")];
    assert!(served["ringway_port_frames"].value(&labels) <= printed["ringway_port_frames"].value(&labels));
    port.interrupt();
}

#[test]
fn other_requests_are_refused() {
    let exporter = Exporter::start();
    for (request, expected) in [
        ("GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
        ("GET /metrics/../x HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
        ("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 Method Not Allowed"),
        (
            "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
            "405 Method Not Allowed",
        ),
        ("GET /metrics HTTP/3\r\nHost: localhost\r\n\r\n", "505 HTTP Version Not Supported"),
        ("GET /metrics\r\n\r\n", "400 Bad Request"),
        ("hello\n", "400 Bad Request"),
    ] {
        let (status, headers, body) = exporter.ask(request.as_bytes());
        assert_eq!(status, format!("HTTP/1.1 {expected}"), "{request}");
        assert_eq!(headers.contains("Allow: GET\r\n"), expected.starts_with("405"), "{headers}");
        assert_eq!(body.lines().count(), 1, "{body}");
    }
}

#[test]
fn a_huge_request_is_refused_and_its_rest_not_kept() {
    let mut exporter = Exporter::start();
    exporter.assert_well();
    let before = exporter.memory();
    let mut stream = exporter.connect();
    stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    let junk = [b'x'; 65536];
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ").unwrap();
    // 64 MiB, unless it closes first.
    let refused = (0..1024).any(|_| stream.write_all(&junk).is_err());
    assert!(refused, "it read all of it");
    let mut stream = exporter.connect();
    stream.write_all(&junk[..9000]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&mut stream).0, "HTTP/1.1 431 Request Header Fields Too Large");
    exporter.assert_well();
    assert!(exporter.memory() < before + 4096, "{} kB, then {}", before, exporter.memory());
}

#[test]
fn slow_clients_are_closed_and_hold_nobody_up() {
    let mut exporter = Exporter::start();
    let mut half = exporter.connect();
    half.write_all(b"GET /metrics HT").unwrap();
    let mut silent = exporter.connect();
    // It gets its answer and never says goodbye.
    let mut lingering = exporter.connect();
    lingering.write_all(b"GET /x HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(answer(&mut lingering).0, "HTTP/1.1 404 Not Found");
    // A byte now and then does not make the limit longer.
    let mut dripping = exporter.connect();
    let drip = dripping.try_clone().unwrap();
    let dripper = std::thread::spawn(move || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(60) && (&drip).write_all(b"G").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    for _ in 0..5 {
        exporter.assert_well();
    }
    let begin = Instant::now();
    for stream in [&mut half, &mut silent, &mut dripping] {
        closed_after(stream);
    }
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    dripper.join().unwrap();
    exporter.assert_well();
}

#[test]
fn many_clients_do_not_keep_others_out() {
    let mut exporter = Exporter::start();
    exporter.assert_well();
    let (before, descriptors) = (exporter.memory(), exporter.descriptors());
    let mut crowd: Vec<TcpStream> = (0..300).map(|_| exporter.connect()).collect();
    for stream in &mut crowd {
        // The early ones are closed already.
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n");
    }
    exporter.assert_well();
    assert!(exporter.descriptors() <= descriptors + 129, "{} descriptors", exporter.descriptors());
    // Clients that ask for the page and do not read it.
    for _ in 0..300 {
        let mut stream = exporter.connect();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        crowd.push(stream);
    }
    exporter.assert_well();
    assert!(exporter.memory() < before + 8192, "{} kB, then {}", before, exporter.memory());
    assert!(closed_after(&mut crowd[0]) < Duration::from_secs(60), "the oldest gave way");
}

/// Bytes without sense, each its own connection.
#[test]
fn junk_does_it_no_harm() {
    let mut exporter = Exporter::start();
    let mut seed = 7u64;
    for _ in 0..300 {
        let mut stream = exporter.connect();
        let junk: Vec<u8> = (0..200)
            .map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (seed >> 33) as u8
            })
            .collect();
        let _ = stream.write_all(&junk);
    }
    exporter.assert_well();
}

#[test]
fn signals_end_it_cleanly() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let exporter = Exporter::start();
        let mut half = exporter.connect();
        half.write_all(b"GET /metrics").unwrap();
        assert_eq!(exporter.end(signal), (Some(0), String::new()));
        closed_after(&mut half);
    }
}

#[test]
fn addresses_are_refused_with_the_cure_and_open_ones_warned_of() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run(&["exporter", "--listen", &address]);
    let what = format!("ringway: can't listen on {address}: Address already in use");
    assert!(
        ended.error(1).starts_with(&what) && ended.stderr.contains("name a free port with --listen"),
        "{ended:?}"
    );
    // TEST-NET-1 (RFC 5737): nobody has it.
    let ended = run(&["exporter", "-l", "192.0.2.1:9788", "--no-token"]);
    assert!(ended.error(1).contains("`ip address` lists those it has"), "{ended:?}");
    for bad in ["9788", "localhost:9788", "127.0.0.1", "127.0.0.1:99999"] {
        assert!(run(&["exporter", "-l", bad]).error(2).contains("such as 127.0.0.1:9788"), "{bad}");
    }
    for all in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
        let ended = run(&["exporter", "-l", all]);
        assert!(
            ended.error(2).contains("--token-file FILE") && ended.stderr.ends_with("[E0003]\n"),
            "{ended:?}"
        );
    }
    let (code, said) = Exporter::with("0.0.0.0:0", &["--no-token"]).end(libc::SIGINT);
    assert!(said.contains("is not loopback") && said.contains("without a token"), "{said}");
    assert_eq!((code, said.lines().count()), (Some(0), 1), "{said}");
}

/// The page has all in itself, and the documents that it asks for say what `stats --json` says.
#[test]
fn the_page_shows_what_stats_shows() {
    let exporter = Exporter::start();
    let (status, headers, page) = exporter.get("/");
    assert!(
        status.contains(" 200 ") && headers.contains("Content-Security-Policy: default-src 'none'"),
        "{headers}"
    );
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    let outside = ["src=", "@import", "url(", "https:"];
    assert!(outside.iter().all(|word| !page.contains(word)), "it asks nobody else");

    let (a, b) = support::pipe();
    let receiver = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "1234", "--json"]).json();
    let said = || run(&["stats", &b, "--json"]).json();
    let begin = Instant::now();
    while said()["ports"][0]["rx"]["frames_out"] != 1234 {
        assert!(begin.elapsed() < support::LIMIT, "{}", said());
    }
    let state: serde_json::Value = serde_json::from_str(&exporter.get("/state.json").2).unwrap();
    let port = state["ports"].as_array().unwrap().iter().find(|port| port["name"] == b.as_str()).unwrap();
    let (seen, told) = (&port["rx"], &said()["ports"][0]["rx"]);
    for key in ["frames_in", "frames_out", "bytes_out", "dropped", "drops"] {
        assert_eq!(seen[key], told[key], "{key}");
    }
    let history: serde_json::Value = serde_json::from_str(&exporter.get("/history.json").2).unwrap();
    assert_eq!((&history["step"], history["samples"].as_array().unwrap().len()), (&10.into(), 1));
    shown(&exporter.address, &b);
    receiver.interrupt();
}

/// A browser draws the numbers of a port, without a word on its console.
fn shown(address: &str, port: &str) {
    let Some((page, said)) = drawn(&format!("http://{address}/")) else { return };
    assert!(page.contains(&format!("<td>{port}</td>")) && page.contains("<td>1,234</td>"), "{page}: {said}");
    assert!(!said.contains("CONSOLE"), "{said}");
}

/// A browser that has the name of another site lead to this machine reads nothing of the exporter.
#[test]
fn a_page_of_another_site_reads_nothing() {
    let exporter = Exporter::start();
    let port = exporter.address.rsplit_once(':').unwrap().1;
    let Some((page, _)) = drawn(&format!("http://evil.example:{port}/state.json")) else { return };
    assert!(
        page.contains("does not have the name in the header Host") && !page.contains("version"),
        "{page}"
    );
    let Some((page, _)) = drawn(&format!("http://{}/state.json", exporter.address)) else { return };
    assert!(page.contains("version"), "{page}");
}

/// What a browser makes of an address, and what it says on its console; `None`, said loudly, without a browser. All names lead to this
/// machine, and the browser asks nobody else. It keeps its files in a folder that goes away.
fn drawn(url: &str) -> Option<(String, String)> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let home = support::file(&format!("browser{}", SERIAL.fetch_add(1, Relaxed)));
    let mut browser = std::process::Command::new("chromium");
    browser.env("HOME", &home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]);
    browser.args(["--disable-background-networking", "--disable-component-update", "--no-proxy-server"]);
    browser.args(["--host-resolver-rules=MAP * 127.0.0.1", "--enable-logging=stderr", "--v=0"]);
    let Ok(out) = browser.arg(format!("--user-data-dir={}", home.display())).arg(url).output() else {
        eprintln!("SKIP: there is no chromium here to draw {url}; Debian's package chromium has it");
        return None;
    };
    let _ = std::fs::remove_dir_all(home);
    Some((
        String::from_utf8_lossy(&out.stdout).into_owned(),
        String::from_utf8_lossy(&out.stderr).into_owned(),
    ))
}
