//! Pools of addresses, ports, MAC addresses and VLANs, and which of them the next flow gets.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`choice`] | the number of the next one: in order, random, by Zipf's law |
//! | [`pairs`] | free pairs of address and port |
//! | [`owners`] | which worker owns a connection |
//! | [`steer`] | which member of a class a tuple belongs to |

pub mod choice;
pub mod owners;
pub mod pairs;
pub mod steer;
