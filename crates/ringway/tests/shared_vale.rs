//! Ports of a switch that several processes serve in turn. Needs root; says so and passes without.
//!
//! Objective: a port that was exported and imported sends and receives each frame once and in order, whichever holder syncs. An
//! ephemeral port stays in its switch until the last holder has let it go, and no longer.
#![allow(unsafe_code, reason = "it forks")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::os::fd::AsFd;
use std::sync::{PoisonError, RwLock};

use ringway::switch::{Switch, SwitchSpec};
use ringway::{ErrorKind, Exported, FreeObjects, Port, Region, RegionSpec};
use switch::{Temporary, assert_closed, frame, receive, send};

/// Another handle to the region of a port.
fn region_of(port: &Port) -> Region {
    let layout = port.region().layout();
    let spec = RegionSpec {
        interfaces: layout.interfaces,
        rings: layout.rings,
        slots: layout.slots,
        buffers: layout.bufs,
        buf_size: layout.buf_size,
    };
    let fd = port.region().as_fd().try_clone_to_owned().unwrap();
    Region::join(fd, &spec, FreeObjects::default()).unwrap()
}

/// What the last sync of each ring handed out.
fn ranges(port: &Port) -> Vec<(u32, u32)> {
    let tx = port.tx.iter().map(|ring| (ring.first(), ring.tail()));
    tx.chain(port.rx.iter().map(|ring| (ring.first(), ring.tail()))).collect()
}

fn import(port: &Port) -> Port {
    Port::import(port.export().unwrap().unwrap(), region_of(port), &ranges(port)).unwrap()
}

/// Takes all rings of a port over from another holder of it.
fn take_over(port: &mut Port, from: &Port) {
    for (to, from) in port.tx.iter_mut().zip(&from.tx) {
        assert!(to.adopt(from.first(), from.tail()) && to.is_sound());
    }
    for (to, from) in port.rx.iter_mut().zip(&from.rx) {
        assert!(to.adopt(from.first(), from.tail()) && to.is_sound());
    }
}

/// Frames number `from` to `to` of a station.
fn numbered(to: u8, station: u8, numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    let number = |n: u32| {
        let mut f = frame(to, station, 80, 0);
        f[20..24].copy_from_slice(&n.to_be_bytes());
        f
    };
    numbers.map(number).collect()
}

/// Frames both ways between a far port and holders in turn, several times as many as a ring has slots. The first holder has all rings
/// at the beginning and at the end.
fn exchange(holders: &mut [Port], far: &mut Port) {
    let (mut last, mut sent, mut back, mut read) = (0, 0, 0, 0);
    // The switch learns where the stations are.
    send(&mut holders[0], &numbered(0, 1, 0..1));
    assert_eq!(receive(far).len(), 1);
    send(far, &numbered(0, 2, 0..1));
    assert_eq!(receive(&mut holders[0]).len(), 1);
    for round in 0..300u32 {
        let who = (round as usize * 7 / 3) % holders.len();
        hand_over(holders, &mut last, who);
        let (port, burst) = (&mut holders[who], 1 + round % 60);
        send(port, &numbered(2, 1, sent..sent + burst));
        assert_eq!(receive(far), numbered(2, 1, sent..sent + burst), "round {round}");
        send(far, &numbered(1, 2, back..back + burst));
        (sent, back) = (sent + burst, back + burst);
        if round % 3 == 1 {
            // Who comes next reads them.
            assert_eq!(port.rx[0].collect().unwrap(), back - read, "round {round}");
        } else {
            assert_eq!(receive(port), numbered(1, 2, read..back), "round {round}");
            read = back;
        }
    }
    hand_over(holders, &mut last, 0);
}

/// Has holder `who` take all rings over, if the last one was another.
fn hand_over(holders: &mut [Port], last: &mut usize, who: usize) {
    if let Ok([to, from]) = holders.get_disjoint_mut([who, *last]) {
        take_over(to, from);
        *last = who;
    }
}

fn names(switch: &Switch) -> Vec<String> {
    switch.ports().into_iter().map(|port| port.name).collect()
}

/// A fork has copies of the descriptors of all tests, for a moment.
static FORKS: RwLock<()> = RwLock::new(());

/// The last holder of a port lets it go, which removes it.
#[track_caller]
fn drop_last(last: Port, switch: &Switch) {
    let name = last.info().name.clone();
    let _no_fork = FORKS.read().unwrap_or_else(PoisonError::into_inner);
    drop(last);
    let left = names(switch);
    assert!(left.iter().all(|port| format!("{}:{port}", switch.name()) != name), "{left:?}");
}

#[test]
fn holders_in_turn_lose_and_double_nothing() {
    let spec = SwitchSpec { rings: 2, slots: 256, ..SwitchSpec::default() };
    let Some(switch) = Temporary::new(&spec) else { return };
    let [near, mut far] = switch.ports();
    let mut holders = vec![import(&near), near];
    holders.push(import(&holders[0]));
    holders.reverse();
    assert_eq!(holders[0].info().backend, holders[1].info().backend);
    exchange(&mut holders, &mut far);
    let counted: Vec<u64> = holders.iter().map(|port| port.counters().tx.frames_out).collect();
    assert!(counted.windows(2).all(|pair| pair[0] == pair[1]), "the switch counts for all: {counted:?}");
    assert_closed(&switch);
}

#[test]
fn an_ephemeral_port_goes_with_its_last_holder() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut far = switch.port("far");
    // The opener goes first, or an importer.
    for opener_first in [true, false] {
        let near = switch.port("near");
        let mut holders = vec![import(&near), near];
        if !opener_first {
            holders.reverse();
        }
        exchange(&mut holders, &mut far);
        drop(holders.pop());
        assert_eq!(names(&switch).len(), 2, "a holder has it");
        let busy = Port::open(&format!("{}:near", switch.name())).unwrap_err();
        assert_eq!(busy.kind(), ErrorKind::Busy);
        exchange(&mut holders, &mut far);
        drop_last(holders.remove(0), &switch);
    }
}

/// A port that is exported and that nobody imports goes when the descriptors do.
#[test]
fn descriptors_on_their_way_hold_a_port() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let near = switch.port("near");
    let (region, ranges) = (region_of(&near), ranges(&near));
    let exported = near.export().unwrap().unwrap();
    drop(near);
    assert_eq!(names(&switch), ["near"]);
    drop_last(Port::import(exported, region, &ranges).unwrap(), &switch);
}

/// What the copy of a fork does when it is let go: nothing, as long as its parent has the port.
#[test]
fn a_fork_that_drops_its_copy_leaves_the_port() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let (mut far, near) = (switch.port("far"), switch.port("near"));
    let mut heir = import(&near);
    let forks = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the child drops values, which takes no lock that another thread of this test has, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop((near, heir));
        // SAFETY: no memory is involved.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` lives across the call.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    drop(forks);
    assert_eq!((status, names(&switch).len()), (0, 2));
    take_over(&mut heir, &near);
    drop(near);
    exchange(std::slice::from_mut(&mut heir), &mut far);
    drop_last(heir, &switch);
}

/// A switch that gets new programs, whose old ones the holders have.
#[test]
fn holders_go_on_with_new_programs() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [near, mut far] = switch.ports();
    let mut holders = vec![near];
    holders.push(import(&holders[0]));
    exchange(&mut holders, &mut far);
    switch.reload().unwrap();
    exchange(&mut holders, &mut far);
    assert_closed(&switch);
}

#[test]
fn nonsense_is_refused() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let near = switch.port("near");
    let good = ranges(&near);
    let refused = |change: &dyn Fn(&mut Exported)| {
        let mut exported = near.export().unwrap().unwrap();
        change(&mut exported);
        let error = Port::import(exported, region_of(&near), &good).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Gone, "{error}");
    };
    let words = near.export().unwrap().unwrap().words.len();
    for len in 0..words {
        refused(&|e| e.words.truncate(len));
    }
    refused(&|e| e.words.push(0));
    refused(&|e| drop(e.fds.pop()));
    let other = || std::os::fd::OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    for at in [0, 3] {
        refused(&|e| e.fds[at] = other());
    }
    // The directory of the lock, which others have.
    let lock = switch::dir(switch.name()).join("port/near/use");
    refused(&|e| e.fds[2] = std::fs::File::open(&lock).unwrap().into());
    refused(&|e| e.name = "null:".into());
    let exported = near.export().unwrap().unwrap();
    let error = Port::import(exported, region_of(&near), &good[1..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
