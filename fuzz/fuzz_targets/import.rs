//! Captures that become stories. Whatever a capture says, its story compiles, its pools lie in the ranges for benchmarks, and both ends can
//! be run.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use ringway_flows::compile::{Options as Compile, Source, compile};
use ringway_flows::import::{Failed, Imported, Options, import};
use ringway_flows::run::virtual_time;
use ringway_fuzz::{Input, one_line};
use ringway_wire::pcapfile::{MAX_RECORD, Reader, Writer};
use ringway_wire::{EtherType, Ethernet, IpProtocol, Ipv4, Tcp, TcpFlags, Udp};

/// A capture of a few hosts that do what the input says: flags, numbers and bytes that often fit together.
fn made(input: &mut Input<'_>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new("made", &mut file, MAX_RECORD).expect("memory takes all");
    let mut now = 0;
    while !input.is_empty() {
        let (what, place, step) = (input.u8(), input.u8(), input.u8());
        let data: Vec<u8> = (0..input.u8() % 40).map(|_| input.u8()).collect();
        let frame = frame(what, place, &data);
        now += u64::from(step) * 1_000_000;
        writer.write(now, frame.len() as u32, &frame).expect("memory takes all");
    }
    writer.finish().expect("memory takes all");
    file
}

/// A segment or a datagram.
fn frame(what: u8, place: u8, data: &[u8]) -> Vec<u8> {
    let (udp, down) = (what & 1 == 1, what & 2 == 2);
    let len = data.len() + if udp { 8 } else { 20 };
    let mut body = vec![0; len];
    let ports = if down { [80, 1000 + u16::from(what >> 7)] } else { [1000 + u16::from(what >> 7), 80] };
    let protocol = if udp {
        let mut udp = Udp::init(&mut body[..], data.len()).expect("it has room");
        udp.set_src_port(ports[0]);
        udp.set_dst_port(ports[1]);
        udp.payload_mut().copy_from_slice(data);
        IpProtocol::UDP
    } else {
        let mut tcp = Tcp::init(&mut body[..], 0).expect("it has room");
        tcp.set_src_port(ports[0]);
        tcp.set_dst_port(ports[1]);
        tcp.set_seq(u32::from(place).wrapping_sub(8));
        let all = [TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN, TcpFlags::RST];
        let some = all.iter().enumerate().filter(|(bit, _)| what >> (bit + 2) & 1 == 1);
        tcp.set_flags(some.fold(TcpFlags::PSH, |flags, (_, flag)| flags | *flag));
        tcp.payload_mut().copy_from_slice(data);
        IpProtocol::TCP
    };
    let hosts = [Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(9, 9, 9, 9)];
    let mut frame = vec![0; 34 + len];
    Ethernet::new_checked(&mut frame[..]).expect("it has room").set_ethertype(EtherType::IPV4);
    let mut ip = Ipv4::init(&mut frame[14..], len).expect("it has room");
    ip.set_src(hosts[usize::from(down)]);
    ip.set_dst(hosts[usize::from(!down)]);
    ip.set_protocol(protocol);
    ip.payload_mut().copy_from_slice(&body);
    frame
}

/// What must hold of a story.
fn check(imported: &Imported) {
    imported.left.iter().for_each(|left| one_line(&left.to_string()));
    let source = Source { name: "imported", text: &imported.story, read: &|_| Err("no files".to_owned()) };
    let mut bundle =
        compile(&source, &Compile::default()).unwrap_or_else(|errors| panic!("{errors}\n{}", imported.story));
    let inside = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets()[0] == 198 && address.octets()[1] & 0xfe == 18,
        IpAddr::V6(address) => {
            address.segments()[..3] == Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0).segments()[..3]
        }
    };
    let ranges = bundle.pools.iter().flat_map(|pool| &pool.ranges);
    assert!(
        ranges.clone().all(|range| inside(range.first) && inside(range.last)),
        "an address of the capture"
    );
    virtual_time::once(&mut bundle);
    let options = virtual_time::Options { flows: 3, until_ns: 20_000_000_000, ..Default::default() };
    let mut left = 2_000;
    let report = virtual_time::run(bundle, &options, |_, _, _| {
        left -= 1;
        if left == 0 { Err("enough") } else { Ok(()) }
    });
    if let Ok(report) = report {
        assert_eq!(report.total.failed, 0, "an imported flow fails:\n{}", imported.story);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let kind = input.u8();
    let file = if kind & 1 == 0 { input.rest().to_vec() } else { made(&mut input) };
    let Ok(mut reader) = Reader::from_bytes(file) else { return };
    let options = Options { literal: if kind & 2 == 0 { 4096 } else { 8 }, think: kind & 4 != 0 };
    match import(&mut reader, &options) {
        Ok(imported) => check(&imported),
        Err(Failed::Nothing(left)) => left.iter().for_each(|left| one_line(&left.to_string())),
        Err(why) => one_line(&why.to_string()),
    }
});
