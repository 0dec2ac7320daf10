//! Counters as OpenMetrics text 1.0.
//!
//! [`Family`] is plain data: a name, what it means, and samples with labels. Each kind of thing that counts has a module
//! that turns a reading into families; [`page`] joins them, and [`text`] writes them. A program can add families of its own:
//!
//! ```
//! use ringway_watch::metrics::{Family, families, text};
//!
//! let mut frames = Family::counter("agent_flow_frames", "Frames that entered and left a flow");
//! frames.add(&[("flow", "web"), ("dir", "in")], 7);
//! let mut all = families(&ringway::open_ports(), &[], &[]);
//! all.push(frames);
//! assert!(text(all).contains("agent_flow_frames_total{flow=\"web\",dir=\"in\"} 7"));
//! ```
//!
//! `prometheus-client` writes the text: it knows the order of the metadata, the suffixes of names and how labels are
//! escaped. Keep to the rules that it does not check. A family is there once, and no two of its samples have the same labels.
//! Its help is one line without a backslash.

mod family;
mod ports;
mod routers;
mod switches;

pub use family::{Family, Unit, text};

use crate::{routers::Reading as Router, switches::Reading as Switch};

/// All there is to tell: the ports that are open now, switches and routers.
#[must_use]
pub fn page(ports: &[ringway::OpenPort], switches: &[Switch], routers: &[Router]) -> String {
    text(families(ports, switches, routers))
}

/// The families of that page.
#[must_use]
pub fn families(ports: &[ringway::OpenPort], switches: &[Switch], routers: &[Router]) -> Vec<Family> {
    let mut build = Family::info("ringway_build", "Version of Ringway that read the counters");
    build.add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let mut families = vec![build];
    families.extend(ports::families(ports));
    families.extend(switches::families(switches));
    families.extend(routers::families(routers));
    families
}
