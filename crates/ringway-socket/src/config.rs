//! What the environment asks for.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `RINGWAY_MAP` | `eth0=vale0:p1,eth1=ebpf:eth1`: ports in place of interfaces ([`PortMap`]) |
//! | `RINGWAY_BATCH_US` | frames of a dense stream wait so many microseconds at most to leave together ([`Coalesce`]); 0: none waits |
//! | `RINGWAY_ONLY` | `pcap`: packet sockets are the kernel's alone |
//! | `RINGWAY_VERBOSE` | not empty and not `0`: a summary of the calls served, on standard error at exit |

use std::sync::OnceLock;
use std::time::Duration;

use ringway_shim::{Coalesce, PortMap};

/// What the environment said when it was first asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    map: PortMap,
    /// Whether packet sockets are served at all.
    pub(crate) serves: bool,
    /// How long frames may wait to leave together.
    pub(crate) bound: Option<Duration>,
    pub(crate) verbose: bool,
}

impl Config {
    pub(crate) fn get() -> &'static Self {
        static CONFIG: OnceLock<Config> = OnceLock::new();
        CONFIG.get_or_init(|| {
            let var = |name| ringway::environment(name).unwrap_or_default().to_string_lossy().into_owned();
            let only = var("RINGWAY_ONLY");
            Self::new(&var("RINGWAY_MAP"), &Coalesce::of_environment(), &var("RINGWAY_VERBOSE"), &only)
        })
    }

    fn new(map: &str, rule: &Coalesce, verbose: &str, only: &str) -> Self {
        let verbose = !matches!(verbose, "" | "0");
        Self { map: PortMap::parse(map), serves: only != "pcap", bound: rule.bound(), verbose }
    }

    /// Whether ports stand for interfaces at all.
    pub(crate) fn maps(&self) -> bool {
        self.map.entries().next().is_some()
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
    fn maps_bounds_and_words() {
        let bound = Duration::from_micros(50);
        let c = Config::new("eth0=vale0:p1, eth1=pipe:x{1", &Coalesce::new(Some(bound)), "1", "");
        assert_eq!(c.port_of("eth0"), Some("vale0:p1"));
        assert_eq!(c.port_of("eth1"), Some("pipe:x{1"));
        assert_eq!((c.port_of("eth2"), c.bound, c.verbose), (None, Some(bound), true));
        let c = Config::new("eth0=tap:file=a.pcap,port=eth0", &Coalesce::default(), "0", "pcap");
        assert_eq!(c.port_of("eth0"), Some("tap:file=a.pcap,port=eth0"));
        assert_eq!((c.bound, c.verbose, c.serves), (None, false, false));
        let nonsense = Config::new("nonsense", &Coalesce::default(), "", "socket");
        assert_eq!(nonsense, Config { serves: true, ..Config::default() });
    }
}
