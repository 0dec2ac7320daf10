//! Prints a line for each packet of a capture file: `cargo run -p ringway-wire --example headers FILE.pcap`

use ringway_wire::parse;
use ringway_wire::pcapfile::{PcapError, Reader};

fn main() -> Result<(), PcapError> {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: headers FILE.pcap");
        std::process::exit(2);
    };
    let mut reader = Reader::open(file)?;
    while let Some(record) = reader.next() {
        let record = record?;
        println!("{:5} {}", record.orig_len, parse(record.data));
    }
    Ok(())
}
