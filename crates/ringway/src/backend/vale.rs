//! `vale0:p1`: a port of a switch. The sender's sync runs the switch program; a receiver's looks how far senders came.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use super::vale_out::Outs;
use crate::abi::handshake;
use crate::abi::layout::{FIRST_BUF, MAX_CHAIN};
use crate::abi::slot::Slot;
use crate::count::{PortCounters, Registration};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Alloc, Backing, Region};
use crate::nic::LOOK_NS;
use crate::port::name::{PortName, parse};
use crate::port::{BUF_SIZE, Control, Kind, Made, Open, OpenOptions, one_pair, refuse_send_only, wrong_kind};
use crate::ring::{Finisher, Lease, PortShape, RingParts, RingView, RxRing, RxSync, TxRing, TxSync};
use crate::switch::layout::ctl;
use crate::switch::{self, Look, Shape, Switch, Ticket, View, objects, pins};
use crate::sys::bpf::{self, Bell};
use crate::sys::dir_lock::DirLock;
use crate::sys::fd::always_ready;
use crate::sys::time;
use ringway_wire::offload::Gso;

/// Ports of switches, called `valeX:PORT`.
pub(crate) const KIND: Kind = Kind {
    scheme: "vale",
    goes_on: true,
    parse: parse::vale,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |_, options| Ok(one_pair(options).region(BUF_SIZE)),
        foreign_region: true,
        open: |name, options| match name {
            PortName::Vale { switch, port } => open(switch, port, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Answers of the program: `enum answer` in bpf/switch/state.h.
const DONE: u32 = 0;
const STALE: u32 = 1;
const BUSY: u32 = 2;

/// How long a receiver sleeps whose doorbell senders may not ring, before it looks for itself.
const QUIET_NAP: Duration = Duration::from_millis(1);

/// Cure of maps that can't be mapped.
const FROZEN: &str = "if a user of the port froze the map: `ringway switch port set` makes the port again";

/// Runs without progress before a sync gives up.
const STALLS: u32 = 1000;

/// What the rings of a port share.
#[derive(Debug)]
struct Core {
    name: String,
    dir: PathBuf,
    shape: Shape,
    region: Region,
    view: Arc<View>,
    number: u32,
    /// What shows the program that a request is of the port's user.
    ticket: Ticket,
    /// When the port was last looked at, monotonic ns.
    looked_ns: AtomicU64,
    /// Removes the port with its last ring if it is ephemeral.
    _claim: PortClaim,
}

/// The right to use the port, held until the last ring is dropped.
#[derive(Debug)]
struct PortClaim {
    ephemeral: Option<(Switch, String)>,
    /// Process that has the port: a fork that lets its copy go changes nothing.
    pid: u32,
    /// Directory of the port.
    dir: PathBuf,
    lock: DirLock,
}

impl PortClaim {
    /// Whether the port is still this process's: root may have given it to others.
    fn holds(&self) -> bool {
        self.pid == std::process::id() && self.lock.is_at(&pins::in_use(&self.dir))
    }
}

impl Drop for PortClaim {
    fn drop(&mut self) {
        if let Some((switch, port)) = self.ephemeral.as_ref().filter(|_| self.holds()) {
            switch.remove_ephemeral(port);
        }
    }
}

impl Core {
    /// A word of a ring's control block, tx rings first.
    fn ctl(&self, ring: u32, at: usize) -> &AtomicU32 {
        let s = self.region.shared();
        s.mem.u32(s.layout.ctl(ring) + at)
    }

    /// The slot at a position as programs count.
    fn index(&self, position: u32) -> u32 {
        position & (self.shape.slots - 1)
    }

    /// Fails when the port was deleted or given to others. Looks at most ten times a second.
    fn look(&self) -> Result<()> {
        let now = time::monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) < LOOK_NS {
            return Ok(());
        }
        self.looked_ns.store(now, Relaxed);
        self.look_now()
    }

    /// The same, at once.
    fn look_now(&self) -> Result<()> {
        match self.view.look(0, &self.name)?.port {
            0 => Err(switch::port_gone(&self.name)),
            _ => Ok(()),
        }
    }

    fn program(&self) -> Result<OwnedFd> {
        self.look_now()?;
        objects::open_pin(&pins::send(&self.dir), true, &self.name)
    }
}

/// Opens the port, making it when the switch has none of that name and the caller may.
pub(crate) fn open(switch: &str, port: &str, options: &OpenOptions) -> Result<Made> {
    let name = PortName::Vale { switch: switch.into(), port: port.into() }.to_string();
    refuse_options(&name, options)?;
    let root = switch::find(switch)?;
    let dir = pins::port(&root, port);
    let claim = enter(&name, switch, port, &dir)?;
    let shape = switch::read_shape(&root, switch)?;
    let region = objects::open_pin(&dir.join("region"), true, &name)?;
    let region =
        Region::over(region, shape.region(), Backing::BpfArray, Alloc::none()).map_err(|e| e.cure(FROZEN))?;
    let view = Arc::new(View::open(&dir, &name)?);
    let now: Vec<Look> = (0..shape.rings).map(|r| view.look(r, &name)).collect::<Result<_>>()?;
    let Some(&Look { port: number, ticket, nic, .. }) = now.first().filter(|look| look.port != 0) else {
        return Err(switch::port_gone(&name));
    };
    if nic {
        return Err(Error::new(ErrorKind::Busy, name, "the port is an interface")
            .cure("open a port of another name: what it sends there leaves by the interface"));
    }
    let looked_ns = AtomicU64::new(0);
    let core = Arc::new(Core { name, dir, shape, region, view, number, ticket, looked_ns, _claim: claim });
    assemble(&core, &now, options)
}

/// All ports of a switch have the shape that it was made with, and a region of their own.
fn refuse_options(name: &str, options: &OpenOptions) -> Result<()> {
    let bad = |what: &str, cure: &str| Err(Error::new(ErrorKind::Unsupported, name, what).cure(cure));
    if options.slots.is_some() {
        return bad(
            "the rings of a switch are as it was made",
            "open it without `slots`, or make the switch with --slots",
        );
    }
    if options.extra_bufs > 0 {
        return bad("the region of a switch port has no extra buffers", "open it without them");
    }
    Ok(())
}

fn enter(name: &str, switch: &str, port: &str, dir: &Path) -> Result<PortClaim> {
    let claim = |ephemeral, lock| PortClaim { ephemeral, pid: std::process::id(), dir: dir.to_owned(), lock };
    if dir.is_dir() {
        match switch::claim(dir, name) {
            Ok(lock) if lock.is_at(&pins::in_use(dir)) => {
                let ephemeral = Switch::open(switch).ok().filter(|s| s.is_ephemeral(port));
                return Ok(claim(ephemeral.map(|s| (s, port.to_owned())), lock));
            }
            // Its last user just removed it.
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    let made = Switch::open(switch).and_then(|s| Ok((s.add_ephemeral(port)?, s)));
    let (lock, switch) = made.map_err(|e| match e.kind() {
        ErrorKind::Denied => {
            Error::new(ErrorKind::NotFound, name, "there is no such port, and you may not make one")
                .cure(format!("have root make it: `ringway switch port add {name} --owner USER`"))
        }
        _ => e,
    })?;
    Ok(claim(Some((switch, port.to_owned())), lock))
}

/// Takes the rings over from where the last user stopped; `now` is what programs know of each.
fn assemble(core: &Arc<Core>, now: &[Look], options: &OpenOptions) -> Result<Made> {
    let name = &core.name;
    let (rings, slots) = (core.shape.rings, core.shape.slots);
    let lease = Lease::of(&core.region, 0, (0..2 * rings).collect(), slots);
    let views: Vec<RingView> = lease.views().collect();
    repair(&views);
    let registration = Registration::new(name, rings, rings)?;
    if let (Some(id), Some(look)) = (core.view.id(), now.first()) {
        registration.set_switch_port(id, look.tag());
    }
    let part = |view: &RingView, first, tail, stats| RingParts {
        view: view.clone(),
        first,
        tail,
        stats,
        lease: lease.clone(),
    };
    let mut tx = Vec::new();
    let mut rx = Vec::new();
    for (r, now) in (0..rings).zip(now) {
        let view = &views[r as usize];
        // Frames that were not synced are gone with their process.
        let sent = core.index(now.sent);
        let side = ValeTx::new(core.clone(), r, sent)?;
        let tail = view.prev(sent);
        core.ctl(r, ctl::HEAD).store(sent, Release);
        view.told().store(sent, Release);
        view.set_cursors(sent, tail);
        tx.push(TxRing::new(part(view, sent, tail, registration.tx(r)), Box::new(side)));
        let view = &views[(rings + r) as usize];
        let mut side = ValeRx::new(core.clone(), r, now.published, options.raw)?;
        side.ctl(ctl::WHOLE).store(u32::from(options.gso == Gso::Carry), Relaxed);
        side.retell(view)?;
        side.retell_quiet()?;
        let (head, tail) = side.resume(view, now.head);
        view.set_cursors(head, tail);
        rx.push(RxRing::new(part(view, head, tail, registration.rx(r)), Box::new(side)));
    }
    let describe = format!(
        "vale: port {} of a switch, {rings} ring{} of {slots} slots each way",
        core.number,
        if rings == 1 { "" } else { "s" }
    );
    Ok(Made {
        name: name.clone(),
        region: core.region.clone(),
        shape: PortShape { tx_rings: rings, rx_rings: rings, slots, host: false },
        rx,
        tx,
        registration,
        control: Arc::new(ValePort {
            core: Arc::downgrade(core),
            view: core.view.clone(),
            rings,
            name: name.clone(),
            describe,
        }),
        max_frame: (MAX_CHAIN * core.region.buf_size()).min(u32::from(u16::MAX)),
    })
}

/// Gives each slot a buffer of its own again: the last user may have died while it exchanged some.
fn repair(views: &[RingView]) {
    let total: u32 = views.iter().map(RingView::num).sum();
    let mut seen = vec![false; (FIRST_BUF + total) as usize];
    let mut wrong = Vec::new();
    for view in views {
        for i in 0..view.num() {
            match seen.get_mut(view.slot(i).buf as usize) {
                Some(s) if view.slot(i).buf >= FIRST_BUF && !*s => *s = true,
                _ => wrong.push((view, i)),
            }
        }
    }
    let free = (FIRST_BUF..).zip(&seen[FIRST_BUF as usize..]).filter(|(_, seen)| !**seen).map(|(buf, _)| buf);
    for ((view, i), buf) in wrong.into_iter().zip(free) {
        view.set_slot(i, Slot { buf, len: 0, flags: 0 });
    }
}

/// The sending side of a ring.
#[derive(Debug)]
struct ValeTx {
    core: Arc<Core>,
    ring: u32,
    sent: u32,
    program: OwnedFd,
    outs: Outs,
    ready: Arc<OwnedFd>,
}

impl ValeTx {
    fn new(core: Arc<Core>, ring: u32, sent: u32) -> Result<Self> {
        let ready = always_ready().map_err(|e| Error::io(&core.name, "eventfd failed", e))?;
        let program = core.program()?;
        let outs = Outs::new(&core.name, &core.dir);
        Ok(Self { core, ring, sent, program, outs, ready })
    }

    /// Runs the program once.
    fn run(&mut self) -> Result<u32> {
        let who = u64::from(self.core.number) << 32 | u64::from(self.ring);
        let answer = bpf::run_syscall(self.program.as_fd(), &mut [who, self.core.ticket.word()]);
        let answer = answer.map_err(|e| {
            Error::io(&self.core.name, "running the switch program failed", e)
                .cure("open the port again; `ringway switch list` shows whether the switch is there")
        })?;
        let (answer, nic, frames) = (answer & 0xff, answer >> 8 & 0xff, answer >> 16);
        if nic != 0 {
            self.outs.send(nic, frames)?;
        }
        match answer {
            DONE | BUSY => {}
            STALE => {
                self.outs.reopen();
                self.program = self.core.program()?;
            }
            _ => {
                self.core.look_now()?;
                let what = "the switch program finds no region: the switch is broken";
                return Err(Error::new(ErrorKind::Gone, &self.core.name, what).cure("make the switch again"));
            }
        }
        Ok(answer)
    }
}

impl TxSync for ValeTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.core.ctl(self.ring, ctl::HEAD).store(head, Release);
        let mut stalled = 0;
        while self.sent != head {
            let answer = self.run()?;
            let taken = handshake::observe(ring.told()) & (ring.num() - 1);
            if taken != self.sent && ring.dist(self.sent, taken) <= ring.dist(self.sent, head) {
                self.sent = taken;
                stalled = 0;
                continue;
            }
            stalled += 1;
            if answer == BUSY {
                std::thread::yield_now();
            }
            if stalled > STALLS {
                let what = "the switch program does not advance: something else uses this ring";
                return Err(Error::new(ErrorKind::Invalid, &self.core.name, what)
                    .cure("use a tx ring from one thread"));
            }
        }
        Ok(ring.prev(self.sent))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

/// The receiving side of a ring.
#[derive(Debug)]
struct ValeRx {
    core: Arc<Core>,
    bell: Bell,
    ring: u32,
    /// Position up to which frames were handed out, as programs count; low half.
    seen: u32,
    armed: bool,
    finisher: Finisher,
}

impl ValeRx {
    fn new(core: Arc<Core>, ring: u32, seen: u32, raw: bool) -> Result<Self> {
        let fd = objects::open_pin(&core.dir.join(format!("bell{ring}")), true, &core.name)?;
        let bell =
            Bell::new(fd).map_err(|e| Error::io(&core.name, "mapping a doorbell failed", e).cure(FROZEN))?;
        Ok(Self { core, bell, ring, seen, armed: false, finisher: Finisher::when(!raw) })
    }

    fn ctl(&self, at: usize) -> &AtomicU32 {
        self.core.ctl(self.core.shape.rings + self.ring, at)
    }

    /// Position before which senders published, by the programs' own book.
    fn published(&self) -> Result<u32> {
        Ok(self.core.view.look(self.ring, &self.core.name)?.published)
    }

    /// Puts right what programs told, which the last user may have overwritten. Senders may tell news meanwhile.
    fn retell(&mut self, view: &RingView) -> Result<()> {
        loop {
            view.told().store(self.seen, Release);
            let now = self.published()?;
            if std::mem::replace(&mut self.seen, now) == now {
                return Ok(());
            }
        }
    }

    /// The same for the word that tells whether the doorbell is quiet. Programs write their book first, so one that tells
    /// news meanwhile is not overwritten; a word that is set too long falls with the next ring.
    fn retell_quiet(&self) -> Result<()> {
        self.ctl(ctl::QUIET).store(0, SeqCst);
        if self.core.view.look(self.ring, &self.core.name)?.is_quiet() {
            self.ctl(ctl::QUIET).store(1, Release);
        }
        Ok(())
    }

    /// Where the last user stopped: the head that it gave back last, if that lies between what the programs know as given
    /// back and what they published.
    fn resume(&mut self, view: &RingView, known: u32) -> (u32, u32) {
        let tail = self.core.index(self.seen);
        let waiting = self.seen.wrapping_sub(known).min(view.num() - 1);
        let first = self.core.index(self.seen.wrapping_sub(waiting));
        let head = self.ctl(ctl::HEAD).load(Acquire);
        let ok = head < view.num() && view.dist(first, head) <= waiting;
        let head = if ok { head } else { first };
        if view.fed() {
            self.finisher.finish(view, head, tail);
        }
        (head, tail)
    }
}

impl RxSync for ValeRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.armed {
            self.armed = false;
            handshake::withdraw(self.ctl(ctl::WISH));
            self.bell.drain();
        }
        self.ctl(ctl::HEAD).store(head, Release);
        let mut now = handshake::observe(ring.told());
        if now.wrapping_sub(self.seen) >= ring.num() {
            // A sender told an older position after another one told a newer, and is about to look again; or the word was
            // overwritten. What was published never goes back.
            now = self.published()?;
        }
        if now == self.seen {
            self.core.look()?;
        }
        let (from, to) = (self.core.index(self.seen), self.core.index(now));
        if from != to && ring.fed() {
            self.finisher.finish(ring, from, to);
        }
        self.seen = now;
        Ok(to)
    }

    fn arm(&mut self, ring: &RingView) -> Result<bool> {
        self.core.look()?;
        self.armed = true;
        let now = handshake::wish(ring.told(), self.ctl(ctl::WISH));
        if now != self.seen {
            return Ok(true);
        }
        // Looked at after the wish was left: a sender that sets it then looks for a wish.
        if self.ctl(ctl::QUIET).load(Acquire) == 0 {
            return Ok(false);
        }
        self.bell
            .wait(QUIET_NAP)
            .map_err(|e| Error::io(&self.core.name, "waiting for the doorbell failed", e))?;
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// The port as a whole. It does not keep the port in use: who only reads counters does not hold it.
#[derive(Debug)]
struct ValePort {
    core: std::sync::Weak<Core>,
    view: Arc<View>,
    rings: u32,
    name: String,
    describe: String,
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
