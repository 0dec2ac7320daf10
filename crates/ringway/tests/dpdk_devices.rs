//! Ports of DPDK's virtual devices. Needs root and the plugin; says so and passes without.
//!
//! Objective: frames arrive whole and in order, on all queues, however long they are; the counters close; devices go away with their
//! ports and can be opened again.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use ringway::{DropReason, ErrorKind, Gso, OpenOptions, Pairing, Port, Waiter, forward, open_ports};
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_lab::{AnyError, Lab, TemporaryFolder};

use ringway_wire::offload::SegmentKind;
use support::dpdk::new_lab;
use support::offload::{Sender, on_a_wire, unfinished};
use support::{
    Flow, LIMIT, Wait, assert_balanced, assert_clear, eventually, open, open_all, promiscuity, readable,
    try_open, whole,
};

/// A namespace with the veth pair a0-a1.
fn new_pair() -> Option<Lab> {
    let lab = new_lab()?;
    lab.veth("a0", "a1").unwrap();
    Some(lab)
}

#[test]
fn a_device_without_a_wire_takes_and_gives_frames_without_end() {
    let Some(lab) = new_lab() else { return };
    let mut port = open(&lab, "dpdk:net_null0,size=60");
    assert!(port.info().backend.contains("driver net_null"), "{}", port.info().backend);
    assert_eq!(port.info().max_frame, 1514);
    let mut sent = 0;
    while sent < 10_000 {
        sent += u64::from(port.tx[0].push(&[7; 60]));
        if port.tx[0].free() == 0 {
            port.tx[0].sync().unwrap();
        }
    }
    port.tx[0].sync().unwrap();
    let mut received = 0;
    while received < 10_000 {
        assert!(port.rx[0].sync().unwrap() > 0);
        received += port.rx[0].burst(u32::MAX).inspect(|f| assert_eq!(f.len(), 60)).count();
    }
    let counters = port.counters();
    assert_eq!(
        (counters.tx.frames_in, counters.tx.frames_out, counters.tx.bytes_out),
        (10_000, 10_000, 600_000)
    );
    assert_balanced(&counters.rx);
}

#[test]
fn frames_that_can_not_be_sent_have_a_reason() {
    let Some(lab) = new_lab() else { return };
    let mut port = open(&lab, "dpdk:net_null1@mtu=3000");
    assert_eq!(port.info().max_frame, 3014);
    for len in [13, 14, 3014, 3015, 9000] {
        assert!(port.tx[0].push(&vec![1; len]));
    }
    let mut tagged = vec![1; 3018];
    tagged[12..14].copy_from_slice(&[0x81, 0]);
    assert!(port.tx[0].push(&tagged));
    port.tx[0].sync().unwrap();
    let tx = port.counters().tx;
    assert_eq!((tx.frames_in, tx.frames_out), (6, 3), "{tx}");
    assert_eq!((tx.drops(DropReason::TooShort), tx.drops(DropReason::TooLong)), (1, 2), "{tx}");
}

#[test]
fn each_queue_gives_its_frames_back_whole_and_in_order() {
    let Some(lab) = new_lab() else { return };
    let options = OpenOptions::new().slots(128);
    let mut port =
        lab.run(|| Ok::<_, AnyError>(options.open("dpdk:net_ring0@queues=4@mtu=9000").unwrap())).unwrap();
    assert_eq!((port.rx.len(), port.tx.len()), (4, 4));
    let mut flows: Vec<Flow> = (0..4).map(Flow::new).collect();
    for round in 0..200 {
        for (queue, flow) in flows.iter_mut().enumerate() {
            for len in [14, 60, 2048, 2049, 9014] {
                flow.push(&mut port.tx[queue], len - round % 7 * usize::from(len > 60));
            }
            port.tx[queue].sync().unwrap();
        }
        for (queue, flow) in flows.iter_mut().enumerate() {
            while flow.received < flow.next {
                flow.take(&mut port.rx[queue]);
            }
        }
    }
    assert!(flows.iter().all(|flow| flow.chained > 0 && flow.received == 1000));
    let counters = port.counters();
    assert_eq!((counters.tx.frames_out, counters.rx.frames_out, counters.rx.dropped()), (4000, 4000, 0));
}

/// The ring of the device is full: frames wait in the tx ring, and a sleeper is woken when there is room.
#[test]
fn a_full_device_makes_senders_wait() {
    let Some(lab) = new_lab() else { return };
    let mut port = open(&lab, "dpdk:net_ring1");
    let mut flow = Flow::new(1);
    let mut stuck = 0;
    while stuck < 3 {
        while port.tx[0].free() > 0 {
            flow.push(&mut port.tx[0], 60);
        }
        port.tx[0].sync().unwrap();
        stuck = if port.tx[0].free() == 0 { stuck + 1 } else { 0 };
    }
    assert!(!port.tx[0].arm().unwrap());
    assert_eq!(port.counters().tx.dropped(), 0);
    flow.take(&mut port.rx[0]);
    let mut waiter = Waiter::new(Duration::ZERO).unwrap();
    let Port { rx, tx, .. } = &mut port;
    assert!(waiter.wait(&mut [&mut tx[0]], LIMIT).unwrap(), "a slot is free");
    while flow.received < flow.next {
        tx[0].sync().unwrap();
        flow.take(&mut rx[0]);
    }
}

/// Frames that lie in the device when it goes are freed with it, so that there is memory for the next one.
#[test]
fn a_device_is_opened_again_and_again() {
    let Some(lab) = new_lab() else { return };
    for round in 0..60 {
        let mut port = open(&lab, "dpdk:net_ring2@queues=2");
        let mut flow = Flow::new(round);
        flow.send(&mut port.tx[1], 700, 900);
        if round % 2 == 0 {
            flow.take(&mut port.rx[1]);
        }
        let refused = try_open(&lab, "dpdk:net_ring2").unwrap_err();
        assert_clear(&refused, ErrorKind::Busy, "dpdk:net_ring2", "close the other port");
    }
}

#[test]
fn what_dpdk_refuses_has_a_cure_and_leaves_nothing() {
    let Some(lab) = new_lab() else { return };
    for (name, kind, cure) in [
        ("dpdk:net_nonsense0", ErrorKind::NotFound, "DPDK's guide"),
        ("dpdk:ffff:fe:1f.0", ErrorKind::NotFound, "DPDK's guide"),
        ("dpdk:net_null2,nonsense=1", ErrorKind::Io, "DPDK's guide"),
        ("dpdk:net_pcap9,rx_pcap=/nonexistent", ErrorKind::Io, "DPDK's guide"),
        ("dpdk:net_af_packet9,iface=none0", ErrorKind::Io, "DPDK's guide"),
        ("dpdk:crypto_null0", ErrorKind::Unsupported, "one Ethernet port"),
        ("dpdk:net_ring3@queues=17", ErrorKind::Unsupported, "@queues="),
    ] {
        for _ in 0..2 {
            assert_clear(&try_open(&lab, name).unwrap_err(), kind, name, cure);
        }
    }
    drop(open(&lab, "dpdk:net_null2"));
    drop(open(&lab, "dpdk:net_ring3@queues=16"));
    let left =
        std::fs::read_dir("/run/dpdk").unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    let own = format!("ringway-{}", std::process::id());
    assert!(left.into_iter().all(|name| name != own), "DPDK's folder is left in /run/dpdk");
}

#[test]
fn options_that_do_not_go_with_a_device_are_refused() {
    let Some(lab) = new_lab() else { return };
    let refused = |options: &OpenOptions| {
        lab.run(|| Ok::<_, AnyError>(options.open("dpdk:net_null3").unwrap_err())).unwrap().kind()
    };
    assert_eq!(refused(&OpenOptions::new().send_only(true)), ErrorKind::Unsupported);
    assert_eq!(refused(&OpenOptions::new().copy(true)), ErrorKind::Invalid);
    drop(open(&lab, "dpdk:net_null3"));
}

/// A pair in one region forwards by exchanging buffers.
#[test]
fn devices_share_a_region() {
    let Some(lab) = new_lab() else { return };
    let [mut a, mut b] = open_all(&lab, ["dpdk:net_ring4", "dpdk:net_ring5"]);
    assert_eq!(Pairing::of(&a.rx[0], &b.tx[0]), Pairing::Swap);
    let mut flow = Flow::new(1);
    for _ in 0..50 {
        flow.send(&mut a.tx[0], 1000, 100);
        while b.counters().tx.frames_out < flow.next {
            a.rx[0].sync().unwrap();
            forward(&mut a.rx[0], &mut b.tx[0], u32::MAX);
            b.tx[0].sync().unwrap();
        }
        flow.take_all(&mut b.rx[0], &a);
    }
    assert_eq!(flow.received, 5000);
}

#[test]
fn a_sleeper_wakes_when_a_frame_comes() {
    let Some(lab) = new_lab() else { return };
    let mut port = open(&lab, "dpdk:net_ring6");
    let Port { rx, tx, .. } = &mut port;
    let mut flow = Flow::new(1);
    for _ in 0..10 {
        assert!(!rx[0].arm().unwrap(), "nothing is there");
        flow.send(&mut tx[0], 60, 1);
        assert!(readable(Wait::Poll, rx[0].as_fd().as_raw_fd(), LIMIT.as_millis() as i32));
        assert_eq!(flow.take(&mut rx[0]), 1);
        assert!(!readable(Wait::Poll, rx[0].as_fd().as_raw_fd(), 0), "nobody asked");
    }
    // A frame that comes between a sync and the sleep is found at once.
    flow.send(&mut tx[0], 60, 1);
    assert!(rx[0].arm().unwrap());
    assert_eq!(flow.take(&mut rx[0]), 1);
}

/// A file holds what was sent, and gives it back: also frames of several parts.
#[test]
fn files_hold_what_was_sent() {
    let Some(lab) = new_lab() else { return };
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    let file = folder.path().join("sent.pcap");
    let mut flow = Flow::new(3);
    let mut to = open(&lab, &format!("dpdk:net_pcap0,tx_pcap={}@mtu=9000", file.display()));
    for len in [60, 1514, 2049, 9014] {
        flow.send(&mut to.tx[0], len, 50);
    }
    assert_eq!(to.counters().tx.frames_out, 200);
    drop(to);
    let mut from = open(&lab, &format!("dpdk:net_pcap0,rx_pcap={}", file.display()));
    while flow.received < 200 {
        flow.take(&mut from.rx[0]);
    }
    assert_eq!(flow.chained, 100);
    let mut again = Flow { next: 200, ..Flow::new(3) };
    let mut from = open(&lab, &format!("pcap:{}@top", file.display()));
    while again.received < 200 {
        again.take(&mut from.rx[0]);
    }
}

#[test]
fn packet_sockets_bring_and_take_frames_of_an_interface() {
    let Some(lab) = new_pair() else { return };
    let mut port = open(&lab, "dpdk:net_af_packet0,iface=a0,qpairs=2@queues=2");
    assert_eq!(promiscuity(&lab, "a0"), 1);
    assert!(port.link_up().unwrap());
    let (peer, mut witness) = (RawSender::open(&lab, "a1").unwrap(), RawReceiver::open(&lab, "a1").unwrap());
    let of_test = |frame: &[u8]| frame.len() >= 14 && frame[12..14] == [0x88, 0xb5];
    for queue in 0..2u8 {
        let mut frame = [queue; 100];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        assert!(port.tx[usize::from(queue)].push(&frame));
        port.tx[usize::from(queue)].sync().unwrap();
        let seen = std::iter::from_fn(|| witness.next(LIMIT).unwrap()).find(|f| of_test(f));
        assert_eq!(seen.as_deref(), Some(&frame[..]));
        peer.send(&frame).unwrap();
        eventually("the frame arrives", || {
            for rx in &mut port.rx {
                rx.sync().unwrap();
                if rx.burst(u32::MAX).any(|f| whole(&f) == frame) {
                    return Ok(());
                }
            }
            Err("it does not".into())
        });
    }
    assert_balanced(&port.counters().rx);
    drop(port);
    assert_eq!(promiscuity(&lab, "a0"), 0, "the mode goes with the port");
    let options = OpenOptions::new().promiscuous(false);
    let port = lab.run(|| Ok::<_, AnyError>(options.open("dpdk:net_af_packet0,iface=a0").unwrap())).unwrap();
    assert_eq!(promiscuity(&lab, "a0"), 0);
    drop(port);
}

/// Frames of that length do not fit into the driver's 2048 bytes. It cuts them and says nothing, so the port does.
#[test]
fn packet_sockets_of_dpdk_cut_long_frames_and_the_port_says_so() {
    let Some(lab) = new_pair() else { return };
    lab.set_mtu(["a0", "a1"], 4000).unwrap();
    let mut port = open(&lab, "dpdk:net_af_packet4,iface=a0");
    let says = &port.info().backend;
    assert!(says.contains("cuts received frames") && says.contains("does not count"), "{says}");
    let peer = RawSender::open(&lab, "a1").unwrap();
    for (len, arrives) in [(1982, 1982), (1983, 1982), (4014, 1982)] {
        let mut frame = vec![7; len];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        peer.send(&frame).unwrap();
        let mut came = Vec::new();
        eventually("the frame arrives", || {
            port.rx[0].sync().unwrap();
            came.extend(port.rx[0].burst(u32::MAX).map(|f| whole(&f)).filter(|f| f[..2] == [7; 2]));
            if came.is_empty() { Err("it does not".into()) } else { Ok(()) }
        });
        assert!(came.len() == 1 && came[0][..] == frame[..arrives], "{} of {len}", came[0].len());
    }
    assert_eq!(port.counters().rx.dropped(), 0);
    drop(port);
    let port = open(&lab, "dpdk:net_null4");
    assert!(!port.info().backend.contains("cuts"), "{}", port.info().backend);
}

/// The host of the far end leaves checksums to its interface, and the driver does not say so.
#[test]
fn checksums_of_hosts_are_finished() {
    let Some(lab) = new_pair() else { return };
    lab.ip("addr add 10.0.0.1/24 dev a1").unwrap();
    lab.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a1").unwrap();
    for (name, raw) in [("dpdk:net_af_packet1,iface=a0", false), ("dpdk:net_af_packet1,iface=a0", true)] {
        let options = OpenOptions::new().raw(raw);
        let mut port = lab.run(|| Ok::<_, AnyError>(options.open(name).unwrap())).unwrap();
        lab.run(|| Ok::<_, AnyError>(UdpSocket::bind("10.0.0.1:5")?.send_to(&[9; 300], "10.0.0.2:7")?))
            .unwrap();
        let mut datagram = None;
        eventually("the datagram arrives", || {
            port.rx[0].sync().unwrap();
            datagram = port.rx[0].burst(u32::MAX).map(|f| whole(&f)).find(|f| f.len() == 342 && f[23] == 17);
            datagram.as_ref().map(|_| ()).ok_or_else(|| "it does not".into())
        });
        let datagram = datagram.unwrap();
        let pseudo = [&datagram[26..34], &[0, 17], &datagram[38..40], &datagram[34..]].concat();
        assert_eq!(ringway_wire::checksum::of(&pseudo) == 0, !raw);
    }
}

/// A super-frame that a packet socket received whole leaves as the frames that it stands for, and an unfinished one is finished.
#[test]
fn work_that_senders_left_is_done() {
    let Some(lab) = new_pair() else { return };
    let sender = Sender::open(&lab, "a1");
    let options = OpenOptions::new().gso(Gso::Carry);
    let names = ["packet:a0", "dpdk:net_ring7"];
    let [mut from, mut port] = lab.run(|| Ok::<_, AnyError>(options.open_all(names).unwrap())).unwrap();
    for (kind, tagged, payload, size) in [
        (SegmentKind::Tcp4, false, 60_000, Some(1448)),
        (SegmentKind::Tcp4, true, 40_000, Some(400)),
        (SegmentKind::Tcp6, false, 60_000, Some(900)),
        (SegmentKind::Tcp4, false, 900, None),
    ] {
        let (frame, offload) = unfinished(kind, tagged, payload, size);
        let expected = on_a_wire(&frame, &offload);
        let before = port.counters().tx;
        sender.send(&frame, offload);
        let mut received = Vec::new();
        eventually("all segments arrive", || {
            from.rx[0].sync().unwrap();
            forward(&mut from.rx[0], &mut port.tx[0], u32::MAX);
            port.tx[0].sync().unwrap();
            port.rx[0].sync().unwrap();
            // The host has something to say, too: neighbour discovery.
            received.extend(port.rx[0].burst(u32::MAX).map(|f| whole(&f)).filter(|f| f[..6] == frame[..6]));
            if received.len() >= expected.len() { Ok(()) } else { Err(format!("{}", received.len())) }
        });
        assert!(received == expected, "{kind:?}");
        let tx = port.counters().tx;
        assert!(tx.frames_out > before.frames_out);
        assert_eq!(tx.dropped(), 0, "{tx}");
    }
    // One that makes no sense, or whose segments are too long, is dropped by name.
    let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 9000, Some(4000));
    sender.send(&frame, offload);
    eventually("the frame is dropped", || {
        from.rx[0].sync().unwrap();
        forward(&mut from.rx[0], &mut port.tx[0], u32::MAX);
        port.tx[0].sync().unwrap();
        let tx = port.counters().tx;
        if tx.drops(DropReason::TooLong) == 1 { Ok(()) } else { Err(tx.to_string()) }
    });
    assert_balanced(&port.counters().tx);
}

/// libpcap's ring is full: the frames are named, and the account closes.
#[test]
fn frames_that_the_driver_misses_are_named() {
    const SENT: usize = 5000;
    let Some(lab) = new_pair() else { return };
    let mut port = open(&lab, "dpdk:net_pcap2,iface=a0");
    let peer = RawSender::open(&lab, "a1").unwrap();
    let mut frame = [0; 1500];
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    (0..SENT).for_each(|_| peer.send(&frame).unwrap());
    let mut received = 0;
    eventually("all frames are accounted for", || {
        port.rx[0].sync().unwrap();
        received += port.rx[0].burst(u32::MAX).filter(|f| f.bytes()[12..14] == [0x88, 0xb5]).count();
        let rx = port.counters().rx;
        let missed = rx.drops(DropReason::RingFull) as usize;
        if received + missed >= SENT && missed > 0 {
            Ok(())
        } else {
            Err(format!("{received} arrived; {rx}"))
        }
    });
    assert_balanced(&port.counters().rx);
    let watch = port.watch();
    let before = watch.counters().rx;
    drop(port);
    assert_eq!(watch.counters().rx.dropped(), before.dropped(), "the account outlives the device");
    assert_balanced(&watch.counters().rx);
}

/// A device that takes frames and can't send them says so later. The ring that sent them has the loss.
#[test]
fn frames_that_the_device_could_not_send_are_named() {
    let Some(lab) = new_pair() else { return };
    for (name, ring) in [
        ("dpdk:net_af_packet3,iface=a0", 0),
        ("dpdk:net_af_packet3,iface=a0,qpairs=2@queues=2", 0),
        ("dpdk:net_af_packet3,iface=a0,qpairs=2@queues=2", 1),
    ] {
        let mut port = open(&lab, name);
        let mut flow = Flow::new(1);
        flow.send(&mut port.tx[ring], 100, 20);
        assert_eq!(port.counters().tx.frames_out, 20);
        lab.ip("link set a0 down").unwrap();
        for _ in 0..30 {
            assert!(port.tx[ring].push(&[1; 100]));
        }
        eventually("all frames are named", || {
            port.tx.iter_mut().for_each(|tx| _ = tx.sync().unwrap());
            let tx = port.counters().tx;
            let named = (tx.frames_out, tx.drops(DropReason::DeviceRefused));
            // As another process reads them: they get there when the ring asks the device the next time.
            let listed = open_ports().into_iter().find(|p| p.pid == std::process::id() && p.name == name);
            let listed = listed.unwrap().tx[ring].counters;
            if named == (20, 30) && listed.frames_out == 20 { Ok(()) } else { Err(format!("{tx}; {listed}")) }
        });
        assert_eq!(port.counters().tx.bytes_out, 2000);
        let listed =
            open_ports().into_iter().find(|p| p.pid == std::process::id() && p.name == name).unwrap();
        for (at, tx) in listed.tx.iter().enumerate() {
            let expected = if at == ring { (50, 20, 2000, 30) } else { (0, 0, 0, 0) };
            let tx = tx.counters;
            assert_eq!(
                (tx.frames_in, tx.frames_out, tx.bytes_out, tx.dropped()),
                expected,
                "ring {at} of {name}"
            );
        }
        drop(port);
        lab.ip("link set a0 up").unwrap();
    }
}

#[test]
fn a_tap_is_an_interface_of_the_host() {
    let Some(lab) = new_lab() else { return };
    let mut port = open(&lab, "dpdk:net_tap0,iface=dt0,mac=fixed");
    lab.ip("addr add 10.0.0.1/24 dev dt0").unwrap();
    lab.ip("link set dt0 up").unwrap();
    lab.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev dt0").unwrap();
    let host = lab.run(|| Ok::<_, AnyError>(UdpSocket::bind("10.0.0.1:5")?)).unwrap();
    host.set_read_timeout(Some(LIMIT)).unwrap();
    host.send_to(&[9; 300], "10.0.0.2:7").unwrap();
    let mut datagram = None;
    eventually("the datagram arrives", || {
        port.rx[0].sync().unwrap();
        datagram = port.rx[0].burst(u32::MAX).map(|f| whole(&f)).find(|f| f.len() == 342 && f[23] == 17);
        datagram.as_ref().map(|_| ()).ok_or_else(|| "it does not".into())
    });
    // The same one back: addresses and ports change places, so the checksums stay right.
    let mut answer = datagram.unwrap();
    let (mac, from) = (answer[..6].to_vec(), answer[6..12].to_vec());
    answer[..6].copy_from_slice(&from);
    answer[6..12].copy_from_slice(&mac);
    for (a, b, n) in [(26, 30, 4), (34, 36, 2)] {
        (0..n).for_each(|k| answer.swap(a + k, b + k));
    }
    assert!(port.tx[0].push(&answer));
    port.tx[0].sync().unwrap();
    let mut buf = [0; 512];
    let (n, from) = host.recv_from(&mut buf).unwrap();
    assert_eq!((&buf[..n], from), (&[9; 300][..], "10.0.0.2:7".parse().unwrap()));
    drop(port);
    assert!(lab.ip("link show dt0").is_err(), "the interface goes with the port");
}
