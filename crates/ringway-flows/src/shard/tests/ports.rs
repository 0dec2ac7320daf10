//! Ports are lent once at a time, and come back however a flow ends.

use std::collections::HashSet;

use super::Bed;
use crate::code::Bundle;
use crate::compile::{Options, Source, compile};
use crate::content::random::SplitMix64;
use crate::shard::endpoint::Tuple;
use crate::transport::Settings;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Pools with few ports. Two ports of the servers' pool belong to services.
const POOLS: &str = "pool inside = 198.18.0.1  port 10000..10006
    pool outside = 198.19.0.1  port 8000..8003\n";

/// The server chooses a port for a second connection.
const FTP: &str = "flow ftp {
    tcp c = inside -> outside : 8002  timeout 5 s
    c > \"a\"
    let p = ephemeral(server)
    c < \"port \" p \";\"
    tcp d = c.client -> c.server : p
    think 20 ms
    d < random(100)
    d < close
    c > close }\n";

/// The server answers from a port of its own, to the port of the client: two connections of the client have this port.
const TFTP: &str = "flow tftp {
    udp t = inside -> outside : 8001  timeout 3 s
    t > \"a\"
    udp d = t.server -> t.client : t.client.port  timeout 3 s
    d < \"b\"
    think 20 ms
    d > \"c\" }\n";

fn bundle(text: &str) -> Bundle {
    let text = format!("{POOLS}{text}");
    let source = Source { name: "ports.flow", text: &text, read: &|name| Err(format!("{name} is not here")) };
    compile(&source, &Options::default()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The slow model: each port that a pool has lent belongs to one end of a connection.
fn each_port_is_lent_once(bed: &Bed, endpoints: u32) {
    let shard = &bed.shard;
    let mut lent = HashSet::new();
    for id in 0..endpoints {
        let Some(endpoint) = shard.endpoints.get(id) else { break };
        let Tuple { local, local_port, .. } = endpoint.tuple;
        let is_used = shard.find(endpoint.tuple, endpoint.owner.is_udp()) == Some(id);
        if is_used && endpoint.owner.has_port() {
            assert!(lent.insert((local, local_port)), "{endpoint:?} has a port of another one");
        }
    }
    assert_eq!(shard.used().ports, lent.len() as u64, "{lent:?}");
}

#[test]
fn the_port_of_a_service_is_not_lent() {
    let mut bed = Bed::new(bundle(&format!("{FTP}{TFTP}")), Settings::default());
    for turn in 1..=20 {
        // All ports but that of the service over TCP.
        (0..3).for_each(|_| bed.start(0));
        bed.run(bed.now + SECOND, |_| 1);
        let [client, server] = &bed.shard.tally().flows[0];
        assert_eq!((client.complete, server.complete), (3 * turn, 3 * turn), "{:?}", bed.shard.tally());
    }
    bed.is_empty();
}

#[test]
fn ports_come_back_from_flows_that_fail() {
    let settings = Settings { initial_rto: 20 * MS, min_rto: 10 * MS, attempts: 3, ..Settings::default() };
    // With few records, flows fail without memory, too.
    for (seed, endpoints) in (0..20).zip([64, 14].into_iter().cycle()) {
        let mut random = SplitMix64(seed);
        let mut bed = Bed::with(bundle(&format!("{FTP}{TFTP}")), settings, endpoints, 1 << 20);
        // Neighbours are known before the wire is bad.
        (0..2).for_each(|flow| bed.start(flow));
        bed.run(bed.now + SECOND, |_| 1);
        for _ in 0..300 {
            let _ = bed.try_start(random.below(2) as u16);
            bed.run(bed.now + MS, |_| usize::from(random.unit() > 0.1));
            bed.now += 4 * MS;
            each_port_is_lent_once(&bed, endpoints);
        }
        bed.run(bed.now + 600 * SECOND, |_| 1);
        let [ftp, tftp] = [0, 1].map(|flow: usize| bed.shard.tally().flows[flow].clone());
        let both = |ends: &[crate::shard::EndTally; 2]| ends[0].complete > 0 && ends[0].all_failed() > 0;
        assert!(both(&ftp) && both(&tftp), "{:?}", bed.shard.tally());
        bed.is_empty();
    }
}
