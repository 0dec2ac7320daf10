//! A switch and its ports. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ringway::vale::{PortAccess, Switch, SwitchSpec};
use ringway::{DropReason, Port};

/// A switch that is removed at the end, also of a test that fails.
struct Temporary(Option<Switch>);

impl Temporary {
    fn new(spec: &SwitchSpec) -> Option<Self> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        if !std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0) {
            eprintln!("SKIPPED: switches need root");
            return None;
        }
        let name = format!("vale-{}-{}", std::process::id() % 100_000, SERIAL.fetch_add(1, Relaxed));
        Some(Self(Some(Switch::create(&name, spec).unwrap())))
    }

    fn ports<const N: usize>(&self) -> [Port; N] {
        std::array::from_fn(|i| self.port(&format!("p{}", i + 1)))
    }

    fn port(&self, name: &str) -> Port {
        Port::open(&format!("{}:{name}", self.name())).unwrap()
    }
}

impl std::ops::Deref for Temporary {
    type Target = Switch;
    fn deref(&self) -> &Switch {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(s) = self.0.take() {
            s.delete().unwrap();
        }
    }
}

/// A frame from station `from` to station `to`, which is all when 0.
fn frame(to: u8, from: u8, len: usize, fill: u8) -> Vec<u8> {
    let mut f = vec![fill; len];
    f[..6].copy_from_slice(&if to == 0 { [0xff; 6] } else { [2, 0, 0, 0, 0, to] });
    f[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
    f
}

fn send(port: &mut Port, frames: &[Vec<u8>]) {
    for f in frames {
        assert!(port.tx[0].push(f));
    }
    port.tx[0].sync().unwrap();
}

fn receive(port: &mut Port) -> Vec<Vec<u8>> {
    port.rx[0].sync().unwrap();
    port.rx[0]
        .burst(u32::MAX)
        .map(|f| {
            let mut v = Vec::new();
            v.resize(f.len(), 0);
            f.copy_to(&mut v);
            v
        })
        .collect()
}

#[test]
fn a_switch_learns_and_floods() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    let hello = [frame(9, 1, 60, 1), frame(0, 1, 200, 2)];
    send(&mut a, &hello);
    assert_eq!(receive(&mut b), hello);
    assert_eq!(receive(&mut c), hello);
    assert!(receive(&mut a).is_empty());
    let answer = [frame(1, 2, 1514, 3)];
    send(&mut b, &answer);
    assert_eq!(receive(&mut a), answer);
    assert!(receive(&mut c).is_empty());
    send(&mut b, &[frame(2, 2, 60, 4)]);
    assert_eq!(b.counters().tx.drops(DropReason::SamePort), 1);
    let fdb = switch.fdb();
    assert_eq!(fdb.iter().map(|e| (e.mac.0[5], e.port)).collect::<Vec<_>>(), [(1, Some(1)), (2, Some(2))]);
}

#[test]
fn a_persistent_port_stays() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    assert_eq!(switch.add_port("x", &PortAccess::default()).unwrap(), 1);
    drop(switch.port("x"));
    drop(switch.port("y"));
    let names: Vec<_> = Switch::ports(&switch).into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["x"]);
}
