//! The data path allocates nothing: sync, burst, push, forward, arm and wait, on every kind of ring. The `ebpf:` part
//! needs root; it says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use ringway::{OpenOptions, Port, Waiter, forward};
use ringway_lab::counting::{CountingAllocator, of_this_thread};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Runs the step some times for what is made once, then many times, which must allocate nothing.
fn steady(what: &str, mut step: impl FnMut()) {
    (0..20).for_each(|_| step());
    let before = of_this_thread();
    (0..2000).for_each(|_| step());
    let made = of_this_thread() - before;
    assert_eq!(made, 0, "{what}: allocations in 2000 steps");
}

/// Sends bursts of both kinds and of chains from `a` to `b` and reads them.
fn cross(what: &str, a: &mut Port, b: &mut Port, longest: usize) {
    let frame = vec![0xff; longest];
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    let (mut turn, mut got) = (0usize, 0);
    steady(what, || {
        turn += 1;
        let len = [60, 1514, longest][turn % 3];
        (0..[1, 5, 40][turn / 3 % 3]).for_each(|_| _ = a.tx[0].push(&frame[..len]));
        a.tx[0].sync().unwrap();
        waiter.wait(&mut [&mut b.rx[0]], Duration::from_millis(5)).unwrap();
        for f in b.rx[0].burst(u32::MAX) {
            got += f.parts().map(<[u8]>::len).sum::<usize>();
        }
        b.rx[0].arm().unwrap();
    });
    assert!(got > 2000 * 60, "{what}: {got} bytes arrived");
}

/// One test for all, for the count is of the whole process.
#[test]
fn the_data_path_allocates_nothing() {
    let id = std::process::id();
    let [mut a, mut b] = ["{", "}"].map(|end| Port::open(&format!("pipe:steady-{id}{end}")).unwrap());
    cross("pipe", &mut a, &mut b, 9000);
    let [mut sink, mut source] = OpenOptions::new().open_all(["null:", "null:"]).unwrap();
    steady("null: forwarded without a copy", || {
        source.rx[0].sync().unwrap();
        assert!(forward(&mut source.rx[0], &mut sink.tx[0], 256) > 0);
        sink.tx[0].sync().unwrap();
    });
    steady("null: forwarded with a copy", || {
        source.rx[0].sync().unwrap();
        forward(&mut source.rx[0], &mut a.tx[0], 256);
        a.tx[0].sync().unwrap();
        b.rx[0].sync().unwrap();
        b.rx[0].burst(u32::MAX).count();
    });
    let Some(lab) = support::new_pair() else { return };
    lab.veth("b0", "b1").unwrap();
    lab.set_mtu(["a0", "a1"], 9000).unwrap();
    let [mut a, mut b, mut c] = support::open_all(&lab, ["ebpf:a0", "ebpf:a1", "ebpf:b0"]);
    lab.run_napi("b1").unwrap();
    cross("ebpf", &mut a, &mut b, 9000);
    let mut moved = 0;
    steady("ebpf: forwarded", || {
        (0..20).for_each(|_| _ = a.tx[0].push(&[0xff; 60]));
        a.tx[0].sync().unwrap();
        b.rx[0].sync().unwrap();
        moved += forward(&mut b.rx[0], &mut c.tx[0], 256);
        c.tx[0].sync().unwrap();
    });
    assert!(moved > 1000, "{moved}");
}
