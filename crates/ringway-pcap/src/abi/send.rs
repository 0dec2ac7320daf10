//! Sending.

use std::ffi::{c_int, c_void};

use super::own;
use crate::handle::Handle;
use crate::types::{PcapT, status};
use crate::{sys, system};

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_inject(p: *mut PcapT, packet: *const c_void, len: usize) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_inject(p, packet, len) };
    match c_int::try_from(len) {
        Err(_) => fail(handle, &format!("More than {} bytes cannot be injected", c_int::MAX)),
        Ok(0) => fail(handle, "The number of bytes to be injected must not be zero"),
        Ok(n) => send(handle, packet.cast(), len).map_or_else(|status| status, |()| n),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pcap_sendpacket(p: *mut PcapT, packet: *const u8, len: c_int) -> c_int {
    let Some(handle) = own(p) else { return system::pcap_sendpacket(p, packet, len) };
    match usize::try_from(len) {
        Err(_) | Ok(0) => fail(handle, "The number of bytes to be sent must be positive"),
        Ok(len) => send(handle, packet, len).map_or_else(|_| status::ERROR, |()| 0),
    }
}

fn send(handle: &Handle, packet: *const u8, len: usize) -> Result<(), c_int> {
    let live = handle.live()?;
    // SAFETY: the program's packet of that many bytes, which it leaves alone until the call returns.
    let packet = unsafe { std::slice::from_raw_parts(packet, len) };
    live.send(packet).map_err(|refused| {
        let text = refused.text.unwrap_or_else(|| error_text(refused.errno));
        let status = handle.fail(&format!("send: {text}"));
        sys::set_errno(refused.errno);
        status
    })
}

/// libpcap puts the error number's text there too, whatever it is of.
fn fail(handle: &Handle, text: &str) -> c_int {
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    handle.fail(&format!("{text}: {}", error_text(errno)))
}

/// What `strerror` says.
fn error_text(errno: c_int) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
