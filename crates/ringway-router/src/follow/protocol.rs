//! Questions to the process, and their lines.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Longest line of a question in bytes.
pub(super) const LINE: usize = 4096;

/// Entries of a page, where an answer has many.
pub(super) const PAGE: usize = 500;

/// Routes of a page. A table may have millions, and many of them share a next hop.
pub(super) const ROUTES: usize = 4096;

/// A question: one line of JSON. The answer is one line, too: `{"ok": ...}` or `{"error": "..."}`.
///
/// ```
/// use ringway_router::follow::Request;
/// let line = serde_json::to_string(&Request::Status)?;
/// assert_eq!(line, r#"{"ask":"status"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// How it goes.
    Status,
    /// A page of the routes of a family, from behind a prefix on; `within` leaves out others. The answer has `routes`, pairs of a prefix
    /// and the number of its next hop, and `next_hops`, the next hops of the page by number.
    Show {
        /// 4 or 6.
        family: u8,
        /// Only prefixes within this one.
        within: Option<String>,
        /// The last prefix of the page before.
        after: Option<String>,
    },
    /// What becomes of packets to an address.
    Get(Flow),
    /// Compares with the kernel's tables, and repairs what differs.
    Sync,
    /// A page of next hops in use with their counters, those behind a number.
    Stats {
        /// The last number of the page before.
        after: u16,
    },
    /// Makes an interface a member.
    Join {
        /// Its name.
        interface: String,
    },
    /// Gives a member back.
    Leave {
        /// Its name.
        interface: String,
    },
}

/// Packets that [`Request::Get`] asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Destination.
    pub to: IpAddr,
    /// Source; without one the rules about it are left out, and the flow has a source of all zeros.
    pub from: Option<IpAddr>,
    /// Interface that they come in by; without one the rules about it are left out.
    pub interface: Option<String>,
    /// Protocol of the IP header.
    #[serde(default)]
    pub protocol: u8,
    /// Ports of the flow, 0 without.
    #[serde(default)]
    pub ports: (u16, u16),
}
