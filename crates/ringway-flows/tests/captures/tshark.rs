//! An independent decoder of captures.

use std::path::Path;
use std::process::Command;

/// What the decoder says of a capture.
pub(crate) struct Read {
    /// Frames that it complains of, one a line.
    pub(crate) faults: String,
    /// The streams that were asked for.
    pub(crate) streams: Vec<Stream>,
}

/// A connection or a pair of UDP ports.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Its transport and number: `tcp 0`.
    pub(crate) of: String,
    /// Addresses of the end that sent the first packet, and of the other one.
    pub(crate) hosts: [String; 2],
    /// The payload of each packet, and whether the other end sent it.
    pub(crate) payloads: Vec<(bool, Vec<u8>)>,
}

/// Everything from warnings on (0x600000), and everything that is wrong with the numbers of TCP.
const FAULTS: &str = "_ws.malformed || _ws.expert.severity >= 6291456 || tcp.analysis.flags";

/// Reads a capture, and the payloads of streams such as `tcp 0`. `None`, said loudly, without the decoder.
/// A frame of another stream is a fault.
pub(crate) fn read(capture: &Path, streams: &[&str]) -> Option<Read> {
    let (mut filter, mut more) = (FAULTS.to_owned(), Vec::new());
    for of in streams {
        let (transport, number) = of.split_once(' ').unwrap();
        more.extend(["-z".to_owned(), format!("follow,{transport},raw,{number}")]);
    }
    if !streams.is_empty() {
        for transport in ["tcp", "udp"] {
            let count = streams.iter().filter(|of| of.starts_with(transport)).count();
            filter.push_str(&format!(" || {transport}.stream >= {count}"));
        }
    }
    let said = run(capture, &filter, &more)?;
    // Streams come behind the frames, each below a line of such signs.
    let faults = said.split("\n====").next().unwrap_or_default();
    let faults = if said.starts_with("\n====") || faults.starts_with("====") { "" } else { faults };
    let streams = said.split("Follow: ").skip(1).map(stream).collect();
    Some(Read { faults: faults.trim().to_owned(), streams })
}

/// The frames of a capture for which a filter holds, one a line. `None`, said loudly, without the decoder.
pub(crate) fn run(capture: &Path, filter: &str, more: &[String]) -> Option<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(capture).args(["-Y", filter]).args(more);
    for layer in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
    }
    let Ok(output) = command.output() else {
        eprintln!("SKIP: there is no tshark; scripts/setup --test installs it");
        return None;
    };
    assert!(output.status.success(), "{}: {}", capture.display(), String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A stream as `follow` prints it: one packet a line in hexadecimal, with a tab in front if the other end sent it.
fn stream(text: &str) -> Stream {
    let mut stream = Stream::default();
    for line in text.lines().skip(1) {
        if let Some(filter) = line.strip_prefix("Filter: ") {
            stream.of = filter.replace(".stream eq", "");
        } else if let Some((node, host)) = line.strip_prefix("Node ").and_then(|rest| rest.split_once(": ")) {
            stream.hosts[usize::from(node == "1")] =
                host.rsplit_once(':').unwrap().0.trim_matches(['[', ']']).to_owned();
        } else if line.starts_with("====") {
            break;
        } else if let Some(bytes) = bytes(line.trim()) {
            stream.payloads.push((line.starts_with('\t'), bytes));
        }
    }
    stream
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}
