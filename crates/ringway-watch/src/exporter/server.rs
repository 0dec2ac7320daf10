//! All clients, in one thread that waits for any of them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::asked::Asked;
use super::connection::Connection;
use super::door::Door;
use super::http::{self, Answer};

/// Clients at once. For another one the oldest is closed: clients that do nothing can't keep others out.
pub(super) const MAX_CONNECTIONS: usize = 128;

/// Clients taken in one turn: the others have several turns before so many came that the oldest gives way.
const TAKEN: usize = MAX_CONNECTIONS / 4;

/// How long a document is as good as new: a flood of requests does not become a flood of readings.
const FRESH: Duration = Duration::from_millis(100);

/// Longest sleep: the end is noticed within this time.
const TICK: Duration = Duration::from_millis(200);

/// Rest after the machine had nothing left for another client.
const BREATH: Duration = Duration::from_millis(20);

/// Serves a page for people, and what `document` writes for it and for collectors of metrics.
///
/// ```no_run
/// use ringway_watch::exporter::{Asked, Door, Server};
/// use ringway_watch::{metrics, routers, switches};
///
/// let listener = std::net::TcpListener::bind("127.0.0.1:9788")?;
/// let document = |asked| match asked {
///     Asked::Metrics => metrics::page(&ringway::open_ports(), &switches::readable(), &routers::readable()),
///     Asked::State | Asked::History => "{}".to_owned(),
/// };
/// Server::new(listener, Door::Names(Vec::new()), document)?.serve(|| false)?; // for ever
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Server<P> {
    listener: TcpListener,
    door: Rc<Door>,
    document: P,
    /// The last documents, as they are sent, and when they were read.
    last: [Option<(Instant, Rc<[u8]>)>; Asked::ALL.len()],
    /// Oldest first.
    clients: VecDeque<Connection>,
}

impl<P: Fn(Asked) -> String> Server<P> {
    /// A server of clients that come to `listener` and are let in at the `door`.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub fn new(listener: TcpListener, door: Door, document: P) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            door: Rc::new(door),
            document,
            last: Default::default(),
            clients: VecDeque::with_capacity(MAX_CONNECTIONS),
        })
    }

    /// Serves until `stopped` says so, which it asks five times a second at least. Nothing that clients do makes it fail.
    ///
    /// # Errors
    /// What the system says of `poll`.
    pub fn serve(&mut self, stopped: impl Fn() -> bool) -> io::Result<()> {
        while !stopped() {
            let ready = self.wait()?;
            let now = Instant::now();
            let mut ready = ready.into_iter();
            let listener = ready.next().unwrap_or(false);
            // As many as were waited for. Clients that are done or too late go.
            let clients: Vec<Connection> = self.clients.drain(..).collect();
            for (mut client, ready) in clients.into_iter().zip(ready) {
                if client.deadline > now && (!ready || self.advance(&mut client)) {
                    self.clients.push_back(client);
                }
            }
            if listener {
                self.accept();
            }
        }
        Ok(())
    }

    /// Whether the listener is ready, then each client.
    fn wait(&self) -> io::Result<Vec<bool>> {
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let of =
            |c| PollFd::new(Connection::stream(c), if c.sends() { PollFlags::OUT } else { PollFlags::IN });
        fds.extend(self.clients.iter().map(of));
        let left = self.clients.iter().map(|c| c.deadline.saturating_duration_since(Instant::now())).min();
        // Rounded up, so that the deadline has passed then.
        let limit = left.map_or(TICK, |left| TICK.min(left + Duration::from_millis(1)));
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        match poll(&mut fds, Some(&limit)) {
            Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
            Err(Errno::INTR) => Ok(vec![false; fds.len()]),
            Err(e) => Err(e.into()),
        }
    }

    fn advance(&mut self, client: &mut Connection) -> bool {
        let door = Rc::clone(&self.door);
        client.advance(&door, |answer| match answer {
            Answer::Found(asked) => self.fresh(asked),
            other => http::write(other, |_| String::new()).into(),
        })
    }

    /// A document, read again unless that was just done.
    fn fresh(&mut self, asked: Asked) -> Rc<[u8]> {
        let last = &mut self.last[asked as usize];
        if let Some((read, bytes)) = last
            && read.elapsed() < FRESH
        {
            return bytes.clone();
        }
        let bytes: Rc<[u8]> = http::write(Answer::Found(asked), &self.document).into();
        *last = Some((Instant::now(), bytes.clone()));
        bytes
    }

    /// Takes clients that wait.
    fn accept(&mut self) {
        for _ in 0..TAKEN {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // A client that is gone already is nobody's loss.
                    let Ok(mut client) = Connection::new(stream) else { continue };
                    if self.advance(&mut client) {
                        self.admit(client);
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(_) => {
                    // Descriptors or memory are used up: a place becomes free, and the client waits in the backlog.
                    self.clients.pop_front();
                    thread::sleep(BREATH);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, client: Connection) {
        if self.clients.len() == MAX_CONNECTIONS {
            self.clients.pop_front();
        }
        self.clients.push_back(client);
    }
}
