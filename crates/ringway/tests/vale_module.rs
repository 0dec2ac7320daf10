//! Switches with another decision than that of a bridge. Needs root and clang; says so and passes without root.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "modules/compile.rs"]
mod compile;
mod switch;

use std::path::Path;

use compile::{EXAMPLE, compile};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use ringway::switch::{Module, Switch, SwitchSpec};
use ringway::{DropReason, ErrorKind, Port};
use switch::{Temporary, dir, frame, is_root, receive, send, unused_name};

/// What modules return: bpf/include/ringway_module.h.
const FLOOD: u32 = 255;
const SET: u32 = 256;

fn spec(module: Module) -> SwitchSpec {
    SwitchSpec { module, ..Default::default() }
}

/// A map of the switch's module.
fn map(switch: &Switch, name: &str) -> MapHandle {
    MapHandle::from_pinned_path(dir(switch.name()).join("module").join(name)).unwrap()
}

fn discard(module: &Module) {
    if let Module::Object(path) = module {
        std::fs::remove_file(path).unwrap();
    }
}

/// A frame for which the puppet returns `says`, with a set.
fn order(says: u32, set: [u64; 4], len: usize) -> Vec<u8> {
    let mut f = frame(9, 1, len.max(64), len as u8);
    f[16..20].copy_from_slice(&says.to_ne_bytes());
    for (bytes, word) in f[24..56].chunks_mut(8).zip(set) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    f.truncate(len);
    f
}

#[test]
fn a_hub_sends_all_to_all_and_learns_nothing() {
    if !is_root() {
        return;
    }
    let switch = Temporary::new(&spec(Module::Hub)).unwrap();
    assert_eq!(switch.spec().module, Module::Hub);
    let [mut a, mut b, mut c] = switch.ports();
    let (first, second) = ([frame(2, 1, 60, 1)], [frame(1, 2, 5000, 2), frame(2, 2, 14, 3)]);
    send(&mut a, &first);
    send(&mut b, &second);
    assert_eq!(receive(&mut a), second);
    assert_eq!(receive(&mut b), first);
    assert_eq!(receive(&mut c), [first.as_slice(), &second].concat());
    assert!(switch.fdb().is_empty());
    assert_eq!((a.counters().tx.frames_out, b.counters().tx.frames_out), (1, 2));
}

/// `hash` of bpf/examples/balance.bpf.c.
fn balance_hash(f: &[u8]) -> u32 {
    let add = |sum: u32, i: usize| sum.wrapping_mul(31).wrapping_add(u32::from(f[i]) + u32::from(f[i + 6]));
    (0..6).fold(0, add).wrapping_mul(0x9E37_79B1) >> 16
}

#[test]
fn the_example_balances() {
    if !is_root() {
        return;
    }
    let module = compile(EXAMPLE);
    let switch = Temporary::new(&spec(module.clone())).unwrap();
    discard(&module);
    let Module::Object(path) = module else { unreachable!() };
    assert_eq!(switch.spec().module, Module::Object(path.file_name().unwrap().into()));
    assert_eq!(switch.module_file(), Some(std::path::absolute(&path).unwrap()));
    // Ports made when the file is gone have the module; a switch that is opened again has, too.
    let mut ports: [Port; 4] = switch.ports();
    assert_eq!(Switch::open(switch.name()).unwrap().spec().module, switch.spec().module);
    let mut want: [Vec<Vec<u8>>; 3] = Default::default();
    let mut got: [Vec<Vec<u8>>; 3] = Default::default();
    for round in 0..40u8 {
        let burst: Vec<Vec<u8>> = (0..200usize)
            .map(|i| frame(round, i as u8, if i % 50 == 7 { 5000 } else { 60 + i }, i as u8))
            .collect();
        for f in &burst {
            want[balance_hash(f) as usize % 3].push(f.clone());
        }
        send(&mut ports[0], &burst);
        if round == 20 {
            switch.reload().unwrap();
        }
        for (port, got) in ports[1..].iter_mut().zip(&mut got) {
            got.extend(receive(port));
        }
    }
    assert!(want.iter().all(|w| w.len() > 1000), "the hash spreads frames badly");
    assert!(got == want, "a frame took another port, or overtook another one");
    for port in &mut ports[1..] {
        send(port, &[frame(1, 2, 60, 9)]);
    }
    assert_eq!(receive(&mut ports[0]).len(), 3);
    let count = |port: u32| {
        let bytes = map(&switch, "map/chosen").lookup(&port.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
        u64::from_ne_bytes(bytes.try_into().unwrap()) as usize
    };
    assert_eq!([count(1), count(2), count(3), count(4)], [3, want[0].len(), want[1].len(), want[2].len()]);
}

#[test]
fn the_gate_of_the_guide_works() {
    if !is_root() {
        return;
    }
    let guide =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/modules.md")).unwrap();
    let code = guide.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gate{}.c", std::process::id()));
    std::fs::write(&source, code).unwrap();
    let module = compile(source.to_str().unwrap());
    std::fs::remove_file(source).unwrap();
    let switch = Temporary::new(&spec(module.clone())).unwrap();
    discard(&module);
    let [mut gate, mut b, mut c] = switch.ports();
    let (out, back) = ([frame(2, 1, 60, 1)], [frame(3, 2, 60, 2)]);
    send(&mut gate, &out);
    send(&mut b, &back);
    assert_eq!(
        [receive(&mut gate), receive(&mut b), receive(&mut c)],
        [back.to_vec(), out.to_vec(), out.to_vec()]
    );
}

/// What the module returns, with which set; who gets the frame, or why nobody does.
type Case = (u32, [u64; 4], &'static [u32], Option<DropReason>);

#[test]
fn whatever_a_module_says_does_no_harm() {
    if !is_root() {
        return;
    }
    let module = compile("tests/modules/puppet.bpf.c");
    let switch = Temporary::new(&spec(module.clone())).unwrap();
    discard(&module);
    let [mut a, mut b, mut c, mut d] = switch.ports();
    // Ports 2 to 4 are b, c, d.
    let cases: &[Case] = &[
        (2, [0; 4], &[2], None),
        (4, [0; 4], &[4], None),
        (FLOOD, [0; 4], &[2, 3, 4], None),
        (SET, [1 << 2 | 1 << 4, 0, 0, 0], &[2, 4], None),
        (SET, [u64::MAX; 4], &[2, 3, 4], None),
        (SET, [1 << 1 | 1 << 3, 1 << 9, 0, 1 << 63], &[3], None),
        (1, [0; 4], &[], Some(DropReason::SamePort)),
        (200, [0; 4], &[], Some(DropReason::NoDestination)),
        (SET, [1 << 1 | 1, 1, 1, 1 << 63], &[], Some(DropReason::NoDestination)),
        (0, [u64::MAX; 4], &[], Some(DropReason::Module)),
        (SET, [0; 4], &[], Some(DropReason::Module)),
        (257, [u64::MAX; 4], &[], Some(DropReason::Module)),
        (0x0001_0002, [u64::MAX; 4], &[], Some(DropReason::Module)),
        (u32::MAX, [u64::MAX; 4], &[], Some(DropReason::Module)),
        (0x8000_0000, [u64::MAX; 4], &[], Some(DropReason::Module)),
    ];
    let lengths = [64, 1000, 5000, 64];
    for len in lengths {
        let burst: Vec<Vec<u8>> = cases.iter().map(|c| order(c.0, c.1, len)).collect();
        let before = a.counters().tx;
        send(&mut a, &burst);
        for (number, port) in [(2, &mut b), (3, &mut c), (4, &mut d)] {
            let want = |case: &(usize, &Vec<u8>)| cases[case.0].2.contains(&number);
            let want: Vec<_> = burst.iter().enumerate().filter(want).map(|(_, f)| f.clone()).collect();
            assert_eq!(receive(port), want, "port {number}, {len} bytes");
        }
        assert!(receive(&mut a).is_empty());
        let now = a.counters().tx;
        for why in DropReason::ALL {
            let lost = cases.iter().filter(|c| c.3 == Some(why)).count() as u64;
            assert_eq!(now.drops(why) - before.drops(why), lost, "{why:?}");
        }
        assert_eq!(now.frames_out - before.frames_out, cases.iter().filter(|c| c.3.is_none()).count() as u64);
    }
    // What lies behind a short frame in its buffer is not shown: the verdict reads as 0.
    let before = a.counters().tx;
    let mut slots = a.tx[0].burst();
    for len in [14, 16] {
        let mut slot = slots.next_slot().unwrap();
        slot.buf()[..64].copy_from_slice(&order(FLOOD, [0; 4], 64));
        slot.send(len);
    }
    slots.commit();
    a.tx[0].sync().unwrap();
    assert_eq!(a.counters().tx.drops(DropReason::Module) - before.drops(DropReason::Module), 2);
    send(&mut b, &[order(1, [0; 4], 64)]);
    assert_eq!(receive(&mut a).len(), 1);
    // A variable of the module is one for all ports.
    let calls = map(&switch, "map/~bss").lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
    let calls = u64::from_ne_bytes(calls[..8].try_into().unwrap());
    assert_eq!(calls, (cases.len() * lengths.len() + 3) as u64);
}

/// A module has memory of its own for each port: a user of two ports must not have both use one at once.
#[test]
fn the_program_of_a_port_serves_no_other() {
    if !is_root() {
        return;
    }
    let module = compile("tests/modules/puppet.bpf.c");
    for (module, serves) in [(Module::Bridge, true), (module.clone(), false)] {
        let Some(switch) = Temporary::new(&spec(module)) else { return };
        for port in ["p1", "p2"] {
            switch.add_port(port, &Default::default()).unwrap();
        }
        let send = |port: &str| dir(switch.name()).join("port").join(port).join("send");
        std::fs::rename(send("p1"), send("p2")).unwrap();
        let mut port = switch.port("p2");
        assert!(port.tx[0].push(&order(FLOOD, [0; 4], 64)));
        assert_eq!(port.tx[0].sync().is_ok(), serves);
        assert_eq!(switch.totals(&switch.stats()).tx.frames_in, u64::from(serves));
    }
    discard(&module);
}

#[test]
fn frames_to_a_set_are_lost_by_name_where_a_receiver_is_full() {
    if !is_root() {
        return;
    }
    let module = compile("tests/modules/puppet.bpf.c");
    let switch = Temporary::new(&spec(module.clone())).unwrap();
    discard(&module);
    let [mut a, mut b, mut c, _d] = switch.ports();
    let both = order(SET, [1 << 2 | 1 << 3, 0, 0, 0], 64);
    let slots = b.info().shape.slots as usize;
    for _ in 0..slots / 64 + 2 {
        send(&mut a, &vec![both.clone(); 64]);
        let got = receive(&mut c).len();
        assert_eq!(got, 64);
    }
    let sent = (slots / 64 + 2) * 64;
    assert_eq!(a.counters().tx.frames_out as usize, sent);
    assert_eq!(receive(&mut b).len(), slots - 1);
    assert_eq!(b.counters().rx.drops(DropReason::RingFull) as usize, sent - (slots - 1));
    // Now both have room, and then none.
    assert!(receive(&mut b).is_empty() && receive(&mut c).is_empty());
    for _ in 0..slots / 64 + 2 {
        send(&mut a, &vec![both.clone(); 64]);
    }
    let lost = a.counters().tx.drops(DropReason::ReceiverFull) as usize;
    assert_eq!(lost, sent - receive(&mut c).len());
    assert_eq!(receive(&mut b).len() + lost, sent);
    assert!(lost > 0);
}

#[test]
fn a_module_that_is_refused_leaves_nothing() {
    if !is_root() {
        return;
    }
    let refused = |module: &Module| {
        let name = unused_name();
        let e = Switch::create(&name, &spec(module.clone())).unwrap_err();
        assert!(!dir(&name).exists());
        assert!(!e.to_string().contains('\n'), "{e}");
        e
    };
    let wild = compile("tests/modules/wild.bpf.c");
    let e = refused(&wild);
    assert_eq!(e.kind(), ErrorKind::Unfit, "{e}");
    assert!(
        e.to_string().contains("verifier refuses the module") && e.to_string().contains("invalid access"),
        "{e}"
    );
    let none = compile("tests/modules/none.bpf.c");
    let e = refused(&none);
    assert!(e.to_string().contains("RINGWAY_MODULE"), "{e}");
    let Module::Object(path) = &none else { unreachable!() };
    std::fs::write(path, b"no object at all").unwrap();
    assert!(refused(&none).to_string().contains("can't be linked"));
    std::fs::write(path, vec![0; (1 << 20) + 1]).unwrap();
    assert!(refused(&none).to_string().contains("more than 1 MiB"));
    discard(&none);
    discard(&wild);
    assert_eq!(refused(&none).kind(), ErrorKind::NotFound);
}

#[test]
fn a_reload_without_a_module_changes_nothing() {
    if !is_root() {
        return;
    }
    let module = compile("tests/modules/puppet.bpf.c");
    let switch = Temporary::new(&spec(module.clone())).unwrap();
    discard(&module);
    let [mut a, mut b] = switch.ports();
    let kept = map(&switch, "object");
    let was = kept.lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
    let mut spoilt = was.clone();
    spoilt[256..].fill(0);
    kept.update(&[0; 4], &spoilt, MapFlags::ANY).unwrap();
    assert_eq!(switch.reload().unwrap_err().kind(), ErrorKind::Unfit);
    send(&mut a, &[order(2, [0; 4], 64)]);
    assert_eq!(receive(&mut b).len(), 1);
    kept.update(&[0; 4], &was, MapFlags::ANY).unwrap();
    switch.reload().unwrap();
    send(&mut a, &[order(2, [0; 4], 64)]);
    assert_eq!(receive(&mut b).len(), 1);
}
