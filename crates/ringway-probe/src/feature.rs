//! A feature of the kernel that is tried, and what a refusal says.

use std::io;

use super::Check;
use super::rights::{RAISE_MEMLOCK, Rights, filtered};
use ringway_sys::capability::Cap;

/// A feature that is tried: what it is, what it needs, and what to do when the kernel lacks it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feature {
    pub(super) id: &'static str,
    pub(super) what: &'static str,
    /// The system call, for the cure when a filter denies it.
    pub(super) call: &'static str,
    pub(super) caps: &'static [Cap],
    pub(super) kernel: &'static str,
}

impl Feature {
    /// Makes a finding of how the trial went.
    pub(super) fn judge(&self, rights: &Rights, tried: io::Result<String>) -> Check {
        let check = Check::new(self.id, self.what);
        let e = match tried {
            Ok(detail) => return check.ok(detail),
            Err(e) => e,
        };
        let code =
            e.raw_os_error().or_else(|| (e.kind() == io::ErrorKind::PermissionDenied).then_some(libc::EPERM));
        let (detail, cure) = match code {
            Some(libc::EPERM | libc::EACCES) => rights.denied(self.call, self.caps),
            // What systemd's RestrictAddressFamilies= and SystemCallFilter= answer.
            Some(libc::ENOSYS | libc::EAFNOSUPPORT) if rights.seccomp => filtered(self.call),
            Some(libc::ENOBUFS) => ("the limit of locked memory is too small".into(), RAISE_MEMLOCK.into()),
            Some(libc::ENOMEM) => {
                ("out of memory".into(), "free memory, or raise the memory limit of the control group".into())
            }
            Some(libc::EMFILE) => ("too many open descriptors".into(), "`ulimit -n 1024`".into()),
            _ => (format!("refused: {e}"), self.kernel.into()),
        };
        check.missing(detail, cure)
    }

    /// The finding when another one stands in the way.
    pub(super) fn untried(&self, because: &Check) -> Check {
        let cure = because.cure.clone().unwrap_or_default();
        Check::new(self.id, self.what).unknown(format!("not tried: no {}", because.what), cure)
    }
}
