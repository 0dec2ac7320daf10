//! What the far ends send.

use std::path::Path;

use ringway_wire::checksum;
use ringway_wire::pcapfile::Writer;

const UDP: u8 = 17;
const TCP: u8 = 6;

/// The address of the `n`th interface.
pub(crate) fn mac_of(n: usize) -> String {
    format!("02:00:00:00:01:{n:02x}")
}

/// Frames to the host behind the `n`th interface: echo, names and the web.
pub(crate) fn frames(n: usize) -> Vec<Vec<u8>> {
    [(UDP, 7), (UDP, 53), (TCP, 443)].map(|(protocol, port)| frame(n as u8, protocol, port)).to_vec()
}

/// A capture of such frames.
pub(crate) fn write_capture(path: &Path) {
    let mut writer = Writer::create(path, 0).unwrap();
    for (n, frame) in frames(0).into_iter().enumerate() {
        writer.write(n as u64 * 1000, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
}

/// From 198.51.100.7 to 192.0.2.1, which the host routes.
fn frame(interface: u8, protocol: u8, port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, interface, 2, 0, 0, 0, 0, 9, 8, 0];
    let mut ip = [0x45, 0, 0, 46, 0, 0, 0, 0, 64, protocol, 0, 0, 198, 51, 100, 7, 192, 0, 2, 1];
    let sum = checksum::of(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);
    frame.extend(ip);
    frame.extend([0x30, 0x39]);
    frame.extend(port.to_be_bytes());
    // The rest of a UDP header without a checksum, or of a TCP header with a SYN.
    frame.extend(if protocol == UDP { [0, 26, 0, 0] } else { [0, 0, 0, 1] });
    frame.extend([0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0]);
    frame.resize(60, 0);
    frame
}
