//! A day of flows over a bad wire, in virtual time: each hour gives back what it took.

use super::Bed;
use crate::compile::{Options, Source, compile};
use crate::content::random::SplitMix64;
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const TURNS: u64 = 8;

#[test]
fn each_hour_of_a_day_gives_back_what_it_took() {
    let files = [
        include_str!("../../../stories/ftp.flow"),
        include_str!("../../../stories/http.flow"),
        include_str!("../../../stories/dns.flow"),
    ];
    for (seed, text) in (1..).zip(files) {
        let source = Source { name: "soak", text, read: &|name| Err(format!("{name} is not here")) };
        let bundle = compile(&source, &Options::default()).unwrap();
        let flows = bundle.flows.len() as u16;
        let mut bed = Bed::new(bundle, Settings { time_wait: 2 * SECOND, ..Settings::default() });
        let mut random = SplitMix64(seed);
        for hour in 1..=24 {
            for flow in (0..TURNS).flat_map(|_| 0..flows) {
                bed.start(flow);
                bed.run(bed.now + SECOND, |frame| {
                    if random.unit() < 0.01 {
                        let at = 14 + random.below(frame.len() as u64 - 14) as usize;
                        frame[at] ^= 1 << random.below(8);
                    }
                    usize::from(random.unit() >= 0.03) + usize::from(random.unit() < 0.01)
                });
            }
            bed.run(hour * HOUR, |_| 1);
            bed.now = hour * HOUR;
            bed.is_empty();
        }
        let [client, server] = bed.shard.tally().total();
        assert_eq!(client.started, 24 * TURNS * u64::from(flows));
        let failed = client.all_failed() + server.all_failed();
        assert!(failed > 0 && failed * 4 < client.started, "{client:?} {server:?}");
    }
}
