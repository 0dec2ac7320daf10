//! Interfaces as members of a switch, frames between stations behind them, and the accounts of the switch.

use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use ringway::Port;
use ringway::switch::{NicOptions, NicPath, Switch, SwitchPortStats};
use ringway_lab::{AnyError, Lab};

use super::{LIMIT, Random, assert_balanced, eventually, whole};

/// Of test frames: one that is free for experiments.
pub(crate) const KIND: u16 = 0x88b5;

/// Runs `job` in the namespace.
pub(crate) fn inside<T: Send>(lab: &Lab, job: impl FnOnce() -> T + Send) -> T {
    lab.run(|| Ok::<_, AnyError>(job())).unwrap()
}

/// The ways in and out of an interface.
pub(crate) const WAYS: [NicPath; 2] = [NicPath::Xdp, NicPath::Tc];

/// Makes an interface of the namespace a port by this way.
pub(crate) fn add_by(lab: &Lab, switch: &str, interface: &str, path: NicPath) -> ringway::Result<u32> {
    inside(lab, || Switch::open(switch)?.add_nic_with(interface, &NicOptions { host: false, path }))
}

/// Makes an interface of the namespace a port by XDP; its host's side too, if wanted.
pub(crate) fn add(lab: &Lab, switch: &str, interface: &str, host: bool) -> ringway::Result<u32> {
    inside(lab, || Switch::open(switch)?.add_nic_with(interface, &NicOptions { host, path: NicPath::Xdp }))
}

pub(crate) fn stats(switch: &Switch, port: &str) -> SwitchPortStats {
    switch.stats().into_iter().find(|s| s.port.name == port).unwrap()
}

/// At rest each account closes, and what was offered to ports was offered by ports.
#[track_caller]
pub(crate) fn assert_closed(switch: &Switch) {
    eventually("the accounts close", || {
        let all = switch.stats();
        let open = |s: &&SwitchPortStats| {
            [s.counters.tx, s.counters.rx].iter().any(|c| c.frames_in != c.frames_out + c.dropped())
        };
        let totals = switch.totals(&all);
        match all.iter().find(open) {
            Some(s) => Err(format!("{}: tx {}; rx {}", s.port.name, s.counters.tx, s.counters.rx)),
            None if totals.copies != totals.rx.frames_in => Err(format!("{totals:?}")),
            None => Ok(()),
        }
    });
    switch.stats().iter().for_each(|s| assert_balanced(&s.counters.tx));
}

/// A frame from station `from` to station `to`, which is all when 0.
pub(crate) fn frame(to: u8, from: u8, len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut f: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
    f[..6].copy_from_slice(&if to == 0 { [0xff; 6] } else { [2, 0, 0, 0, 0, to] });
    f[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
    f[12..14].copy_from_slice(&KIND.to_be_bytes());
    f
}

pub(crate) fn send(port: &mut Port, frames: &[Vec<u8>]) {
    for f in frames {
        assert!(port.tx[0].push(f));
    }
    port.tx[0].sync().unwrap();
    assert_eq!(port.tx[0].pending(), 0);
}

/// Waits for `count` frames; there must not be more.
pub(crate) fn receive(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    eventually("frames arrive", || {
        port.rx[0].sync().unwrap();
        got.extend(port.rx[0].burst(u32::MAX).map(|f| whole(&f)));
        if got.len() >= count { Ok(()) } else { Err(format!("{} of {count}", got.len())) }
    });
    assert_eq!(got.len(), count);
    got
}

/// Sends `len` bytes by TCP from one host to the address of another.
pub(crate) fn transfer(from: &Lab, to: &Lab, address: &str, len: usize) {
    let hash = |bytes: &[u8]| {
        let mut hash = DefaultHasher::new();
        hash.write(bytes);
        (bytes.len(), hash.finish())
    };
    let listener = inside(to, || TcpListener::bind((address, 0)).unwrap());
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            hash(&all)
        });
        let sent = inside(from, || {
            let mut random = Random(7);
            let all: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            let mut stream = TcpStream::connect_timeout(&address, LIMIT).unwrap();
            stream.set_write_timeout(Some(LIMIT)).unwrap();
            stream.write_all(&all).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            hash(&all)
        });
        assert_eq!(receiver.join().unwrap(), sent);
    });
}
