//! Each example runs, and does what it says.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringway::Port;
use ringway_wire::pcapfile::{MAX_RECORD, Writer};

/// An example, killed at the end.
struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts an example, and waits for its first line, which says that its ports are open.
fn start(name: &str, args: &[&str]) -> Example {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: cargo build -p ringway-engine --examples", path.display());
    let child = Command::new(path).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut example = Example(child.unwrap());
    let mut line = String::new();
    BufReader::new(example.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(" threads "), "{line}");
    example
}

/// What it printed, once it ended well.
fn printed(mut example: Example) -> String {
    let mut text = String::new();
    std::io::Read::read_to_string(example.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert!(example.0.wait().unwrap().success(), "{text}");
    text
}

#[test]
fn the_reflector_reflects() {
    let id = format!("example-{}", std::process::id());
    let mut far = Port::open(&format!("pipe:{id}}}")).unwrap();
    let example = start("reflector", &["3", &format!("pipe:{id}{{")]);
    let mut frame = [7; 60];
    frame[..6].fill(1);
    frame[6..12].fill(2);
    for _ in 0..500 {
        assert!(far.tx[0].push(&frame));
    }
    let (start, mut back) = (Instant::now(), 0);
    while back < 500 {
        assert!(start.elapsed() < Duration::from_secs(60), "{back} of 500");
        far.tx[0].sync().unwrap();
        far.rx[0].sync().unwrap();
        for frame in far.rx[0].burst(100) {
            assert_eq!(
                (&frame.bytes()[..6], &frame.bytes()[6..12], frame.len()),
                (&[2; 6][..], &[1; 6][..], 60)
            );
            back += 1;
        }
    }
    kill(Pid::from_raw(example.0.id() as i32), Signal::SIGINT).unwrap();
    let text = printed(example);
    assert!(text.contains("threads: 500 taken, 0 made, 500 sent"), "{text}");
}

#[test]
fn the_analyser_knows_each_flow_once() {
    let path = std::env::temp_dir().join(format!("engine-flows-{}.pcap", std::process::id()));
    let mut bytes = Vec::new();
    let mut writer = Writer::new("test", &mut bytes, MAX_RECORD).unwrap();
    for n in 0..900_u16 {
        let mut frame = [0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
        frame[23] = 17;
        // Nine flows, each in both directions.
        let ends = [[10, 0, 0, (n % 9) as u8], [10, 0, 1, 1]];
        frame[26..30].copy_from_slice(&ends[usize::from(n % 2)]);
        frame[30..34].copy_from_slice(&ends[usize::from(1 - n % 2)]);
        writer.write(0, 60, &frame).unwrap();
    }
    writer.finish().unwrap();
    std::fs::write(&path, bytes).unwrap();
    let text = printed(start("flows", &["3", &format!("pcap:{}@top", path.display())]));
    std::fs::remove_file(path).unwrap();
    assert!(text.contains(": 100 frames, 6000 bytes") && text.ends_with("9 flows\n"), "{text}");
}
