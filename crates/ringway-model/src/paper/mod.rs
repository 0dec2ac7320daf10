//! The paper's measurements as data: tables I/II and IV/V, and where they contradict each other or the text.
//!
//! Xeon E3-1230v2 of 3.3 GHz, Linux 3.7, an 82599 of 10 Gbit/s; values in core cycles a packet.
//!
//! | module | holds |
//! | --- | --- |
//! | `tables` | the numbers |
//! | `claims` | each check by name: what is stated, what follows, and whether they agree |

#![forbid(unsafe_code)]

mod claims;
mod tables;

pub use claims::{Claim, checks, inconsistencies};
pub use tables::{FLOWS, FREQUENCY_HZ, FlowRow, GROUPS, LINK, SIZES, SizeRow};
