//! What is offered: sentences as Wireshark reads them.

use std::fmt::Write;

use super::source::{PREFIX, Source};
use crate::existing_names::{interfaces as network_interfaces, switch_ports};

/// The only link type.
pub(super) const LINK_TYPE: &str = "dlt {number=1}{name=EN10MB}{display=Ethernet}";

/// The program, and an entry for each interface, each port of a switch, and for all other ports.
pub(super) fn interfaces() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!("extcap {{version={version}}}{{display=Ringway}}\n");
    let mut entry = |value: &str, display: &str| {
        let _ = writeln!(out, "interface {{value={}}}{{display={}}}", plain(value), plain(display));
    };
    let mut names = network_interfaces();
    names.sort();
    for interface in names {
        entry(&format!("{PREFIX}:{interface}"), &format!("Ringway: copies of {interface}"));
    }
    for (switch, port) in switch_ports() {
        entry(&format!("{PREFIX}:{switch}:{port}"), &format!("Ringway: mirror of {switch}:{port}"));
    }
    entry(PREFIX, "Ringway: a port by its name");
    out
}

/// The options of an entry.
pub(super) fn options(source: &Source) -> String {
    let mut out = String::from(
        "arg {number=0}{call=--filter}{display=Filter}{type=string}\
         {tooltip=Only frames that match, in the language of tcpdump (pcap-filter(7))}\n\
         arg {number=1}{call=--snaplen}{display=Bytes of each frame}{type=unsigned}{range=0,262144}{default=0}\
         {tooltip=0 for all}\n",
    );
    if matches!(source, Source::Named(_)) {
        out += "arg {number=2}{call=--port}{display=Port}{type=string}{required=true}\
                {tooltip=As after ringway capture -i: vale0:p1, pipe:x}1, memif:/run/m.sock, pcap:FILE}\n";
    }
    out
}

/// Text without what ends a value.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '{' | '}') && !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sentences() {
        let said = interfaces();
        assert!(said.starts_with("extcap {version="), "{said}");
        assert!(said.contains("interface {value=ringway:lo}{display=Ringway: copies of lo}\n"), "{said}");
        assert!(said.ends_with("interface {value=ringway}{display=Ringway: a port by its name}\n"), "{said}");
        assert_eq!(plain("a{b}c\n"), "abc");
    }

    #[test]
    fn only_the_entry_for_all_ports_asks_for_one() {
        assert!(options(&Source::Named(String::new())).contains("{call=--port}"));
        assert!(!options(&Source::Interface("lo".into())).contains("--port"));
    }
}
