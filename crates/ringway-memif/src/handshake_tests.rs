//! Both sides of a handshake in one thread, and clients and servers that break each rule.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use proptest::prelude::*;
use ringway_sys::fd;
use ringway_sys::mmap::Mmap;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::*;

const TERMS: Terms = Terms { rings: 2, secret: [7; SECRET], unsealed: false };

fn pair() -> (Channel, Channel) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    (Channel::new(a, Access::Own).unwrap(), Channel::new(b, Access::Own).unwrap())
}

fn offer(memory: OfferedMemory) -> Offer {
    Offer { id: 5, secret: [7; SECRET], name: "client".into(), rings: 3, log2: 4, memory }
}

/// Runs both sides until each has its link, or one has a reason.
fn meet(offer: Offer, terms: Terms) -> Result<(Link, Link), Reason> {
    let (a, b) = pair();
    let (mut client, mut server) = (Client::new(a, offer), Session::new(b, "server", terms.rings)?);
    let (mut up, mut served) = (None, None);
    for _ in 0..64 {
        up = up.or(client.advance()?);
        let interface = |id| if id == 5 { Ok(terms) } else { Err(Reason::NoInterface(id)) };
        served = served.or(server.advance(interface).inspect_err(|why| server.channel().say_last(why))?);
        if let (Some(_), Some(_)) = (&up, &served) {
            break;
        }
    }
    Ok((up.expect("the client's link"), served.expect("the server's link").1))
}

#[test]
fn both_sides_see_the_same_memory() {
    let (client, server) = meet(offer(OfferedMemory::Copied(2048)), TERMS).unwrap();
    assert_eq!((client.role, server.role), (Role::Client, Role::Server));
    assert_eq!((client.peer.as_str(), server.peer.as_str()), ("server", "client"));
    assert_eq!((client.c2s.len(), server.s2c.len()), (2, 2), "the server allows two");
    let (tx, rx) = (client.tx(1).unwrap(), server.rx(1).unwrap());
    let place = tx.buffers.unwrap().of_slot(3);
    client.memory(place, 4).unwrap().write(place.offset as usize, b"ring");
    tx.ring.descriptors().write(3, place);
    tx.ring.set_head(4);
    assert_eq!((rx.ring.head(), rx.ring.size()), (4, 16));
    let seen = rx.ring.descriptors().read(3);
    let mut bytes = [0; 4];
    server.memory(seen, 4).unwrap().read(seen.offset as usize, &mut bytes);
    assert_eq!(&bytes, b"ring");
    assert_eq!(client.rx(0).unwrap().ring.head(), 16, "the server has all buffers");
    tx.bell.ring().unwrap();
    let poll = fd::Epoll::new().unwrap();
    poll.add(rx.bell.as_fd()).unwrap();
    assert!(poll.wait(0).unwrap());
}

#[test]
fn a_file_of_the_client_is_region_1() {
    let file = fd::memfd(c"test", 8192).unwrap();
    let mem = Arc::new(Mmap::shared(file.as_fd(), 8192, 0, true).unwrap());
    mem.write(4096, b"mine");
    let (client, server) = meet(offer(OfferedMemory::Shared(file, mem)), TERMS).unwrap();
    assert!(client.tx(0).unwrap().buffers.is_none());
    let d = Descriptor { more: false, region: 1, len: 4, offset: 4096 };
    let mut bytes = [0; 4];
    server.memory(d, 4).unwrap().read(4096, &mut bytes);
    assert_eq!(&bytes, b"mine");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let copied = || offer(OfferedMemory::Copied(2048));
    let said = |offer, terms| match meet(offer, terms) {
        Err(Reason::Said(why)) => why,
        Err(why) => why.to_string(),
        Ok(_) => "connected".into(),
    };
    assert_eq!(said(Offer { id: 6, ..copied() }, TERMS), "Unmatched interface id 6");
    assert_eq!(said(Offer { secret: [8; SECRET], ..copied() }, TERMS), "Incorrect secret");
}

/// A client of a test's making: it sends what it likes.
struct Hostile {
    channel: Channel,
    server: Session,
}

impl Hostile {
    fn new() -> Self {
        let (channel, b) = pair();
        let server = Session::new(b, "server", 2).unwrap();
        Self { channel, server }
    }

    fn send(&mut self, message: Message, file: Option<&OwnedFd>) -> Result<(), Reason> {
        self.channel.send(&message, file.map(AsFd::as_fd)).unwrap();
        self.server.advance(|_| Ok(TERMS)).map(drop)
    }

    /// One that said who it is, and added a region of 64 KiB.
    fn with_region() -> Self {
        let mut hostile = Self::new();
        hostile.send(init(VERSION, 0, 7), None).unwrap();
        let file = fd::memfd(c"test", 65536).unwrap();
        hostile.send(Message::AddRegion { index: 0, size: 65536 }, Some(&file)).unwrap();
        hostile
    }
}

fn init(version: u16, mode: u8, secret: u8) -> Message {
    Message::Init { version, id: 1, mode, secret: [secret; SECRET], name: name("hostile") }
}

fn ring(index: u16) -> RingPlace {
    RingPlace { c2s: true, index, region: 0, offset: 0, log2: 4, private_header: 0 }
}

#[test]
fn a_server_names_each_broken_rule() {
    let first = |message| Hostile::new().send(message, None).unwrap_err();
    assert_eq!(first(init(0x0300, 0, 7)), Reason::Version(0x0300));
    assert_eq!(first(init(VERSION, 1, 7)), Reason::Mode(1));
    assert_eq!(first(init(VERSION, 0, 9)), Reason::Secret);
    assert_eq!(first(Message::Ack), Reason::Order);
    assert_eq!(first(Message::Connect(name("x"))), Reason::Order);
    let file = fd::memfd(c"test", 65536).unwrap();
    let mut early = Hostile::new();
    assert_eq!(early.send(Message::AddRegion { index: 0, size: 1 }, Some(&file)), Err(Reason::Order));

    let region = |index, size, file: &OwnedFd| {
        Hostile::with_region().send(Message::AddRegion { index, size }, Some(file)).unwrap_err()
    };
    assert_eq!(region(0, 1, &file), Reason::RegionIndex(0));
    assert_eq!(region(2, 1, &file), Reason::RegionIndex(2));
    assert_eq!(region(1, 65537, &file), Reason::RegionSize(1));
    assert_eq!(region(1, 1, &File::open("/dev/zero").unwrap().into()), Reason::Unsealed(1));

    let bell = fd::eventfd().unwrap();
    let add = |place| Hostile::with_region().send(Message::AddRing(place), Some(&bell)).unwrap_err();
    assert_eq!(add(ring(1)), Reason::RingIndex(1));
    assert_eq!(add(RingPlace { region: 1, ..ring(0) }), Reason::RingPlace(0));
    assert_eq!(add(RingPlace { offset: 32, ..ring(0) }), Reason::RingPlace(0));
    assert_eq!(add(RingPlace { offset: 65536 - 64, ..ring(0) }), Reason::RingPlace(0));
    assert_eq!(add(RingPlace { log2: 0, ..ring(0) }), Reason::RingSize(0));
    assert_eq!(add(RingPlace { log2: 15, ..ring(0) }), Reason::RingSize(15));
    assert_eq!(
        Hostile::with_region().send(Message::AddRing(ring(0)), Some(&file)),
        Err(Reason::NoEventfd(0))
    );

    let connect = Message::Connect(name("x"));
    assert_eq!(Hostile::with_region().send(connect, None), Err(Reason::NoRings));
    let mut no_cookie = Hostile::with_region();
    no_cookie.send(Message::AddRing(ring(0)), Some(&bell)).unwrap();
    assert_eq!(no_cookie.send(connect, None), Err(Reason::Cookie(0)));
    let mut many = Hostile::with_region();
    many.send(Message::AddRing(ring(0)), Some(&bell)).unwrap();
    many.send(Message::AddRing(ring(1)), Some(&bell)).unwrap();
    assert_eq!(many.send(Message::AddRing(ring(2)), Some(&bell)), Err(Reason::RingIndex(2)));
    let mut twice = Hostile::with_region();
    assert_eq!(twice.send(init(VERSION, 0, 7), None), Err(Reason::Order));
}

#[test]
fn a_client_names_each_broken_rule() {
    let answers = |messages: &[Message]| {
        let (a, server) = pair();
        let mut client = Client::new(a, offer(OfferedMemory::Copied(2048)));
        messages.iter().try_for_each(|message| {
            server.send(message, None).unwrap();
            client.advance().map(drop)
        })
    };
    let hello = |versions, region| Message::Hello {
        name: name("server"),
        versions,
        limits: Limits { region, s2c: 0, c2s: 0, log2: 14 },
    };
    assert_eq!(answers(&[hello((0x0300, 0x0301), 0)]), Err(Reason::Version(0x0301)));
    assert_eq!(answers(&[Message::Ack]), Err(Reason::Order));
    assert_eq!(answers(&[hello((VERSION, VERSION), 0), Message::Connected(name("x"))]), Err(Reason::Order));
    let mut long = vec![hello((VERSION, VERSION), 0)];
    long.extend([Message::Ack; 4]);
    assert_eq!(answers(&long), Ok(()));
    assert_eq!(answers(&[&long[..], &[Message::Ack]].concat()), Err(Reason::Order));
    let file = fd::memfd(c"test", 4096).unwrap();
    let mem = Arc::new(Mmap::shared(file.as_fd(), 4096, 0, true).unwrap());
    let (a, server) = pair();
    let mut client = Client::new(a, offer(OfferedMemory::Shared(file, mem)));
    server.send(&hello((VERSION, VERSION), 0), None).unwrap();
    assert_eq!(client.advance().unwrap_err(), Reason::RegionIndex(1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: count(), ..ProptestConfig::default() })]

    /// Random bytes, with types that exist more often than not, never crash either side, and never make a link.
    #[test]
    fn random_messages_end_in_reasons(
        messages in prop::collection::vec((0u16..10, any::<[u8; 16]>(), 120usize..132, 0usize..3), 1..12)
    ) {
        let files = [fd::memfd(c"test", 4096).unwrap(), fd::eventfd().unwrap()];
        let (a, peer) = pair();
        let mut session = Session::new(a, "server", 2).unwrap();
        let (b, other) = pair();
        let mut client = Client::new(b, offer(OfferedMemory::Copied(64)));
        for (kind, start, len, file) in messages {
            let mut bytes = vec![0; len];
            bytes[..2].copy_from_slice(&kind.to_le_bytes());
            bytes[2..18].copy_from_slice(&start);
            for (channel, side) in [(&peer, 0), (&other, 1)] {
                channel.send_raw(&bytes, files.get(file));
                if side == 0 {
                    prop_assert!(!matches!(session.advance(|_| Ok(TERMS)), Ok(Some(_))));
                } else {
                    prop_assert!(!matches!(client.advance(), Ok(Some(_))));
                }
            }
        }
    }
}

/// Runs of the property test: `RINGWAY_MEMIF_MESSAGES` / 12, or some hundred.
fn count() -> u32 {
    std::env::var("RINGWAY_MEMIF_MESSAGES")
        .ok()
        .and_then(|n| n.parse::<u32>().ok())
        .map_or(256, |n| n / 12 + 1)
}
