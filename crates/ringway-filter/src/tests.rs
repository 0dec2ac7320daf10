//! Expressions and programs against a slow model and against libpcap's interpreter.

use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Filter, Insn};
use crate::libpcap;
use ringway_sys::error::ErrorKind;
use ringway_wire::pcapfile::{LINKTYPE_ETHERNET, Reader};

pub(super) const fn insn(code: u16, jt: u8, jf: u8, k: u32) -> Insn {
    Insn { code, jt, jf, k }
}

const ACCEPT: Insn = insn(0x06, 0, 0, 262_144);

/// What people ask for, and some that nobody does.
pub(super) const EXPRESSIONS: &[&str] = &[
    "",
    "arp",
    "ip",
    "ip6",
    "tcp",
    "udp",
    "icmp or icmp6",
    "udp port 53",
    "tcp port 443 or udp port 443",
    "tcp dst portrange 1000-2000",
    "port 80 and not host 10.0.0.1",
    "host 192.168.1.1",
    "src net 192.168.0.0/16 and dst net not 10.0.0.0/8",
    "ip6 host fe80::1 or ip6 net ff00::/8",
    "ether host 02:00:00:00:00:01",
    "ether multicast and not broadcast",
    "vlan",
    "vlan 10 and udp",
    "vlan and vlan and ip",
    "mpls",
    "pppoes and tcp",
    "ip proto ospf or ip proto 112",
    "stp or isis",
    "greater 100",
    "less 100",
    "len > 60 and len < 1000",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
    "ip[6:2] & 0x1fff != 0",
    "ip[0] & 0xf > 5",
    "udp[8:2] % 3 = 1",
    "ip[2:2] / (ip[8] - 1) > 4",
    "ip[ip[9]] ^ 0x55 = 17",
    "ether[len - 1] = 0",
    "1 << (ip[8] & 7) > 8",
    "ether proto 0x88cc or ether proto \\sca or llc",
    "tcp[13] = 2 or (udp and (port 53 or port 5353 or port 67)) or icmp[icmptype] = icmp-echo",
];

fn frame_of(ethertype: u16, rest: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ethertype.to_be_bytes(), rest].concat()
}

/// UDP over IPv4 to `port`.
fn udp(port: u16) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39];
    ip.extend_from_slice(&port.to_be_bytes());
    ip.extend_from_slice(&[0, 8, 0, 0]);
    frame_of(0x0800, &ip)
}

/// Whether there is a libpcap; says loudly when not.
pub(super) fn libpcap() -> bool {
    let found = Filter::compile("arp").is_ok();
    if !found {
        eprintln!("SKIP: NO LIBPCAP HERE; apt install libpcap0.8");
    }
    found
}

#[test]
fn expressions_match_what_they_say() {
    if !libpcap() {
        return;
    }
    let f = Filter::compile("udp port 7").unwrap();
    assert!(f.matches(&udp(7)) && !f.matches(&udp(8)));
    assert_eq!((f.snaplen(&udp(7)), f.snaplen(&udp(8))), (262_144, 0));
    assert!((0..udp(7).len() - 4).all(|n| !f.matches(&udp(7)[..n])), "a port beyond the end matches nothing");
    assert_eq!((f.to_string().as_str(), format!("{f:?}").as_str()), ("udp port 7", "Filter(udp port 7)"));
    assert!(Filter::compile("").unwrap().matches(&[]));
    assert!(Filter::from_instructions(f.instructions()).unwrap().matches(&udp(7)));
}

#[test]
fn wrong_expressions_say_why() {
    if !libpcap() {
        return;
    }
    let kinds = |e| Filter::compile(e).map_err(|e| (e.kind(), e.to_string())).unwrap_err();
    for (expr, word) in [
        ("udp prt 7", "syntax error"),
        ("port 70000", "70000"),
        ("a\0b", "NUL"),
        ("inbound", "SKF_AD_PKTTYPE"),
        ("ip6 protochain 17", "backwards"),
    ] {
        let (kind, text) = kinds(expr);
        assert_eq!(kind, ErrorKind::Invalid, "{text}");
        assert!(text.contains(word) && text.starts_with("filter `") && !text.contains('\n'), "{text}");
    }
}

#[test]
fn programs_that_the_kernel_refuses_are_refused() {
    let cases: &[(&[Insn], &str)] = &[
        (&[], "1 to 4096"),
        (&[insn(0x80, 0, 0, 0)], "return"),
        (&[insn(0xffff, 0, 0, 0), ACCEPT], "no operation"),
        (&[insn(0x0e, 0, 0, 0), ACCEPT], "no operation"), // ret x: BSD has it, Linux not
        (&[insn(0x34, 0, 0, 0), ACCEPT], "division"),
        (&[insn(0x94, 0, 0, 0), ACCEPT], "division"),
        (&[insn(0x64, 0, 0, 32), ACCEPT], "shift by 32"),
        (&[insn(0x02, 0, 0, 16), ACCEPT], "scratch word 16"),
        (&[insn(0x60, 0, 0, 3), ACCEPT], "before it is written"),
        (&[insn(0x05, 0, 0, 1), ACCEPT], "beyond the end"),
        (&[insn(0x05, 0, 0, u32::MAX), ACCEPT], "backwards"),
        (&[insn(0x15, 0, 1, 0), ACCEPT], "beyond the end"),
        (&[insn(0x28, 0, 0, -0x1000i32 as u32 + 44), ACCEPT], "SKF_AD_VLAN_TAG)"),
        (&[insn(0x28, 0, 0, -0x1000i32 as u32 + 64), ACCEPT], "offset -4032"),
        (&[insn(0x30, 0, 0, -0x10_0000i32 as u32), ACCEPT], "offset -1048576"),
        (&[insn(0xb1, 0, 0, 1 << 31), ACCEPT], "offset -2147483648"),
        // Written on one way only: jeq 0, 0, 1; st M[3]; ld M[3].
        (&[insn(0x15, 0, 1, 0), insn(0x02, 0, 0, 3), insn(0x60, 0, 0, 3), ACCEPT], "before it is written"),
    ];
    for (program, word) in cases {
        let e = Filter::from_instructions(program).unwrap_err();
        assert!(e.to_string().contains(word), "{e}: {word}");
    }
    let longest = vec![ACCEPT; 4096];
    assert!(Filter::from_instructions(&longest).unwrap().matches(&[]));
    assert!(Filter::from_instructions(&[longest, vec![ACCEPT]].concat()).is_err());
}

/// What the model found.
struct Outcome {
    result: u32,
    /// Neither a shift by 32 or more nor an offset that wraps: there libpcap differs from the kernel.
    portable: bool,
}

/// A slow evaluator that works on raw instructions and unbounded numbers.
fn model(program: &[Insn], frame: &[u8]) -> Outcome {
    let (mut a, mut x, mut m) = (0u32, 0u32, [0u32; 16]);
    let (mut at, mut portable) = (0, true);
    loop {
        let Insn { code, jt, jf, k } = program[at];
        at += 1;
        let stop = |result, portable| Outcome { result, portable };
        let bytes = |from: u64, n: u64| -> Option<u32> {
            let number =
                (from..from + n).try_fold(0u64, |v, i| Some(v * 256 + u64::from(*frame.get(i as usize)?)));
            number.map(|v| v as u32)
        };
        let size = [4, 2, 1][usize::from(code >> 3 & 3) % 3];
        let source = u64::from(if code & 8 == 0 { k } else { x });
        match (code & 7, code & 0xe0, code & 0xf0) {
            (0, 0x00, _) => a = k,
            (0, 0x20, _) => match bytes(k.into(), size) {
                Some(v) => a = v,
                None => return stop(0, portable),
            },
            (0, 0x40, _) => {
                let from = u64::from(k) + u64::from(x);
                portable &= from < 1 << 32;
                match bytes(from % (1 << 32), size) {
                    Some(v) => a = v,
                    None => return stop(0, portable),
                }
            }
            (0, 0x60, _) => a = m[k as usize],
            (0, 0x80, _) => a = frame.len() as u32,
            (1, 0x00, _) => x = k,
            (1, 0x60, _) => x = m[k as usize],
            (1, 0x80, _) => x = frame.len() as u32,
            (1, 0xa0, _) => match bytes(k.into(), 1) {
                Some(v) => x = v % 16 * 4,
                None => return stop(0, portable),
            },
            (2, ..) => m[k as usize] = a,
            (3, ..) => m[k as usize] = x,
            (4, _, op) => {
                let (l, r) = (u64::from(a), source);
                portable &= !(matches!(op, 0x60 | 0x70) && r >= 32);
                let v = match op {
                    0x00 => l + r,
                    0x10 => l + (1 << 32) - r,
                    0x20 => l * r,
                    0x30 | 0x90 if r == 0 => return stop(0, portable),
                    0x30 => l / r,
                    0x40 => l | r,
                    0x50 => l & r,
                    0x60 => l << (r % 32),
                    0x70 => l >> (r % 32),
                    0x80 => (1 << 32) - l,
                    0x90 => l % r,
                    _ => l ^ r,
                };
                a = (v % (1 << 32)) as u32;
            }
            (5, _, 0x00) => at += k as usize,
            (5, _, op) => {
                let (l, r) = (u64::from(a), source);
                let yes = match op {
                    0x10 => l == r,
                    0x20 => l > r,
                    0x30 => l >= r,
                    _ => l & r != 0,
                };
                at += usize::from(if yes { jt } else { jf });
            }
            (6, ..) => return stop(if code & 0x10 == 0 { k } else { a }, portable),
            (_, 0x80, _) => a = x,
            _ => x = a,
        }
    }
}

/// One instruction in the shape that the kernel accepts: jumps and scratch words are put right by [`program`].
fn any_insn() -> impl Strategy<Value = Insn> {
    const CODES: &[u16] = &[
        0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0xb1, 0x00, 0x60, 0x80, 0x87, 0x01, 0x61, 0x81, 0x07, 0x02, 0x03,
        0x84, 0x05, 0x06, 0x16, 0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64,
        0x6c, 0x74, 0x7c, 0x94, 0x9c, 0xa4, 0xac, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d,
    ];
    let k = prop_oneof![6 => 0u32..80, 1 => any::<u32>(), 1 => Just(u32::MAX), 1 => 0u32..0x1_0010];
    (prop::sample::select(CODES), any::<u8>(), any::<u8>(), k).prop_map(|(c, jt, jf, k)| insn(c, jt, jf, k))
}

/// A random program that passes the checks: words are written first, then anything, then a return of A.
pub(super) fn program() -> impl Strategy<Value = Vec<Insn>> {
    (vec((any::<bool>(), 0u32..100), 16), vec(any_insn(), 1..60)).prop_map(|(words, body)| {
        let mut all = Vec::new();
        for (word, (imm, k)) in (0..).zip(words) {
            all.push(if imm { insn(0x00, 0, 0, k) } else { insn(0x80, 0, 0, 0) });
            all.push(insn(0x02, 0, 0, word));
        }
        let len = all.len() + body.len() + 1;
        for mut i in body {
            let left = (len - all.len() - 1) as u32; // instructions behind this one
            match i.code {
                0x02 | 0x03 | 0x60 | 0x61 => i.k %= 16,
                0x64 | 0x74 => i.k %= 32,
                0x34 | 0x94 => i.k = i.k.max(1),
                0x20 | 0x28 | 0x30 | 0xb1 => i.k &= u32::MAX >> 1,
                0x05 => i.k %= left.min(8),
                c if c & 7 == 5 => {
                    i.jt = (u32::from(i.jt) % left.min(8)) as u8;
                    i.jf = (u32::from(i.jf) % left.min(8)) as u8;
                }
                // Returns in the middle are rare, or nothing long would ever run.
                0x06 | 0x16 if i.jt % 4 != 0 => i = insn(0x87, 0, 0, 0),
                _ => {}
            }
            all.push(i);
        }
        all.push(insn(0x16, 0, 0, 0));
        all
    })
}

pub(super) fn frame() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..100), vec(0u8..20, 0..100)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn programs_do_what_the_model_does(program in program(), frames in vec(frame(), 1..8)) {
        let filter = Filter::from_instructions(&program).unwrap();
        for frame in frames {
            let expected = model(&program, &frame);
            prop_assert_eq!(filter.snaplen(&frame), expected.result);
            if let (true, Some(other)) = (expected.portable, libpcap::interpret(&program, &frame)) {
                prop_assert_eq!(other, expected.result, "libpcap");
            }
        }
    }

    /// Whatever the words say, it is refused or it runs.
    #[test]
    fn any_words_are_a_program_or_an_error(
        words in vec((0u16..0x100, any::<u8>(), any::<u8>(), any::<u32>()), 0..20),
        frame in frame(),
    ) {
        let program: Vec<_> = words.into_iter().map(|(c, t, f, k)| insn(c, t, f, k)).collect();
        if let Ok(filter) = Filter::from_instructions(&program) {
            prop_assert_eq!(filter.matches(&frame), filter.snaplen(&frame) != 0);
        }
    }
}

/// Frames of the captures in `$RINGWAY_DATA/pcap`; none, loudly, where there are none.
pub(super) fn captured() -> Vec<Vec<u8>> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let data = std::env::var_os("RINGWAY_DATA").map_or(beside, PathBuf::from);
    let mut frames = Vec::new();
    for dir in ["pcap/real", "pcap/hostile"] {
        for file in std::fs::read_dir(data.join(dir)).into_iter().flatten().flatten() {
            let Ok(mut reader) = Reader::open(file.path()) else { continue };
            if reader.linktype() != LINKTYPE_ETHERNET {
                continue;
            }
            let mut left = 1000;
            while let (1.., Some(Ok(record))) = (left, reader.next()) {
                frames.push(record.data.to_vec());
                left -= 1;
            }
        }
    }
    if frames.is_empty() {
        eprintln!("SKIP: NO CAPTURES FOUND; SET RINGWAY_DATA TO THE FOLDER THAT HOLDS pcap/");
    }
    frames
}

#[test]
fn captures_are_filtered_as_libpcap_does() {
    if !libpcap() {
        return;
    }
    let frames = captured();
    let mut matched = 0;
    for expr in EXPRESSIONS {
        let filter = Filter::compile(expr).unwrap();
        let n = frames.iter().filter(|f| {
            let got = filter.snaplen(f);
            assert_eq!(Some(got), libpcap::interpret(filter.instructions(), f), "{expr}: {f:02x?}");
            got != 0
        });
        matched += usize::from(n.count() > 0);
    }
    if !frames.is_empty() {
        assert!(matched > EXPRESSIONS.len() * 2 / 3, "only {matched} expressions match anything");
    }
}
