//! Failures as libpcap tells them: a status, and a text for `pcap_geterr`.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use ringway::ErrorKind;

use crate::types::{ERRBUF, status};

/// The status that `pcap_activate` returns for a port that does not open.
pub(crate) fn of(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::BadName | ErrorKind::NotFound | ErrorKind::Gone => status::NO_SUCH_DEVICE,
        ErrorKind::Denied => status::PERM_DENIED,
        ErrorKind::LinkDown => status::IFACE_NOT_UP,
        _ => status::ERROR,
    }
}

/// The error number that a packet socket has for a failed send.
pub(crate) fn errno(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::LinkDown => libc::ENETDOWN,
        ErrorKind::Gone | ErrorKind::NotFound => libc::ENXIO,
        ErrorKind::Denied => libc::EPERM,
        _ => libc::EIO,
    }
}

/// As much of a text as fits into a buffer for errors before its NUL.
pub(crate) fn cut(text: &str) -> &str {
    let mut end = text.len().min(ERRBUF - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text of a handle's last failure, where programs read it without any lock.
pub(crate) struct ErrorText([AtomicU8; ERRBUF]);

impl ErrorText {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU8::new(0) }; ERRBUF])
    }

    /// Sets the text, cut to what fits before the NUL.
    pub(crate) fn set(&self, text: &str) {
        for (to, from) in self.0.iter().zip(cut(text).bytes().chain([0])) {
            to.store(from, Relaxed);
        }
    }

    pub(crate) fn get(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().map(|b| b.load(Relaxed)).take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_before_the_nul() {
        let text = ErrorText::new();
        text.set(&"é".repeat(200));
        assert_eq!(text.get(), "é".repeat(127));
        text.set("short");
        assert_eq!(text.get(), "short");
    }
}
