//! The rows of the table: open ports, and behind them routers in the kernel.

use ringway_watch::ports::{Change, Key, Process, Reading, changes};

use super::routers::{Passed, Router};

/// Ports and routers at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    pub(super) ports: Reading,
    /// In the order of their names.
    pub(super) routers: Vec<Router>,
}

impl Look {
    /// What the caller may see of them.
    pub(super) fn now() -> Self {
        Self { ports: Reading::now(), routers: Router::all() }
    }

    fn has(&self, id: &Id) -> bool {
        match id {
            Id::Port(key) => self.ports.port(key).is_some(),
            Id::Router(name) => self.routers.iter().any(|router| router.name == *name),
        }
    }

    /// Names of rows that were in an earlier look, and are gone.
    pub(super) fn gone_since(&self, earlier: &Self) -> Vec<String> {
        rows(earlier, None, &Self::default())
            .iter()
            .filter(|row| !self.has(&row.id()))
            .map(|row| match row {
                Row::Port(port) => format!("{} (pid {})", row.name(), port.port.key.pid),
                Row::Router(_) => row.name(),
            })
            .collect()
    }
}

impl From<Reading> for Look {
    fn from(ports: Reading) -> Self {
        Self { ports, routers: Vec::new() }
    }
}

/// Tells a row from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Id {
    Port(Key),
    /// By its name.
    Router(String),
}

/// What changed at a port or at a router between two looks.
#[derive(Debug, Clone)]
pub(super) enum Row<'a> {
    Port(Box<Change<'a>>),
    Router(Passed<'a>),
}

/// All rows of `now`. Totals count from `base`.
pub(super) fn rows<'a>(now: &'a Look, before: Option<&'a Look>, base: &'a Look) -> Vec<Row<'a>> {
    let seconds = before.map_or(0.0, |before| now.ports.seconds_since(&before.ports));
    let ports = changes(&now.ports, before.map(|before| &before.ports), &base.ports);
    let routers = now.routers.iter().map(|router| Passed {
        router,
        before: before.and_then(|before| router.in_list(&before.routers)),
        base: router.in_list(&base.routers),
        seconds,
    });
    ports.into_iter().map(|port| Row::Port(Box::new(port))).chain(routers.map(Row::Router)).collect()
}

impl<'a> Row<'a> {
    pub(super) fn id(&self) -> Id {
        match self {
            Self::Port(port) => Id::Port(port.port.key.clone()),
            Self::Router(router) => Id::Router(router.router.name.clone()),
        }
    }

    /// As options name it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Port(port) => port.port.key.name.clone(),
            Self::Router(router) => format!("router={}", router.router.name),
        }
    }

    /// The port, if it is one.
    pub(super) fn port(&self) -> Option<&Change<'a>> {
        if let Self::Port(port) = self { Some(&**port) } else { None }
    }

    /// The process that has the port open, or follows the kernel's tables for the router.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Port(port) => Some(port.port.key.pid),
            Self::Router(router) => router.router.pid,
        }
    }

    pub(super) fn owner(&self) -> Option<&'a Process> {
        match self {
            Self::Port(port) => port.port.owner.as_ref(),
            Self::Router(router) => router.router.owner.as_ref(),
        }
    }

    /// Frames a second that the program was given, or that came in by members.
    pub(super) fn rx_pps(&self) -> Option<f64> {
        match self {
            Self::Port(port) => port.rx.map(|rates| rates.pps),
            Self::Router(router) => router.received(),
        }
    }

    /// Frames a second that the program sent, or that the router forwarded.
    pub(super) fn tx_pps(&self) -> Option<f64> {
        match self {
            Self::Port(port) => port.tx.map(|rates| rates.pps),
            Self::Router(router) => router.forwarded(),
        }
    }

    /// Frames dropped a second.
    pub(super) fn drops(&self) -> Option<f64> {
        match self {
            Self::Port(port) => port.both.map(|rates| rates.drops),
            Self::Router(router) => router.lost(),
        }
    }

    /// Frames dropped since totals began to count.
    pub(super) fn dropped(&self) -> u64 {
        match self {
            Self::Port(port) => port.dropped,
            Self::Router(router) => router.dropped(),
        }
    }

    /// Processors that its process used.
    pub(super) fn cpus(&self) -> Option<f64> {
        match self {
            Self::Port(port) => port.cpus,
            Self::Router(router) => router.cpus(),
        }
    }
}
