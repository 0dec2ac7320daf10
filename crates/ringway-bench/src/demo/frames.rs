//! The frames that are replayed: real captures where there are some, else frames made here.

use std::fs;
use std::path::{Path, PathBuf};

use ringway_wire::checksum;
use ringway_wire::offload::finish_if_partial;
use ringway_wire::pcapfile::{LINKTYPE_ETHERNET, Reader};
use serde::Serialize;

/// Frames to replay at most.
const MOST: usize = 20_000;
const LONGEST: usize = 1514;
const SHORTEST: usize = 14;

/// Frames to replay, and where they come from.
#[derive(Debug, Clone, Serialize)]
pub struct Frames {
    /// A folder of captures, or "made here".
    pub source: String,
    /// Files read.
    pub files: usize,
    /// How many frames.
    pub frames: usize,
    /// Their bytes, without FCS.
    pub bytes: usize,
    /// Frames of the captures that no link or no bridge carries, by reason.
    pub skipped: Vec<Skipped>,
    /// The frames.
    #[serde(skip)]
    pub list: Vec<Vec<u8>>,
}

/// Frames left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Why.
    pub reason: &'static str,
    /// How many.
    pub frames: u64,
}

impl Frames {
    /// The captures of the first folder that has some: `$RINGWAY_DATA/pcap/real`, `../shared/data/pcap/real`,
    /// `./data`. Without one, 5000 frames made here.
    pub fn find() -> Self {
        let data = ringway::environment("RINGWAY_DATA").map(|d| PathBuf::from(d).join("pcap/real"));
        let folders = data.into_iter().chain(["../shared/data/pcap/real".into(), "data".into()]);
        folders.filter_map(|folder| Self::read(&folder)).next().unwrap_or_else(|| Self::made(5000))
    }

    /// The Ethernet captures of a folder in the order of their names; `None` if there are none.
    fn read(folder: &Path) -> Option<Self> {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|e| e.path()).collect();
        paths.retain(|p| p.extension().is_some_and(|x| x == "pcap" || x == "pcapng"));
        paths.sort();
        let mut found = Self::empty(folder.display().to_string());
        for path in paths {
            let Ok(reader) = Reader::open(&path) else { continue };
            if reader.linktype() == LINKTYPE_ETHERNET {
                found.files += 1;
                found.add(reader);
            }
        }
        (!found.list.is_empty()).then_some(found)
    }

    /// Frames of all sizes from 60 to 1514 and of several kinds. The same number gives the same frames.
    pub fn made(count: usize) -> Self {
        let mut made = Self::empty("made here".into());
        let mut random = Random(0x5eed);
        for number in 0..count {
            made.push(make(&mut random, number as u32));
        }
        made
    }

    fn empty(source: String) -> Self {
        Self { source, files: 0, frames: 0, bytes: 0, skipped: Vec::new(), list: Vec::new() }
    }

    fn add(&mut self, mut reader: Reader) {
        // A file that breaks off gives what it has.
        while let Some(Ok(record)) = reader.next() {
            match unfit(record.data) {
                Some(reason) => self.skip(reason),
                None if self.list.len() == MOST => self.skip("more than the demo replays"),
                None => self.push(record.data.to_vec()),
            }
        }
    }

    fn push(&mut self, frame: Vec<u8>) {
        self.frames += 1;
        self.bytes += frame.len();
        self.list.push(frame);
    }

    fn skip(&mut self, reason: &'static str) {
        match self.skipped.iter_mut().find(|s| s.reason == reason) {
            Some(known) => known.frames += 1,
            None => self.skipped.push(Skipped { reason, frames: 1 }),
        }
    }
}

/// Why no bridge between two links with an MTU of 1500 carries the frame.
fn unfit(frame: &[u8]) -> Option<&'static str> {
    if frame.len() > LONGEST {
        return Some("longer than 1514 bytes (merged by the capturing host)");
    }
    if frame.len() < SHORTEST || (frame[12..14] == [0x81, 0] && frame.len() < 18) {
        return Some("shorter than their headers");
    }
    if frame[..5] == [1, 0x80, 0xc2, 0, 0] && frame[5] < 16 {
        return Some("link-local (no bridge passes them on)");
    }
    if frame[6] & 1 != 0 || frame[6..12] == [0; 6] {
        return Some("without a valid source address");
    }
    if finish_if_partial(&mut frame.to_vec()) {
        return Some("with an unfinished checksum, which Ringway finishes (captured on the sending host)");
    }
    None
}

/// xorshift64*: enough for sizes and fill.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// UDP or TCP over IPv4 or IPv6, one in four with a VLAN tag; its number is in the payload.
fn make(random: &mut Random, number: u32) -> Vec<u8> {
    let length = [60, 1514, 60 + random.below(1455) as usize][random.below(3) as usize];
    let kind = random.next();
    let (ipv6, tcp, vlan) = (kind & 1 != 0, kind & 2 != 0, kind & 12 == 0);
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if vlan {
        frame.extend([0x81, 0, 0x20, (kind >> 8) as u8 | 1]);
    }
    frame.extend(if ipv6 { [0x86, 0xdd] } else { [8, 0] });
    let headers = frame.len() + if ipv6 { 40 } else { 20 } + if tcp { 20 } else { 8 };
    let length = length.max(headers + 4);
    let protocol = if tcp { 6 } else { 17 };
    let rest = length - frame.len();
    if ipv6 {
        put_ipv6(&mut frame, rest, protocol);
    } else {
        put_ipv4(&mut frame, rest, protocol);
    }
    put_transport(&mut frame, length, tcp);
    frame.extend(number.to_be_bytes());
    while frame.len() < length {
        frame.push(random.next() as u8);
    }
    frame
}

fn put_ipv4(frame: &mut Vec<u8>, length: usize, protocol: u8) {
    let [high, low] = (length as u16).to_be_bytes();
    let mut header = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum = checksum::of(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
}

fn put_ipv6(frame: &mut Vec<u8>, length: usize, protocol: u8) {
    let [high, low] = ((length - 40) as u16).to_be_bytes();
    frame.extend([0x60, 0, 0, 0, high, low, protocol, 64]);
    for host in [1, 2] {
        frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
}

/// Ports and lengths; its checksum is left open, as for a card that fills it in.
fn put_transport(frame: &mut Vec<u8>, length: usize, tcp: bool) {
    frame.extend([0x10, 0, 0, 9]);
    if tcp {
        frame.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    } else {
        let udp = length - frame.len() + 4;
        frame.extend((udp as u16).to_be_bytes());
        frame.extend([0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_wire::pcapfile::Writer;

    #[test]
    fn made_frames_are_mixed_and_repeat() {
        let made = Frames::made(2000);
        assert_eq!(made.list, Frames::made(2000).list);
        assert!(made.list.iter().all(|f| (60..=1514).contains(&f.len()) && unfit(f).is_none()));
        for (at, bytes) in [(12, [0x81, 0]), (12, [0x86, 0xdd]), (12, [8, 0]), (22, [64, 6]), (22, [64, 17])]
        {
            assert!(made.list.iter().any(|f| f[at..at + 2] == bytes), "{at} {bytes:?}");
        }
        let ipv4 = made.list.iter().filter(|f| f[12..14] == [8, 0]);
        assert!(ipv4.clone().all(|f| checksum::of(&f[14..34]) == 0));
        assert!(ipv4.clone().all(|f| usize::from(u16::from_be_bytes([f[16], f[17]])) == f.len() - 14));
    }

    #[test]
    fn captures_are_read_and_unfit_frames_counted() {
        let folder = std::env::temp_dir().join(format!("ringway-demo-test-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut writer = Writer::create(folder.join("a.pcap"), 65535).unwrap();
        let good = vec![2; 100];
        let mut local = good.clone();
        local[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0]);
        for frame in [&good, &vec![2; 3000], &vec![2; 13], &local, &vec![1; 60], &unfinished()] {
            writer.write(0, frame.len() as u32, frame).unwrap();
        }
        writer.finish().unwrap();
        fs::write(folder.join("broken.pcap"), b"no capture").unwrap();
        let found = Frames::read(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((found.list, found.files, found.frames, found.bytes), (vec![good], 1, 1, 100));
        assert_eq!(found.skipped.iter().map(|s| s.frames).collect::<Vec<_>>(), [1; 5]);
        assert!(Frames::read(&folder).is_none());
    }

    /// UDP over IPv4 whose checksum is the sum of the pseudo header: addresses 0.0.0.0, UDP, 26 bytes.
    fn unfinished() -> Vec<u8> {
        let mut frame = vec![0; 60];
        (frame[6], frame[12], frame[14], frame[23]) = (2, 8, 0x45, 17);
        frame[16..18].copy_from_slice(&46u16.to_be_bytes());
        frame[38..40].copy_from_slice(&26u16.to_be_bytes());
        frame[40..42].copy_from_slice(&(17 + 26u16).to_be_bytes());
        frame
    }
}
