//! Ports by which frames cross between a NIC and its host.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ringway::{OpenOptions, Port};

use crate::internal;

/// The ports by which frames of a binding cross, each opened when the first one does. `None`: it could not be opened.
#[derive(Debug, Default)]
pub(crate) struct Crossings(Mutex<Vec<(usize, Option<Port>)>>);

impl Crossings {
    /// Opens the port by which frames of port `served`, called `name`, cross. The caller has no lock of a ring.
    pub(super) fn open(&self, served: usize, name: &str) {
        if self.lock().iter().any(|(s, _)| *s == served) {
            return;
        }
        let port = internal::track(|| crossing(name));
        let mut open = self.lock();
        if !open.iter().any(|(s, _)| *s == served) {
            open.push((served, port));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Option<Port>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `f` use that port.
    pub(super) fn with(&self, served: usize, f: impl FnOnce(&mut Port)) {
        let mut open = self.lock();
        let port = open.iter_mut().find(|(s, _)| *s == served).and_then(|(_, port)| port.as_mut());
        if let Some(port) = port {
            f(port);
        }
    }
}

/// The port of the host for one of a NIC, and the other way round.
fn crossing(name: &str) -> Option<Port> {
    let options = OpenOptions::new().slots(256);
    let opened = match name.strip_suffix('^') {
        Some(nic) => options.send_only(true).open(nic),
        None => {
            let interface = name.split_once(':').map_or(name, |(_, interface)| interface);
            options.copy(true).open(&format!("ebpf:{interface}^"))
        }
    };
    opened.map_err(|e| crate::failure::told(&e)).ok()
}
