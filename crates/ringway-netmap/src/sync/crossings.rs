//! Ports by which frames cross between a NIC and its host.

use std::sync::{Mutex, PoisonError};

use ringway::{OpenOptions, Port};

use crate::internal;

/// The ports by which frames of a binding cross, each opened when the first one does. `None`: it could not be opened.
#[derive(Debug, Default)]
pub(crate) struct Crossings(Mutex<Vec<(usize, Option<Port>)>>);

impl Crossings {
    /// Has `f` use the port by which frames of port `served`, called `name`, cross.
    pub(super) fn with(&self, served: usize, name: &str, f: impl FnOnce(&mut Port)) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.iter().any(|(s, _)| *s == served) {
            open.push((served, internal::track(|| crossing(name))));
        }
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
