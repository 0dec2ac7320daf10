//! Peers of `memif:` ports that break the rules of the shared rings. Each is disconnected with a reason; a port beside goes on, and
//! the next peer is served.
//!
//! `RINGWAY_MEMIF_WRITES=10000000` lets a client write so many random words into the memory that it shares.
#![allow(unsafe_code, reason = "the tests' support makes system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use ringway::{OpenOptions, Port};
use ringway_memif::{
    Access, Address, Channel, Client, Descriptor, Link, Listening, Message, Offer, OfferedMemory, Reason,
    Session, Terms, connect_to,
};

use ringway_lab::TemporaryFolder;
use support::{Flow, LIMIT, Random, eventually};

/// A socket name that no other test has.
fn socket() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("@ringway-memif-hostile-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed))
}

fn open(name: &str) -> Port {
    OpenOptions::new().slots(64).open(name).unwrap()
}

fn sync(port: &mut Port) {
    port.rx[0].sync().unwrap();
    port.tx[0].sync().unwrap();
}

/// A client of a test's making.
struct Peer {
    channel: Channel,
    link: Link,
}

impl Peer {
    /// Connects to interface `id`, with rings of 16 slots and buffers of 2048 bytes, while `port` serves.
    fn connect(at: &str, id: u32, port: &mut Port) -> Self {
        let address = Address::parse(at).unwrap();
        let (mut waiting, start) = (None, Instant::now());
        // No pause between two looks, for some tests connect thousands of times.
        loop {
            assert!(start.elapsed() < LIMIT, "the server does not let the client in: {}", port.status());
            sync(port);
            let mut client = waiting.take().unwrap_or_else(|| {
                let channel = Channel::new(connect_to(&address).unwrap().unwrap(), Access::Own).unwrap();
                let memory = OfferedMemory::Copied(2048);
                Client::new(
                    channel,
                    Offer { id, secret: [0; 24], name: "hostile".into(), rings: 1, log2: 4, memory },
                )
            });
            match client.advance() {
                Ok(Some(link)) => return Self { channel: client.into_channel(), link },
                Ok(None) => waiting = Some(client),
                Err(_) => {} // the last client has not been missed yet
            }
        }
    }

    /// Puts a descriptor into the ring to the server, and publishes it.
    fn send(&self, at: u16, d: Descriptor) {
        let ring = &self.link.c2s[0].ring;
        ring.descriptors().write(at, d);
        ring.set_head(at.wrapping_add(1));
    }

    /// The reason that the server gives while `port` works on.
    fn reason(&self, port: &mut Port) -> String {
        let mut said = String::new();
        eventually("the server says why it disconnects", || {
            sync(port);
            port.tx[0].push(&[7; 60]);
            match self.channel.receive() {
                Ok(Some((Message::Disconnect { why, .. }, _))) => {
                    said = ringway_memif::text(&why);
                    Ok(())
                }
                other => Err(format!("{other:?}")),
            }
        });
        said
    }
}

/// Frames go from `from` to `to`.
fn flows(from: &mut Port, to: &mut Port, stream: u16) {
    eventually("both are connected", || {
        sync(from);
        sync(to);
        if from.link_up().unwrap() && to.link_up().unwrap() { Ok(()) } else { Err(from.status()) }
    });
    let mut flow = Flow::new(stream);
    flow.send(&mut from.tx[0], 60, 20);
    eventually("frames arrive", || {
        sync(from);
        sync(to);
        flow.take(&mut to.rx[0]);
        if flow.received == 20 { Ok(()) } else { Err(format!("{} of 20", flow.received)) }
    });
}

#[test]
fn a_server_names_what_its_client_broke() {
    let at = socket();
    let mut port = open(&format!("memif:{at},id=1"));
    let mut beside = open(&format!("memif:{at},id=2"));
    let mut good = open(&format!("memif:{at},id=2,role=client"));
    flows(&mut good, &mut beside, 1);
    let plain = |peer: &Peer| peer.link.c2s[0].buffers.unwrap().of_slot(0);
    let post = |peer: &Peer, d: Descriptor| {
        (0..16).for_each(|slot| peer.link.s2c[0].ring.descriptors().write(slot, d));
    };
    type Break<'a> = &'a dyn Fn(&Peer);
    let outside = "A descriptor is outside its region";
    let rules: [(&str, Break<'_>); 11] = [
        (outside, &|p| p.send(0, Descriptor { offset: u32::MAX, len: 60, ..plain(p) })),
        (outside, &|p| p.send(0, Descriptor { len: u32::MAX, ..plain(p) })),
        (outside, &|p| p.send(0, Descriptor { region: 1, len: 60, ..plain(p) })),
        ("A ring counter jumped", &|p| p.link.c2s[0].ring.set_head(17)),
        ("A ring counter jumped", &|p| p.link.c2s[0].ring.set_head(0x8000)),
        ("A chain has no end", &|p| {
            (0..16).for_each(|at| p.send(at, Descriptor { more: true, len: 60, ..plain(p) }));
        }),
        (outside, &|p| post(p, Descriptor { offset: u32::MAX - 63, ..plain(p) })),
        (outside, &|p| post(p, Descriptor { region: 9, ..plain(p) })),
        ("A ring counter jumped", &|p| p.link.s2c[0].ring.set_head(0x4000)),
        ("Unexpected message", &|p| p.channel.send(&Message::Ack, None).unwrap()),
        ("Unexpected message", &|p| p.channel.send(&Message::Connect([0; 32]), None).unwrap()),
    ];
    for (k, (reason, break_rule)) in rules.iter().enumerate() {
        let peer = Peer::connect(&at, 1, &mut port);
        break_rule(&peer);
        assert_eq!(peer.reason(&mut port), *reason, "rule {k}");
        assert!(!port.link_up().unwrap() && port.status().contains(reason), "{}", port.status());
        flows(&mut good, &mut beside, 1);
    }
    let mut next = open(&format!("memif:{at},id=1,role=client"));
    // Frames for the broken peers still wait in its ring.
    eventually("the next client is served", || {
        sync(&mut port);
        sync(&mut next);
        if next.rx[0].avail() > 0 { Ok(()) } else { Err(port.status()) }
    });
}

/// A server of a test's making, and a client port that met it.
fn serve(at: &str, options: &str) -> (Port, Channel, Link) {
    let listening = Listening::at(&Address::parse(at).unwrap(), Access::Own, "test").unwrap();
    let mut port = open(&format!("memif:{at},role=client{options}"));
    let (mut session, mut up) = (None, None);
    eventually("the client connects", || {
        sync(&mut port);
        if session.is_none()
            && let Some(socket) = listening.accept()
        {
            session = Some(Session::new(Channel::new(socket, Access::Own).unwrap(), "hostile", 1).unwrap());
        }
        let terms = Terms { rings: 1, secret: [0; 24], unsealed: false };
        let link = session.as_mut().and_then(|s| s.advance(|_| Ok(terms)).unwrap());
        up = link.or(up.take().map(|(_, link)| (0, link)));
        if up.is_some() && port.link_up().unwrap() { Ok(()) } else { Err("it shakes hands".into()) }
    });
    (port, session.unwrap().into_channel(), up.unwrap().1)
}

#[test]
fn a_client_names_what_its_server_broke() {
    for options in ["", ",zero-copy=yes"] {
        type Break<'a> = &'a dyn Fn(&Link);
        let fill = |link: &Link, len: u32, more: bool| {
            let ring = &link.s2c[0].ring;
            (0..16).for_each(|at| {
                ring.descriptors().write(at, Descriptor { len, more, ..ring.descriptors().read(at) })
            });
            ring.set_tail(16);
        };
        let rules: [(&str, Break<'_>); 5] = [
            ("A descriptor is outside its region", &|l| fill(l, 65536, false)),
            ("A chain has no end", &|l| fill(l, 60, true)),
            ("A ring counter jumped", &|l| l.s2c[0].ring.set_tail(0x8000)),
            ("A ring counter jumped", &|l| l.c2s[0].ring.set_tail(0x8000)),
            ("A ring counter jumped", &|l| l.c2s[0].ring.set_tail(u16::MAX)),
        ];
        for (k, (reason, break_rule)) in rules.iter().enumerate() {
            let (mut port, channel, link) = serve(&socket(), options);
            sync(&mut port);
            break_rule(&link);
            let mut said = String::new();
            eventually("the client says why it disconnects", || {
                port.tx[0].push(&[7; 60]);
                sync(&mut port);
                match channel.receive() {
                    Ok(Some((Message::Disconnect { why, .. }, _))) => said = ringway_memif::text(&why),
                    other => return Err(format!("{other:?}")),
                }
                Ok(())
            });
            assert_eq!(said, *reason, "rule {k}{options}");
            let tx = port.counters().tx;
            assert_eq!(tx.frames_in, tx.frames_out + tx.dropped(), "{tx:?}");
        }
    }
}

/// The next message of a server that `port` drives.
fn answer(channel: &Channel, port: &mut Port) -> Message {
    let mut answered = None;
    eventually("the server answers", || {
        sync(port);
        answered = channel.receive().unwrap().map(|(message, _)| message);
        answered.map(drop).ok_or_else(|| port.status())
    });
    answered.unwrap()
}

/// A client offers a file that it could cut short later: the server seals it, or does not map it.
#[test]
fn memory_that_could_be_cut_short_is_sealed_or_refused() {
    let at = socket();
    let mut port = open(&format!("memif:{at}"));
    let offer = |port: &mut Port, file: BorrowedFd<'_>| {
        let socket = connect_to(&Address::parse(&at).unwrap()).unwrap().unwrap();
        let channel = Channel::new(socket, Access::Own).unwrap();
        assert!(matches!(answer(&channel, port), Message::Hello { .. }));
        let (version, secret, name) = (ringway_memif::VERSION, [0; 24], [0; 32]);
        channel.send(&Message::Init { version, id: 0, mode: 0, secret, name }, None).unwrap();
        assert_eq!(answer(&channel, port), Message::Ack);
        channel.send(&Message::AddRegion { index: 0, size: 4096 }, Some(file)).unwrap();
        answer(&channel, port)
    };
    let open_to_seals = ringway_sys::fd::scratch(c"test").unwrap();
    open_to_seals.set_len(4096).unwrap();
    assert_eq!(offer(&mut port, open_to_seals.as_fd()), Message::Ack);
    assert!(open_to_seals.set_len(0).is_err(), "the server has sealed it");
    let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
    let plain = File::create_new(folder.path().join("region")).unwrap();
    plain.set_len(4096).unwrap();
    let Message::Disconnect { why, .. } = offer(&mut port, plain.as_fd()) else { panic!("it was mapped") };
    assert_eq!(ringway_memif::text(&why), Reason::Unsealed(0).to_string());
    assert!(port.status().contains("not sealed against shrinking"), "{}", port.status());
}

#[test]
fn random_words_in_shared_memory_harm_only_their_writer() {
    let writes: u64 = std::env::var("RINGWAY_MEMIF_WRITES").map_or(40_000, |n| n.parse().unwrap());
    let at = socket();
    let mut port = open(&format!("memif:{at},id=1"));
    let mut beside = open(&format!("memif:{at},id=2"));
    let mut good = open(&format!("memif:{at},id=2,role=client"));
    let (mut random, mut done, mut peers) = (Random(3), 0, 0);
    while done < writes {
        let peer = Peer::connect(&at, 1, &mut port);
        peers += 1;
        loop {
            for _ in 0..16 {
                write(&peer.link, &mut random);
            }
            done += 16;
            port.tx[0].push(&[7; 1514]);
            sync(&mut port);
            port.rx[0].burst(u32::MAX).for_each(|f| assert!(f.len() <= 64 * 2112));
            if !matches!(peer.channel.receive(), Ok(None)) || done >= writes {
                break;
            }
        }
        if peers % 16 == 0 {
            flows(&mut good, &mut beside, 1);
        }
    }
    let (rx, tx) = (port.counters().rx, port.counters().tx);
    assert_eq!((rx.frames_in, tx.frames_in), (rx.frames_out + rx.dropped(), tx.frames_out + tx.dropped()));
    assert!(peers > 1, "nothing was ever found wrong");
}

/// One random word where it hurts: a counter, or a part of a descriptor.
fn write(link: &Link, random: &mut Random) {
    let at = random.below(16) as u16;
    let small = random.below(20) as u16;
    let any = random.next();
    let ring = if random.below(2) == 0 { &link.c2s[0].ring } else { &link.s2c[0].ring };
    let d = ring.descriptors().read(at);
    match random.below(7) {
        0 => ring.set_head(ring.tail().wrapping_add(small)),
        1 => ring.set_tail(ring.head().wrapping_sub(small)),
        2 if any.is_multiple_of(64) => ring.set_head(any as u16),
        2 => ring.mask_interrupts(any.is_multiple_of(2)),
        3 => ring.descriptors().write(at, Descriptor { more: any.is_multiple_of(2), ..d }),
        4 => ring.descriptors().write(at, Descriptor { len: (any % 3000) as u32, ..d }),
        5 => ring.descriptors().write(at, Descriptor { offset: (any % (1 << 17)) as u32, ..d }),
        _ => ring.descriptors().write(at, Descriptor { region: u16::from(any.is_multiple_of(256)), ..d }),
    }
}
