//! What the environment asks for.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `RINGWAY_MAP` | `eth0=vale0:p1,eth1=ebpf:eth1`: ports in place of interfaces ([`PortMap`]) |
//! | `RINGWAY_BATCH_US` | frames may wait so many microseconds to leave together; 0, the default, sends each at once |
//! | `RINGWAY_VERBOSE` | not empty and not `0`: a summary of the calls served, on standard error at exit |

use std::sync::OnceLock;
use std::time::Duration;

use ringway::PortMap;

/// The longest that frames may wait.
const MAX_BATCH_US: u64 = 1_000_000;

/// What the environment said when it was first asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    map: PortMap,
    /// How long frames may wait to leave together.
    pub(crate) batch: Option<Duration>,
    pub(crate) verbose: bool,
}

impl Config {
    pub(crate) fn get() -> &'static Self {
        static CONFIG: OnceLock<Config> = OnceLock::new();
        CONFIG.get_or_init(|| {
            let var = |name| std::env::var(name).unwrap_or_default();
            Self::parse(&var("RINGWAY_MAP"), &var("RINGWAY_BATCH_US"), &var("RINGWAY_VERBOSE"))
        })
    }

    fn parse(map: &str, batch: &str, verbose: &str) -> Self {
        let us = batch.trim().parse().unwrap_or(0).min(MAX_BATCH_US);
        Self {
            map: PortMap::parse(map),
            batch: (us > 0).then(|| Duration::from_micros(us)),
            verbose: !matches!(verbose, "" | "0"),
        }
    }

    /// The port that stands for an interface.
    pub(crate) fn port_of(&self, interface: &str) -> Option<&str> {
        self.map.port(interface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_numbers() {
        let c = Config::parse("eth0=vale0:p1, eth1=pipe:x{1", "50", "1");
        assert_eq!(c.port_of("eth0"), Some("vale0:p1"));
        assert_eq!(c.port_of("eth1"), Some("pipe:x{1"));
        assert_eq!((c.port_of("eth2"), c.batch, c.verbose), (None, Some(Duration::from_micros(50)), true));
        let c = Config::parse("eth0=tap:file=a.pcap,port=eth0", "", "0");
        assert_eq!(c.port_of("eth0"), Some("tap:file=a.pcap,port=eth0"));
        assert_eq!((c.batch, c.verbose), (None, false));
        assert_eq!(Config::parse("nonsense", "-3", ""), Config::default());
        assert_eq!(Config::parse("", "99999999999", "").batch, Some(Duration::from_secs(1)));
    }
}
