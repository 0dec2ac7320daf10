//! A table, one reader in another thread, and changes meanwhile.
//!
//! `cargo run -p ringway-fib --example lookup`

use std::net::Ipv4Addr;
use std::thread;

use ringway_fib::{Fib4, FibError, Limits, NextHop};

fn main() -> Result<(), FibError> {
    let mut fib = Fib4::build(
        Limits::default(),
        [("0.0.0.0/0".parse()?, "1".parse()?), ("10.0.0.0/8".parse()?, "2".parse()?)],
    )?;
    let mut reader = fib.reader()?;
    let addrs = [Ipv4Addr::new(10, 1, 2, 3), Ipv4Addr::new(192, 0, 2, 1)].map(u32::from);
    let looking = thread::spawn(move || {
        let mut next_hops = [0; 2];
        for _ in 0..1000 {
            reader.view().lookup_burst(&addrs, &mut next_hops); // one view for each burst
        }
        next_hops
    });
    fib.insert("10.1.0.0/16".parse()?, "300".parse()?)?;
    let next_hops = looking.join().unwrap_or_default();
    println!("the other thread found {next_hops:?} last");
    println!("10.1.2.3 leads to {}", fib.lookup(addrs[0]).map_or(0, NextHop::get));
    println!("{:?}", fib.usage());
    Ok(())
}
