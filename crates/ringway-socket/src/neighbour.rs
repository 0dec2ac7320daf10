//! Hardware addresses of neighbours behind a port, asked for by ARP through it (RFC 826).

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use ringway_wire::{Arp, ArpOperation, EtherType, MacAddr};

use crate::filter::FilterContext;
use crate::frame::HEADER;
use crate::link::Link;
use crate::mapped::MappedInterface;
use crate::receiver::ReceiveSpec;
use crate::sys::kernel;

/// Answers that are remembered: a scan of a large network need not be.
const MOST: usize = 4096;

/// For how long an answer, or that there was none, is believed.
const KNOWN: Duration = Duration::from_secs(5);
const UNKNOWN: Duration = Duration::from_secs(1);

/// How often to ask, and how long to wait for each answer.
const ASKS: u32 = 3;
const WAIT: Duration = Duration::from_millis(200);

type Known = HashMap<(usize, Ipv4Addr), (Instant, Option<[u8; 6]>)>;

thread_local! {
    /// Of each thread, so that nobody waits for a lock after a fork.
    static ANSWERS: RefCell<Known> = RefCell::default();
}

/// The hardware address to send to for a packet to `hop`, the address itself or a gateway.
pub(crate) fn resolve(out: MappedInterface, source: Ipv4Addr, hop: Ipv4Addr) -> Option<[u8; 6]> {
    if hop.is_broadcast() {
        return Some([0xff; 6]);
    }
    if hop.is_multicast() {
        let [_, b, c, d] = hop.octets();
        return Some([1, 0, 0x5e, b & 0x7f, c, d]);
    }
    let key = (std::ptr::from_ref(out.link).addr(), hop);
    if let Some((at, mac)) = ANSWERS.try_with(|all| all.borrow().get(&key).copied()).ok().flatten()
        && at.elapsed() < if mac.is_some() { KNOWN } else { UNKNOWN }
    {
        return mac;
    }
    let mac = ask(out, source, hop);
    let _ = ANSWERS.try_with(|all| {
        let mut all = all.borrow_mut();
        if all.len() > MOST {
            all.clear();
        }
        all.insert(key, (Instant::now(), mac));
    });
    mac
}

fn ask(out: MappedInterface, source: Ipv4Addr, hop: Ipv4Addr) -> Option<[u8; 6]> {
    let context = FilterContext { index: 0, hardware: libc::ARPHRD_ETHER, dgram: false };
    let spec = ReceiveSpec { protocol: EtherType::ARP.0, context, own: out.address };
    let id = out.link.ready().ok()?.add(spec, 0).ok()?;
    let found = (0..ASKS).find_map(|_| {
        out.send(&request(out.address, source, hop)).ok()?;
        out.link.flush();
        answer(out.link, id, hop)
    });
    out.link.lock().remove(id);
    found
}

/// Waits for an answer. Other sockets get the frames that come meanwhile.
fn answer(link: &'static Link, id: u64, hop: Ipv4Addr) -> Option<[u8; 6]> {
    let until = Instant::now() + WAIT;
    loop {
        let mut inner = link.ready().ok()?;
        let mut found = None;
        let looked = inner.take(id, false, &mut |frame| {
            found = sender(frame.bytes, hop);
            found.is_none()
        });
        looked.ok()?;
        let left = until.saturating_duration_since(Instant::now());
        if found.is_some() || left.is_zero() {
            return found;
        }
        if inner.arm() != Ok(false) {
            continue;
        }
        let watch = inner.receiver(id)?.watch();
        drop(inner);
        let _ = kernel::sleep_on(watch, Some(left));
    }
}

/// Asks who has `hop`.
fn request(address: [u8; 6], source: Ipv4Addr, hop: Ipv4Addr) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&address);
    frame[12..HEADER].copy_from_slice(&EtherType::ARP.0.to_be_bytes());
    if let Ok(mut arp) = Arp::init(&mut frame[HEADER..]) {
        arp.set_operation(ArpOperation::REQUEST);
        arp.set_sender_mac(MacAddr(address));
        arp.set_sender_ip(source);
        arp.set_target_ip(hop);
    }
    frame
}

/// The hardware address of `hop` in a reply of it.
fn sender(frame: &[u8], hop: Ipv4Addr) -> Option<[u8; 6]> {
    let arp = Arp::new_checked(frame.get(HEADER..)?).ok()?;
    let is_reply = arp.operation() == ArpOperation::REPLY && arp.sender_ip() == hop;
    is_reply.then(|| arp.sender_mac().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_that_of_who_was_asked_for() {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mut frame = request([2; 6], a, b);
        assert_eq!((frame.len(), sender(&frame, a)), (60, None), "a request is no answer");
        frame[21] = ArpOperation::REPLY.0 as u8;
        assert_eq!((sender(&frame, a), sender(&frame, b)), (Some([2; 6]), None));
        assert_eq!(sender(&frame[..41], a), None);
    }
}
