//! A socket that this process serves, for all its ports whose interfaces meet their clients there.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use ringway_memif::{Access, Address, Channel, Listening, Reason, Session, Terms};

use super::interface::Interface;
use crate::error::{Error, ErrorKind, Result};

/// Clients in a handshake at once; more wait.
const MOST_PENDING: usize = 16;

/// A handshake that takes longer ends.
const PATIENCE_NS: u64 = 2_000_000_000;

/// The sockets of this process.
static SOCKETS: LazyLock<Mutex<HashMap<Address, Weak<Socket>>>> = LazyLock::new(Mutex::default);

/// A socket, its ports, and the clients that shake hands.
#[derive(Debug)]
pub(super) struct Socket {
    access: Access,
    listening: Listening,
    /// Process that listens; a fork leaves the socket alone.
    pid: u32,
    ports: Mutex<HashMap<u32, Weak<dyn Interface>>>,
    pending: Mutex<Vec<Pending>>,
}

#[derive(Debug)]
struct Pending {
    session: Session,
    until_ns: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Entries come and go whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Socket {
    /// The socket at an address, which a port of this process listens at already, or this one begins to.
    pub(super) fn at(address: &Address, access: Access, port: &str) -> Result<Arc<Self>> {
        let mut sockets = lock(&SOCKETS);
        sockets.retain(|_, socket| socket.strong_count() > 0);
        let there = sockets.get(address).and_then(Weak::upgrade).filter(|s| s.pid == std::process::id());
        if let Some(socket) = there {
            if socket.access != access {
                let what = "another port serves this socket with another `access`";
                return Err(Error::new(ErrorKind::Busy, port, what).cure("give both ports the same option"));
            }
            return Ok(socket);
        }
        let listening = Listening::at(address, access, port)?;
        let (ports, pending) = (Mutex::default(), Mutex::default());
        let socket = Arc::new(Self { access, listening, pid: std::process::id(), ports, pending });
        sockets.insert(address.clone(), Arc::downgrade(&socket));
        Ok(socket)
    }

    /// Serves interface `id` for a port from now on.
    pub(super) fn add(&self, id: u32, core: &Arc<dyn Interface>) -> Result<()> {
        let mut ports = lock(&self.ports);
        if ports.get(&id).is_some_and(|port| port.strong_count() > 0) {
            let what = format!("interface {id} of this socket has a port");
            return Err(Error::new(ErrorKind::Busy, core.name(), what).cure("give it another number: id=N"));
        }
        core.watch(self.listening.as_fd());
        lock(&self.pending).iter().for_each(|p| core.watch(p.session.channel().as_fd()));
        ports.insert(id, Arc::downgrade(core));
        Ok(())
    }

    /// No port serves the interface any more, unless a new one does already.
    pub(super) fn remove(&self, id: u32) {
        lock(&self.ports).retain(|&other, port| other != id || port.strong_count() > 0);
    }

    /// Accepts clients and goes on with their handshakes, unless another thread does.
    pub(super) fn serve(&self, now: u64) {
        if self.pid != std::process::id() {
            return;
        }
        let Ok(mut pending) = self.pending.try_lock() else { return };
        while pending.len() < MOST_PENDING
            && let Some(socket) = self.listening.accept()
        {
            // A client that may not connect, or that is gone, has got its answer.
            let greet = |channel| Session::new(channel, "ringway", self.most_rings());
            if let Ok(session) = Channel::new(socket, self.access).and_then(greet) {
                self.watch(&session);
                pending.push(Pending { session, until_ns: now + PATIENCE_NS });
            }
        }
        let mut waiting = Vec::new();
        for mut one in pending.drain(..) {
            match one.session.advance(|id| self.terms(id)) {
                Ok(None) if now < one.until_ns => waiting.push(one),
                Ok(None) => self.turn_away(&one.session, Reason::Slow),
                Ok(Some((id, link))) => self.connect(id, link, one.session.into_channel()),
                Err(why) => self.turn_away(&one.session, why),
            }
        }
        *pending = waiting;
    }

    /// Says why there will be no connection, to the client and to the port that it was for.
    fn turn_away(&self, session: &Session, why: Reason) {
        session.channel().say_last(&why);
        if let Some(port) = session.asked_for().and_then(|id| self.port(id)).filter(|port| !port.is_up()) {
            port.note(why);
        }
    }

    fn connect(&self, id: u32, link: ringway_memif::Link, channel: Channel) {
        match self.port(id) {
            None => channel.say_last(&Reason::NoInterface(id)),
            Some(port) => {
                if let Err((why, channel)) = port.connect(link, channel) {
                    channel.say_last(&why);
                }
            }
        }
    }

    fn watch(&self, session: &Session) {
        let ports: Vec<_> = lock(&self.ports).values().filter_map(Weak::upgrade).collect();
        ports.iter().for_each(|port| port.watch(session.channel().as_fd()));
    }

    fn port(&self, id: u32) -> Option<Arc<dyn Interface>> {
        lock(&self.ports).get(&id).and_then(Weak::upgrade)
    }

    fn most_rings(&self) -> u16 {
        let ports: Vec<_> = lock(&self.ports).values().filter_map(Weak::upgrade).collect();
        ports.iter().filter_map(|port| port.terms()).map(|terms| terms.rings).max().unwrap_or(1)
    }

    /// What interface `id` allows its client.
    fn terms(&self, id: u32) -> std::result::Result<Terms, Reason> {
        let port = self.port(id).ok_or(Reason::NoInterface(id))?;
        // The last client may be gone, and nobody has looked since.
        port.listen_to_peer();
        match port.terms() {
            Some(_) if port.is_up() => Err(Reason::AlreadyConnected),
            terms => terms.ok_or(Reason::NoInterface(id)),
        }
    }
}
