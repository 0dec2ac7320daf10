//! A program of netmap and one of Ringway on one switch.
//!
//! Objective: they exchange each frame once, in order, whichever of them made the switch. A switch that netmap's program made goes away
//! with its last port, also when that was killed; one that Ringway made, or gave a lasting port, stays.
#![allow(clippy::unwrap_used, reason = "tests")]

mod beside;

use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use beside::{Bed, LIMIT, compile, frame, stop};
use ringway::Port;
use ringway::switch::{PortAccess, Switch, SwitchSpec, switches};
use ringway_lab::program::Program;

/// A name for a switch, which is removed at the end, also of a test that fails.
struct Name(String);

impl Name {
    fn unused() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        Self(format!("valem{}-{}", process::id() % 100_000, SERIAL.fetch_add(1, Relaxed)))
    }

    fn exists(&self) -> bool {
        switches().contains(&self.0)
    }

    fn port(&self, port: &str) -> String {
        format!("{}:{port}", self.0)
    }

    /// Starts netmap's program on a port.
    fn join(&self, bed: &Bed) -> Program {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| compile("meet"));
        bed.start(bed.command(program, &[&self.port("theirs")]))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = Switch::open(&self.0).map(Switch::delete);
    }
}

/// Sends frames to netmap's program, which sends them back.
fn exchange(port: &mut Port) {
    const FRAMES: u32 = 300;
    let start = Instant::now();
    for number in 0..FRAMES {
        assert!(port.tx[0].push(&frame(7, number)));
    }
    port.tx[0].sync().unwrap();
    let mut next = 0;
    while next < FRAMES {
        assert!(start.elapsed() < LIMIT, "{next} frames came back");
        port.rx[0].sync().unwrap();
        port.rx[0].burst(64).for_each(|got| {
            if got.bytes().get(12..14) == Some(&[0x88, 0xb5]) {
                assert_eq!(got.bytes(), frame(8, next), "frame {next}");
                next += 1;
            }
        });
    }
    assert_eq!(next, FRAMES);
}

#[test]
fn on_a_switch_of_the_netmap_program() {
    let Some(bed) = Bed::new() else { return };
    let name = Name::unused();
    let theirs = name.join(&bed);
    assert!(name.exists() && Switch::open(&name.0).unwrap().find_port("theirs").unwrap().ephemeral);
    let mut ours = Port::open(&name.port("ours")).unwrap();
    exchange(&mut ours);
    stop(theirs);
    assert_eq!(Switch::open(&name.0).unwrap().ports().len(), 1, "Ringway's port is there");
    drop(ours);
    assert!(!name.exists());
}

#[test]
fn on_a_switch_of_ringway() {
    let Some(bed) = Bed::new() else { return };
    let name = Name::unused();
    let switch = Switch::create(&name.0, &SwitchSpec::default()).unwrap();
    let mut ours = Port::open(&name.port("ours")).unwrap();
    let theirs = name.join(&bed);
    exchange(&mut ours);
    drop(ours);
    stop(theirs);
    assert!(name.exists() && switch.ports().is_empty());
}

#[test]
fn a_killed_program_keeps_no_switch() {
    let Some(bed) = Bed::new() else { return };
    let name = Name::unused();
    drop(name.join(&bed)); // which kills it
    // The kernel closes descriptors in queues after the process, and a look in passing waits for nobody.
    let start = Instant::now();
    while Switch::open(&name.0).is_ok() {
        assert!(start.elapsed() < LIMIT);
        sleep(Duration::from_millis(10));
    }
    assert!(!name.exists());
}

#[test]
fn a_lasting_port_keeps_the_switch() {
    let Some(bed) = Bed::new() else { return };
    let name = Name::unused();
    let theirs = name.join(&bed);
    Switch::open(&name.0).unwrap().add_port("lasting", &PortAccess::default()).unwrap();
    stop(theirs);
    Switch::open(&name.0).unwrap().del_port("lasting", false).unwrap();
    assert!(name.exists());
}
