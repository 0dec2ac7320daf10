//! A switch port as a whole.

use std::sync::{Arc, Weak};

use super::core::Core;
use crate::count::PortCounters;
use crate::error::Result;
use crate::port::Control;
use ringway_switch::View;

/// The port as a whole. It does not keep the port in use: who only reads counters does not hold it.
#[derive(Debug)]
pub(super) struct ValePort {
    pub(super) core: Weak<Core>,
    pub(super) view: Arc<View>,
    pub(super) rings: u32,
    pub(super) name: String,
    pub(super) describe: String,
}

impl Control for ValePort {
    fn counters(&self, sum: &mut PortCounters) {
        for look in (0..self.rings).filter_map(|r| self.view.look(r, &self.name).ok()) {
            sum.tx.add(&look.tx.without_syncs());
            sum.rx.add(&look.rx.without_syncs());
        }
    }

    fn link_up(&self) -> Result<bool> {
        self.core.upgrade().map_or(Ok(false), |c| c.look_now().map(|()| true))
    }

    fn describe(&self) -> String {
        self.describe.clone()
    }
}
