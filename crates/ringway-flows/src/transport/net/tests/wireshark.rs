//! An independent decoder reads what the ports write.

use std::io::Write;
use std::process::{Command, Stdio};

use ringway_wire::pcapfile::Writer;

use super::*;
use crate::code::{Field, Fill, Place, Raw, Sum as How};

/// What is asked of each frame. Checksums: 1 is right, 2 is not looked at.
const FIELDS: [&str; 22] = [
    "frame.len",
    "eth.src",
    "eth.dst",
    "vlan.id",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "_ws.malformed",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.window_size_value",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "arp.opcode",
    "icmp.type",
    "icmpv6.type",
];

/// A row of fields for each frame. A field that the frame does not have is empty. `None` without the decoder.
fn decode(frames: &[Vec<u8>]) -> Option<Vec<Vec<String>>> {
    let mut file = Vec::new();
    let mut writer = Writer::new("frames", &mut file, 0).unwrap();
    for (at, frame) in (0..).zip(frames) {
        writer.write(at, frame.len() as u32, frame).unwrap();
    }
    writer.finish().unwrap();
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", "-", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    for layer in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
    }
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        eprintln!("SKIP: there is no tshark; scripts/setup --test installs it");
        return None;
    };
    child.stdin.take().unwrap().write_all(&file).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let row = |line: &str| line.split('|').map(str::to_owned).collect();
    Some(String::from_utf8(output.stdout).unwrap().lines().map(row).collect())
}

/// A question for a server, and the answer.
fn question(pair: &mut Pair, is_v4: bool) -> [Vec<u8>; 2] {
    let Way { from, to, .. } = pair.way(is_v4);
    let (mut asked, mut answered) = (vec![0; 128], vec![0; 128]);
    pair.client.resolve(from, to, 0);
    let len = pair.client.question(0, &mut asked);
    asked.truncate(len);
    let message = control(pair.server.parse(&asked));
    let len = pair.server.control(&message, &mut answered);
    answered.truncate(len);
    [asked, answered]
}

/// The answer to an echo request.
fn echo_reply(pair: &mut Pair, is_v4: bool) -> Vec<u8> {
    let asked = hostile::echo_request(pair, is_v4, &data(33));
    let message = control(pair.server.parse(&asked));
    let mut reply = vec![0; 2048];
    let len = pair.server.control(&message, &mut reply);
    reply.truncate(len);
    reply
}

/// A raw SYN with a random number.
fn raw_syn(pair: &Pair, is_v4: bool, sum: How) -> Vec<u8> {
    let frame = Pair::plain().tcp(is_v4, &Outgoing { flags: flag::SYN, ..segment(0) }, &[]);
    let (at, end) = if is_v4 { (20, 54) } else { (40, 74) };
    let fields = vec![Field { offset: at + 4, width: 4, fill: Fill::Random }];
    let place = Place::Pool(0);
    let raw = Raw {
        template: 0,
        source: place,
        target: place,
        land: false,
        fields,
        ip_sum: How::Good,
        sum,
        any: false,
        no_reply: true,
    };
    let mut buf = vec![0; 128];
    let len = pair.client.raw(&mut buf, pair.way(is_v4), &raw, &frame[14..end], |_, _| 77);
    buf.truncate(len);
    buf
}

fn mac(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[test]
fn wireshark_reads_the_same() {
    let (mut frames, mut wants) = (Vec::new(), Vec::new());
    for mut pair in Pair::both() {
        let is_tagged = ip_at(&pair.udp(true, &[])) == 18;
        for is_v4 in [true, false] {
            let Way { from, to, .. } = pair.way(is_v4);
            let (client, server) = (pair.hosts.address(from).to_string(), pair.hosts.address(to).to_string());
            let mut add =
                |frame: Vec<u8>, sum: &'static str, is_back: bool, more: &[(&'static str, &str)]| {
                    let mut want = vec![("frame.len", frame.len().to_string())];
                    want.extend([
                        ("eth.dst", mac(&frame[..6])),
                        ("eth.src", mac(&frame[6..12])),
                        ("_ws.malformed", String::new()),
                    ]);
                    want.push(("vlan.id", if is_tagged { "100".into() } else { String::new() }));
                    if !sum.is_empty() {
                        let (source, target) = if is_back { (&server, &client) } else { (&client, &server) };
                        let [source_field, target_field] =
                            if is_v4 { ["ip.src", "ip.dst"] } else { ["ipv6.src", "ipv6.dst"] };
                        want.extend([
                            (source_field, source.clone()),
                            (target_field, target.clone()),
                            (sum, "1".into()),
                        ]);
                        want.extend(is_v4.then(|| ("ip.checksum.status", "1".into())));
                    }
                    want.extend(more.iter().map(|&(name, value)| (name, value.to_owned())));
                    frames.push(frame);
                    wants.push(want);
                };
            let tcp = "tcp.checksum.status";
            let syn = Outgoing { flags: flag::SYN, syn: Some((1440, Some(9))), ..segment(0) };
            let options = [("tcp.options.mss_val", "1440"), ("tcp.options.wscale.shift", "9")];
            add(pair.tcp(is_v4, &syn, &[]), tcp, false, &options);
            let numbers = [
                ("tcp.seq_raw", "2147483649"),
                ("tcp.ack_raw", "305419896"),
                ("tcp.window_size_value", "512"),
            ];
            for len in [0, 1, 7, 1440] {
                add(pair.tcp(is_v4, &segment(len), &data(len)), tcp, false, &numbers);
                add(pair.udp(is_v4, &data(len)), "udp.checksum.status", false, &[]);
            }
            add(raw_syn(&pair, is_v4, How::Good), tcp, false, &[("tcp.seq_raw", "77")]);
            add(raw_syn(&pair, is_v4, How::Bad), "", false, &[(tcp, "0")]);
            let (echo, kind) = if is_v4 {
                ("icmp.checksum.status", ("icmp.type", "0"))
            } else {
                ("icmpv6.checksum.status", ("icmpv6.type", "129"))
            };
            add(echo_reply(&mut pair, is_v4), echo, true, &[kind]);
            let [asked, answered] = question(&mut pair, is_v4);
            if is_v4 {
                add(asked, "", false, &[("arp.opcode", "1")]);
                add(answered, "", false, &[("arp.opcode", "2")]);
            } else {
                add(
                    asked,
                    "",
                    false,
                    &[("icmpv6.type", "135"), (echo, "1"), ("ipv6.dst", "ff02::1:ff00:17")],
                );
                add(answered, echo, true, &[("icmpv6.type", "136")]);
            }
        }
    }
    let Some(rows) = decode(&frames) else { return };
    assert_eq!(rows.len(), frames.len());
    for ((row, want), frame) in rows.iter().zip(wants).zip(&frames) {
        for (name, value) in want {
            let column = FIELDS.iter().position(|field| *field == name).unwrap();
            assert_eq!(row[column], value, "{name} of {frame:02x?}");
        }
    }
}
