//! Ports that another process opened.

use crate::backend::{ebpf, vale};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Region;
use crate::port::name::PortName;
use crate::port::{Exported, Port};

impl Port {
    /// The port that another process [exported](Self::export), for this one to serve as well. `region` is over the memory of the port's
    /// region. `ranges` has what the last sync of each ring handed out, of tx rings, then of rx rings.
    ///
    /// Rings and buffers are laid out already and stay as they are. All processes with the port, the opener included, sync each
    /// ring in turn, under a lock of their own. The process that was not the last one first [takes over](crate::RxRing::adopt). The
    /// port is open until the last process has dropped it. It is listed as the opener's, and its counters here are of
    /// this process and of the kernel.
    ///
    /// An imported port of an interface sends live frames only, of one slot each. Where the interface takes none a sync of its tx rings
    /// fails.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for words and descriptors that no such port exports, or for another region.
    #[doc(hidden)]
    pub fn import(exported: Exported, region: Region, ranges: &[(u32, u32)]) -> Result<Self> {
        let made = match exported.name.parse()? {
            PortName::Ebpf { .. } => ebpf::import(exported, region, ranges)?,
            PortName::Vale { .. } => vale::import(exported, region, ranges)?,
            _ => {
                let what = "only ports of interfaces and of switches are shared by processes";
                return Err(Error::new(ErrorKind::Unsupported, exported.name, what)
                    .cure("open the port in each process"));
            }
        };
        Self::assemble(made, "")
    }
}
