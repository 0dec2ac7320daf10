//! What is offered: sentences as Wireshark reads them.

use std::fmt::Write;

use super::source::{PREFIX, Source};
use crate::existing_names::{interfaces as network_interfaces, switch_ports};

/// The only link type.
pub(super) const LINK_TYPE: &str = "dlt {number=1}{name=EN10MB}{display=Ethernet}";

/// The fields and buttons of the toolbar, by their numbers.
pub(super) mod control {
    pub(in super::super) const FILTER: u8 = 0;
    pub(in super::super) const SNAPLEN: u8 = 1;
    pub(in super::super) const LOG: u8 = 2;
    pub(super) const RESTORE: u8 = 3;
}

/// The toolbar of all entries.
fn toolbar() -> String {
    let (filter, snaplen, log, restore) = (control::FILTER, control::SNAPLEN, control::LOG, control::RESTORE);
    format!(
        "control {{number={filter}}}{{type=string}}{{display=Filter}}{{validation=^[ -~]*$}}{{placeholder=all frames}}\
         {{tooltip=Only frames that match, in the language of tcpdump (pcap-filter(7)), from now on}}\n\
         control {{number={snaplen}}}{{type=string}}{{display=Bytes of each frame}}{{validation=^[0-9]{{1,6}}$}}\
         {{default=0}}{{tooltip=0 for all; from now on}}\n\
         control {{number={log}}}{{type=button}}{{role=logger}}{{display=Log}}\
         {{tooltip=What was changed, what was refused, and how many frames were lost}}\n\
         control {{number={restore}}}{{type=button}}{{role=restore}}{{display=Restore}}\
         {{tooltip=The values that the options of the next capture have}}\n"
    )
}

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
    out + &toolbar()
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
        let toolbar = "interface {value=ringway}{display=Ringway: a port by its name}\n\
                       control {number=0}{type=string}{display=Filter}{validation=^[ -~]*$}";
        assert!(said.contains(toolbar), "{said}");
        assert!(said.contains("{validation=^[0-9]{1,6}$}{default=0}"), "{said}");
        assert_eq!(plain("a{b}c\n"), "abc");
    }

    #[test]
    fn only_the_entry_for_all_ports_asks_for_one() {
        assert!(options(&Source::Named(String::new())).contains("{call=--port}"));
        assert!(!options(&Source::Interface("lo".into())).contains("--port"));
    }
}
