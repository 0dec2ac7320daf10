//! The forwarding table, as `bpf/switch/fdb.h` keeps it.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use ringway_bpf::layout::switch::numbers::{self, REST_AT, REST_BITS, SEEN_AT};

use super::switch::Switch;
use crate::layout::{self, fdb, info};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::time;
use ringway_wire::MacAddr;

const STATIC: u64 = numbers::STATIC as u64;
const BLACKHOLE: u64 = numbers::ENTRY_BLACKHOLE as u64;
const AGE_MAX: u64 = numbers::AGE_MAX as u64;
const AHEAD: u64 = numbers::AHEAD as u64;
const TURN: u64 = numbers::TURN as u64;

/// An address in the table of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FdbEntry {
    /// The address.
    pub mac: MacAddr,
    /// Its VLAN; 0 where ports take no notice of VLANs.
    pub vlan: u16,
    /// Number of the port it is on; `None`: frames to it are dropped as `blackhole`.
    pub port: Option<u32>,
    /// Time since its last frame, to within a 32nd of the switch's ageing; `None` when it was set by hand and never ages.
    pub age: Option<Duration>,
}

/// What is wrong with a change of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Full,
}

impl Switch {
    /// The table, by VLAN and address.
    #[must_use]
    pub fn fdb(&self) -> Vec<FdbEntry> {
        let (unit, now) = self.clock();
        // No frame came for so long that every address is old.
        let idle = now.saturating_sub(self.fdb.u64(fdb::SWEPT).load(Relaxed)) > TURN;
        let mut entries: Vec<FdbEntry> = (0..fdb::ENTRIES)
            .filter_map(|i| self.entry(i, self.fdb.u64(8 * i).load(Relaxed), unit, now))
            .filter(|e| e.age.is_none() || !idle)
            .collect();
        entries.sort_by_key(|e| (e.vlan, e.mac.0));
        entries
    }

    /// Addresses learned of a port.
    pub(super) fn learned(&self, port: u32) -> u32 {
        self.fdb.u32(fdb::COUNT + 4 * port as usize).load(Relaxed)
    }

    /// Puts an address on a port for good. With `None` switches drop frames to it as `blackhole`, also when their sender names a
    /// [port](ringway_abi::layout::NS_PORT_SHIFT). Frames with a named port go past an address that is put on a port.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no such port; [`ErrorKind::Invalid`] for a group address or a VLAN above 4095.
    /// [`ErrorKind::Unfit`] when others set by hand take all 8 places that the address may have.
    pub fn fdb_set(&self, mac: MacAddr, vlan: u16, port: Option<&str>) -> Result<()> {
        if mac.0[0] & 1 != 0 || vlan > 4095 {
            return Err(Error::new(
                ErrorKind::Invalid,
                &self.name,
                format!("{mac} in VLAN {vlan} is no address of a port"),
            )
            .cure("take a unicast address, and a VLAN of 0 to 4095"));
        }
        let number = match port {
            None => u64::from(layout::PORTS - 1) | BLACKHOLE,
            Some(name) => self.number_of(name).map(u64::from).ok_or_else(|| {
                Error::new(ErrorKind::NotFound, format!("{}:{name}", self.name), "there is no such port")
                    .cure("`ringway switch list` shows them")
            })?,
        };
        let h = self.maps.secrets.mix(key(mac, vlan));
        let fresh = h << REST_AT | STATIC | number;
        self.insert(h, fresh).map_err(|Refused::Full| {
            Error::new(
                ErrorKind::Unfit,
                &self.name,
                "no place in the table: 8 addresses set by hand share it",
            )
            .cure("remove one of them with `ringway switch fdb del`")
        })
    }

    /// Forgets an address; whether it was known.
    pub fn fdb_del(&self, mac: MacAddr, vlan: u16) -> bool {
        let h = self.maps.secrets.mix(key(mac, vlan));
        self.bucket(h).any(|i| {
            let e = self.fdb.u64(8 * i).load(Relaxed);
            e & 0xff != 0 && e >> REST_AT == rest(h) && self.replace(i, e, 0)
        })
    }

    /// Forgets all addresses that were learned; those set by hand stay. Returns how many.
    pub fn fdb_flush(&self) -> usize {
        self.remove_where(|e| e & STATIC == 0)
    }

    /// Forgets the addresses that were learned of a port.
    pub(super) fn flush_learned(&self, number: u32) {
        self.remove_where(|e| e & (STATIC | 0xff) == u64::from(number));
    }

    /// Forgets the addresses of a port, also those set by hand.
    pub(super) fn flush_port(&self, number: u32) {
        self.remove_where(|e| e & 0xff == u64::from(number));
    }

    fn remove_where(&self, which: impl Fn(u64) -> bool) -> usize {
        let clear = |&i: &usize| {
            let e = self.fdb.u64(8 * i).load(Relaxed);
            e & 0xff != 0 && which(e) && self.replace(i, e, 0)
        };
        (0..fdb::ENTRIES).filter(clear).count()
    }

    /// Length and number of the unit of time in which ages are counted.
    fn clock(&self) -> (u64, u64) {
        let unit = self.info.u64(info::AGE_UNIT).load(Relaxed).max(1);
        (unit, time::monotonic_ns() / unit)
    }

    fn entry(&self, i: usize, e: u64, unit: u64, now: u64) -> Option<FdbEntry> {
        let port = (e & 0xff) as u32;
        let units = (now + AHEAD).wrapping_sub(e >> SEEN_AT) & 0xff;
        if port == 0 || (e & STATIC == 0 && units > AGE_MAX + AHEAD) {
            return None;
        }
        let units = units.saturating_sub(AHEAD);
        let key = self.maps.secrets.unmix(e >> REST_AT | ((i / 8) as u64) << REST_BITS);
        let mut mac = [0; 6];
        mac.copy_from_slice(&key.to_le_bytes()[..6]);
        Some(FdbEntry {
            mac: MacAddr(mac),
            vlan: (key >> 48) as u16,
            port: (e & BLACKHOLE == 0).then_some(port),
            age: (e & STATIC == 0).then(|| Duration::from_nanos(units.saturating_mul(unit))),
        })
    }

    fn bucket(&self, h: u64) -> std::ops::Range<usize> {
        let bucket = (h >> REST_BITS) as usize * 8;
        bucket..bucket + 8
    }

    /// Puts `fresh` where the address is, else where nothing is, else where a learned one is.
    fn insert(&self, h: u64, fresh: u64) -> std::result::Result<(), Refused> {
        loop {
            let rank = |e: u64| match e {
                _ if e & 0xff != 0 && e >> REST_AT == fresh >> REST_AT => Some(0),
                _ if e & 0xff == 0 => Some(1),
                _ if e & STATIC == 0 => Some(2),
                _ => None,
            };
            let read = |i: usize| (i, self.fdb.u64(8 * i).load(Relaxed));
            let best = self.bucket(h).map(read).filter_map(|(i, e)| Some((rank(e)?, i, e))).min();
            let (_, i, old) = best.ok_or(Refused::Full)?;
            if self.replace(i, old, fresh) {
                self.remove_others(h, i);
                return Ok(());
            }
        }
    }

    /// Removes what a program learned of the same address meanwhile: two entries would be read as one of another port.
    fn remove_others(&self, h: u64, at: usize) {
        for i in self.bucket(h).filter(|&i| i != at) {
            let e = self.fdb.u64(8 * i).load(SeqCst);
            if e & 0xff != 0 && e >> REST_AT == rest(h) {
                self.replace(i, e, 0);
            }
        }
    }

    /// Changes an entry unless a program did; keeps the counts of learned entries.
    fn replace(&self, i: usize, old: u64, fresh: u64) -> bool {
        if self.fdb.u64(8 * i).compare_exchange(old, fresh, SeqCst, Relaxed).is_err() {
            return false;
        }
        let count = |e: u64| self.fdb.u32(fdb::COUNT + 4 * (e & 0xff) as usize);
        if old & 0xff != 0 && old & STATIC == 0 {
            count(old).fetch_sub(1, Relaxed);
        }
        if fresh & 0xff != 0 && fresh & STATIC == 0 {
            count(fresh).fetch_add(1, Relaxed);
        }
        true
    }
}

/// 60 bits: the address, first byte lowest, then the VLAN.
fn key(mac: MacAddr, vlan: u16) -> u64 {
    let m = mac.0;
    u64::from_le_bytes([m[0], m[1], m[2], m[3], m[4], m[5], 0, 0]) | u64::from(vlan) << 48
}

/// The part of a mixed key that is in the entry; the upper bits choose its bucket.
fn rest(h: u64) -> u64 {
    h << REST_AT >> REST_AT
}
