//! The flows that are run: stories that ship, and runs with so many at the same time.

use std::time::Duration;

use ringway_flows::code::Bundle;
use ringway_flows::compile::{Options, Source, compile};
use ringway_flows::run::stories;

use crate::suite::Fault;
use crate::suite::meter::WARM_UP;

const POOLS: &str = "pool inside = 198.18.0.0/18 port 10000..60999\npool outside = 198.19.0.0/20\n";

/// Bytes of a file and of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) file: u32,
    pub(super) page: u32,
}

/// A kind of flow, or a mix of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ftp,
    HttpShort,
    Http8k,
    Dns,
    Mix,
}

impl Kind {
    pub(super) const ALL: [Self; 5] = [Self::Ftp, Self::HttpShort, Self::Http8k, Self::Dns, Self::Mix];

    /// As a case of the suite.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ftp => "ftp",
            Self::HttpShort => "http-short",
            Self::Http8k => "http-8k",
            Self::Dns => "dns",
            Self::Mix => "mix",
        }
    }

    pub(super) fn sizes(self) -> Sizes {
        match self {
            Self::Ftp | Self::HttpShort | Self::Dns => Sizes { file: 1 << 10, page: 128 },
            Self::Http8k | Self::Mix => Sizes { file: 64 << 10, page: 8 << 10 },
        }
    }

    /// The stories, and what of them a run starts.
    fn text(self) -> (String, &'static str) {
        let Sizes { file, page } = self.sizes();
        let (ftp, http, dns) =
            (shipped("ftp", "ftp_get"), shipped("http", "http_short"), shipped("dns", "lookup"));
        match self {
            Self::Ftp => (ftp.into(), "ftp_get"),
            Self::HttpShort => (http.into(), "http_short"),
            Self::Http8k => (format!("{http}mix pages {{ http_short(page = {page} B) 1 }}\n"), "pages"),
            Self::Dns => (dns.into(), "lookup"),
            Self::Mix => {
                let shares =
                    format!("lookup 30 % http_short(page = {page} B) 55 % ftp_get(size = {file} B) 15 %");
                (format!("{ftp}{http}{dns}mix office {{ {shares} }}\n"), "office")
            }
        }
    }

    /// The stories, and a run of so many flows at the same time for this period.
    pub(super) fn bundle(self, concurrent: u32, seconds: f64) -> Result<Bundle, Fault> {
        let (text, starts) = self.text();
        bundle(&text, starts, concurrent, seconds)
    }
}

/// These stories between the usual pools, and a run of so many flows at the same time. The warm-up comes before the period.
pub(super) fn bundle(text: &str, starts: &str, concurrent: u32, seconds: f64) -> Result<Bundle, Fault> {
    let (warm_up, period) = (WARM_UP.as_micros(), Duration::from_secs_f64(seconds).as_micros());
    let load = format!("ramp 0..{concurrent} flows in {warm_up} us  hold {period} us  drain 5 s");
    let text = format!("{POOLS}{text}run {{ {starts} {load} }}\n");
    let source = Source { name: "bench", text: &text, read: &stories::read };
    compile(&source, &Options::default())
        .map_err(|e| Fault::Failed(format!("the stories do not compile: {e}")))
}

/// The text of a flow in a file of stories that ships; empty when it is not there, which the compiler then tells.
fn shipped(file: &str, flow: &str) -> &'static str {
    let text = stories::find(file).map_or("", |file| file.text);
    let starts = |rest: &str| rest.strip_prefix(flow).is_some_and(|rest| rest.starts_with(['(', ' ']));
    let begin = text.match_indices("flow ").find(|(at, word)| starts(&text[at + word.len()..]));
    let found = begin.and_then(|(at, _)| Some(&text[at..at + text[at..].find("\n}\n")? + 3]));
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_flows::run::virtual_time;

    #[test]
    fn each_kind_runs_to_its_end() {
        for kind in Kind::ALL {
            let bundle = kind.bundle(10, 0.01).unwrap();
            let flows: Vec<_> = bundle.flows.iter().map(|flow| bundle.name(flow.name).to_owned()).collect();
            assert_eq!(flows.len(), if kind == Kind::Mix { 3 } else { 1 }, "{kind:?}: {flows:?}");
            let report = virtual_time::run(bundle, &virtual_time::Options::default(), |_, _, _| {
                Ok::<_, std::convert::Infallible>(())
            })
            .unwrap();
            assert!(report.total.started > 100, "{kind:?}: {:?}", report.total);
            assert_eq!(report.total.complete, report.total.started, "{kind:?}");
        }
    }

    /// The most that they need: acknowledgements may go with data.
    #[test]
    fn flows_need_few_packets() {
        for (kind, packets) in [(Kind::Ftp, 30), (Kind::HttpShort, 10), (Kind::Dns, 2)] {
            let mut bundle = kind.bundle(1, 0.01).unwrap();
            virtual_time::only(&mut bundle, 0);
            let mut frames = 0;
            virtual_time::run(bundle, &virtual_time::Options::default(), |_, _, frame| {
                frames += u64::from(frame[12..14] != [8, 6]); // without ARP
                Ok::<_, std::convert::Infallible>(())
            })
            .unwrap();
            assert!(frames > 0 && frames <= packets, "{kind:?}: {frames}");
        }
    }

    #[test]
    fn flows_are_found_by_their_whole_names() {
        assert!(shipped("ftp", "ftp_get").starts_with("flow ftp_get(size"));
        assert_eq!(shipped("ftp", "ftp_get").matches("flow ").count(), 1);
        assert_eq!(shipped("ftp", "ftp_g"), "");
        assert_eq!(shipped("nosuch", "ftp_get"), "");
    }
}
