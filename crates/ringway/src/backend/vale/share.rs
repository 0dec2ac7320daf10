//! Hands the port to other processes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use super::core::Core;
use super::nics::{NicTransmitters, Out};
use crate::error::{Error, Result};
use crate::port::{Exported, Share, Words};
use std::os::fd::AsFd;

/// Programs that send to NICs of the switch, at most. A process opens others itself, as it does when a NIC comes.
const MOST_OUTS: usize = 64;

/// It does not keep the port open.
#[derive(Debug)]
pub(super) struct Exporter {
    core: Weak<Core>,
    /// Whether received frames keep their bytes as the kernel has them.
    raw: bool,
}

impl Exporter {
    pub(super) fn new(core: &Arc<Core>, raw: bool) -> Self {
        Self { core: Arc::downgrade(core), raw }
    }
}

impl Share for Exporter {
    fn export(&self) -> Result<Option<Exported>> {
        let Some(core) = self.core.upgrade() else { return Ok(None) };
        let Some(dir) = core.dir.to_str() else { return Ok(None) };
        let mut outs = NicTransmitters::new(&core.name, &core.dir).into_open();
        outs.truncate(MOST_OUTS);
        let words = Words::of(&core.region).text(dir).u32(self.raw.into()).u32(outs.len() as u32);
        let words = outs.iter().fold(words, |words, out| words.u32(out.port).u32(out.host.unwrap_or(0)));
        let fds = descriptors(&core, &outs)
            .map_err(|e| Error::io(&core.name, "handing the port to another process failed", e))?;
        Ok(words.with(&core.name, fds))
    }
}

/// The view, the program that takes what the port sends, the claim, a doorbell for each ring, programs that send to NICs.
fn descriptors(core: &Core, outs: &[Out]) -> io::Result<Vec<OwnedFd>> {
    let mut fds = vec![core.view.share()?, core.program().try_clone()?, core.claim.share()?];
    for bell in &core.bells {
        fds.push(bell.as_fd().try_clone_to_owned()?);
    }
    for out in outs {
        fds.push(out.program.try_clone()?);
    }
    Ok(fds)
}
