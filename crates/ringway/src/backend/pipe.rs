//! `pipe:NAME{ID` and `pipe:NAME}ID`: two ends that exchange slots, in one process or in two; `loop:` is both at once.
//!
//! A pipe by name is a directory of three files that exist from the first opener on to the last.
//! They are the region, and one FIFO as doorbell for each direction and side. The owner of an end
//! holds a lock on one byte of the region file. So an end is free again the moment its process
//! dies, and a new process goes on where the old one stopped. There is no server. The first opener
//! lays the region out, and the last one removes the files. The next open removes files that a
//! killed last one left, or lays them out afresh. A process that may change the size of the region
//! could end the other side with SIGBUS. So by name both ends are of one user, whose directory
//! nobody else may write in ([`PrivateDir`]). A region that is sent to other processes is a memfd
//! whose size is sealed.

use std::any::Any;
use std::fs::{File, Metadata};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use super::link::{Link, LinkRx, LinkTx};
use crate::abi::layout::FIRST_BUF;
use crate::count::{self, Registration};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Alloc, Backing, Claims, Layout, Region, RegionSpec, layout_of};
use crate::port::name::{PipeEnd, PortName, parse};
use crate::port::{
    BUF_SIZE, Control, Kind, Made, Open, OpenOptions, Plain, Port, SLOTS, Setup, one_pair, refuse_send_only,
    wrong_kind,
};
use crate::ring::{Lease, PortShape, RingParts, RingView, RxRing, TxRing};
use crate::sys::fd;
use crate::sys::private_dir::PrivateDir;

/// Ports called `pipe:`.
pub(crate) const PIPE: Kind = Kind {
    scheme: "pipe",
    goes_on: false,
    parse: parse::pipe,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |_, options| Ok(one_pair(options).region(BUF_SIZE)),
        foreign_region: true,
        open: |name, options| match name {
            PortName::Pipe { name: pipe, id, end } => open(pipe, id, *end, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Ports called `loop:`.
pub(crate) const LOOP: Kind = Kind {
    scheme: "loop",
    goes_on: false,
    parse: parse::lone_loop,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |_, options| Ok(one_pair(options).region(BUF_SIZE)),
        foreign_region: false,
        open: |name, options| open_loop(&Setup::new(name, options, one_pair(options), BUF_SIZE)?),
    },
};

/// Rings of a pipe's region: tx and rx of `{`, then tx and rx of `}`.
const RINGS: u32 = 4;

/// The region's file in the directory of a pipe with a name.
const REGION: &str = "region";

/// Bytes of the locks in the region file.
const SETUP: i64 = 0;
const ENDS: i64 = 1;

fn bells() -> std::io::Result<[Arc<OwnedFd>; 4]> {
    Ok([
        Arc::new(fd::eventfd()?),
        Arc::new(fd::eventfd()?),
        Arc::new(fd::eventfd()?),
        Arc::new(fd::eventfd()?),
    ])
}

/// Opens `loop:`.
pub(crate) fn open_loop(setup: &Setup) -> Result<Made> {
    let [a, b, ..] = bells().map_err(|e| Error::io(&setup.name, "eventfd failed", e))?;
    let (tx, rx) = setup.views();
    let link = Link { tx: tx[0].clone(), rx: rx[0].clone(), bells: (a, b) };
    let made = take(&setup.lease, &setup.registration, link.clone(), link, Other::ThisProcess);
    let what = Plain("loop: what is sent comes back".into());
    Ok(setup.finish(vec![made.0], vec![made.1], u32::from(u16::MAX), what))
}

/// Two rings of `slots` slots for this process alone: frames that are sent to the first come out of the second, in another thread
/// if need be. No directory lists them.
///
/// ```
/// let (mut tx, mut rx) = ringway::pipe::ring_pair(64)?;
/// assert!(tx.push(&[7; 60]));
/// tx.sync()?;
/// assert_eq!(rx.sync()?, 1);
/// # Ok::<(), ringway::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for less than 2 or more than 65536 slots; when descriptors or memory run out.
pub fn ring_pair(slots: u32) -> Result<(TxRing, RxRing)> {
    const NAME: &str = "loop:";
    let shape = PortShape { tx_rings: 1, rx_rings: 1, slots, host: false };
    let region = Region::memfd(&shape.region(BUF_SIZE))?;
    let lease = Lease::take(&region, NAME, &shape)?;
    let io = |e| Error::io(NAME, "eventfd failed", e);
    let bells = (Arc::new(fd::eventfd().map_err(io)?), Arc::new(fd::eventfd().map_err(io)?));
    let mut views = lease.views();
    let (tx, rx) = views.next().zip(views.next()).expect("a lease has the rings of its shape");
    let link = Link { tx, rx, bells };
    let registration = Registration::unlisted(NAME, 1, 1)?;
    let (rx, tx) = take(&lease, &registration, link.clone(), link, Other::ThisProcess);
    Ok((tx, rx))
}

/// Who has the other end, and can write slot words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Other {
    ThisProcess,
    AnyProcess,
}

/// The rings of an end that receives on `inward` and sends on `outward`.
fn take(
    lease: &Arc<Lease>,
    registration: &Registration,
    inward: Link,
    outward: Link,
    other: Other,
) -> (RxRing, TxRing) {
    let any = other == Other::AnyProcess;
    let program = |ring: &RingView| if any { ring.with_own_words() } else { ring.clone() };
    let bufs = inward.rx.region().shared().layout.bufs;
    let (rx_claims, tx_claims) = any.then(|| Claims::of_both_sides(bufs).into()).unzip();
    let (view, stats) = (program(&inward.rx), registration.rx(0));
    let (side, first, tail) = LinkRx::take(inward, &view, rx_claims, stats.clone());
    let rx = RxRing::new(RingParts { view, first, tail, stats, lease: lease.clone() }, Box::new(side));
    let (view, stats) = (program(&outward.tx), registration.tx(0));
    let (side, first, tail) = LinkTx::take(outward, &view, tx_claims, stats.clone());
    let tx = TxRing::new(RingParts { view, first, tail, stats, lease: lease.clone() }, Box::new(side));
    (rx, tx)
}

/// Descriptors of a pipe without a name, to hand to another process: by inheritance or over a unix
/// socket (SCM_RIGHTS). A process that has them can open an end with [`open_pipe_fds`], read and
/// change all frames, but not the size of the region.
#[derive(Debug)]
pub struct PipeFds {
    /// The region: a memfd whose size is sealed (`F_SEAL_SHRINK`, `F_SEAL_GROW`, `F_SEAL_SEAL`).
    pub region: OwnedFd,
    /// Doorbells, which are FIFOs: of the receiver and of the sender on the way `{` to `}`, then on the way back.
    pub bells: [OwnedFd; 4],
}

/// Makes a pipe without a name, of rings with `slots` slots.
///
/// ```
/// use ringway::PipeEnd;
/// use ringway::pipe::{open_pipe_fds, pipe_fds};
/// let fds = pipe_fds(256)?;
/// let mut a = open_pipe_fds(&fds, PipeEnd::Open)?;
/// let mut b = open_pipe_fds(&fds, PipeEnd::Close)?; // in another process, as a rule
/// a.tx[0].push(&[1; 60]);
/// a.tx[0].sync()?;
/// assert_eq!(b.rx[0].sync()?, 1);
/// # Ok::<(), ringway::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for less than 2 or more than 65536 slots; when descriptors or memory run out.
pub fn pipe_fds(slots: u32) -> Result<PipeFds> {
    let io = |e| Error::io("pipe", "making a doorbell failed", e);
    let layout = layout_of(&spec(slots))?;
    let region = fd::memfd(c"ringway-pipe", layout.total as u64)
        .map_err(|e| Error::io("pipe", "memfd_create failed", e))?;
    lay_out(&region, layout)?;
    let bell = || fd::fifo().map_err(io);
    Ok(PipeFds { region, bells: [bell()?, bell()?, bell()?, bell()?] })
}

/// Opens one end of a pipe made with [`pipe_fds`], here or in another process.
///
/// # Errors
/// [`ErrorKind::Busy`] when that end is open; [`ErrorKind::Invalid`] when the descriptors are no
/// pipe's, or the region is not sealed. Its maker could end this process by cutting it short.
pub fn open_pipe_fds(fds: &PipeFds, end: PipeEnd) -> Result<Port> {
    let name = PortName::Pipe { name: "fds".into(), id: String::new(), end }.to_string();
    if !fd::has_sealed_size(fds.region.as_fd()) {
        let what = "the size of the region is not sealed: another process could cut it short";
        return Err(Error::new(ErrorKind::Invalid, &name, what).cure("make the pipe with pipe_fds"));
    }
    let region = reopen(&fds.region).map_err(|e| Error::io(&name, "reopening the region failed", e))?;
    let bell = |k: usize| {
        let bell = fd::reopen_fifo(fds.bells[k].as_fd());
        bell.map(Arc::new).map_err(|e| {
            Error::io(&name, "reopening a doorbell failed", e).cure("make the pipe with pipe_fds")
        })
    };
    let bells = [bell(0)?, bell(1)?, bell(2)?, bell(3)?];
    hold_end(&region, end, &name)?;
    Port::assemble(open_end(&name, region.into(), bells, end, None)?, "")
}

/// A new open file description, so that the lock on the end belongs to this port alone.
fn reopen(fd: &OwnedFd) -> std::io::Result<File> {
    use std::os::fd::AsRawFd;
    File::options().read(true).write(true).open(format!("/proc/thread-self/fd/{}", fd.as_raw_fd()))
}

fn spec(slots: u32) -> RegionSpec {
    let buffers = FIRST_BUF + RINGS * slots.min(1 << 16);
    RegionSpec { interfaces: 2, rings: RINGS, slots, buffers, buf_size: BUF_SIZE }
}

/// Lays out the region of a new pipe.
fn lay_out(fd: &OwnedFd, layout: Layout) -> Result<()> {
    let fd = fd.try_clone().map_err(|e| Error::io("pipe", "dup failed", e))?;
    let region = Region::over(fd, layout, Backing::File, Alloc::new(&layout))?;
    let shape = PortShape { tx_rings: 1, rx_rings: 1, slots: layout.slots, host: false };
    // Both at once, for a lease that is dropped gives its place back; then the process that keeps places ends.
    let ends = [Lease::take(&region, "pipe{", &shape)?, Lease::take(&region, "pipe}", &shape)?];
    drop(ends);
    Ok(())
}

/// The layout of a pipe that exists: from the size of its file, for nothing in it can be trusted.
fn layout_in(file: &File, name: &str) -> Result<Layout> {
    let len = file.metadata().map_err(|e| Error::io(name, "stat of the region failed", e))?.len();
    let per_slot = RINGS as usize * (BUF_SIZE as usize + crate::abi::layout::SLOT_SIZE);
    let guess = len as usize / per_slot;
    (guess.saturating_sub(8)..=guess)
        .rev()
        .filter_map(|slots| spec(slots as u32).layout())
        .find(|l| l.total as u64 == len)
        .ok_or_else(|| {
            Error::new(ErrorKind::Invalid, name, format!("a file of {len} bytes is not the region of a pipe"))
                .cure("remove it")
        })
}

fn hold_end(region: &File, end: PipeEnd, name: &str) -> Result<()> {
    match fd::lock_byte(region.as_fd(), ENDS + end as i64, false) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::new(ErrorKind::Busy, name, "this end of the pipe is in use")
            .cure("open the other end, or end the program that has this one")),
        Err(e) => Err(Error::io(name, "locking the end failed", e)),
    }
}

/// Opens an end whose lock is held through `region`.
fn open_end(
    name: &str,
    region: OwnedFd,
    bells: [Arc<OwnedFd>; 4],
    end: PipeEnd,
    files: Option<Files>,
) -> Result<Made> {
    let file = File::from(region);
    let layout = layout_in(&file, name)?;
    let region = Region::over(file.into(), layout, Backing::File, Alloc::none())?;
    let files = files.map(Arc::new);
    let rings = |first: u32| {
        // Only the end that is opened is in use, but both leases go with it.
        let kept = files.clone().map(|files| -> Arc<dyn Any + Send + Sync> { files });
        Lease::of(&region, first / 2, vec![first, first + 1], layout.slots, kept)
    };
    let [a, b, c, d] = bells;
    let (open, close) = (rings(0), rings(2));
    let view = |lease: &Lease, k: usize| lease.views().nth(k).expect("a pipe's end has two rings");
    let there = Link { tx: view(&open, 0), rx: view(&close, 1), bells: (a, b) };
    let back = Link { tx: view(&close, 0), rx: view(&open, 1), bells: (c, d) };
    let registration = Registration::new(name, 1, 1)?;
    let (lease, inward, outward) = match end {
        PipeEnd::Open => (open, back, there),
        PipeEnd::Close => (close, there, back),
    };
    let (rx, tx) = take(&lease, &registration, inward, outward, Other::AnyProcess);
    let shape = PortShape { tx_rings: 1, rx_rings: 1, slots: layout.slots, host: false };
    Ok(Made {
        name: name.to_owned(),
        region,
        shape,
        rx: vec![rx],
        tx: vec![tx],
        registration,
        control: Arc::new(End { _files: files }),
        max_frame: u32::from(u16::MAX),
        share: None,
    })
}

/// An end of a pipe. Its rings keep the files as it does, and the last of them gives the end back.
#[derive(Debug)]
struct End {
    _files: Option<Arc<Files>>,
}

impl Control for End {
    fn describe(&self) -> String {
        "pipe: zero copy between two processes or threads".into()
    }
}

/// The files of a pipe with a name, and the lock on an end: given back, and removed when no end is in use, by `drop`.
#[derive(Debug)]
struct Files {
    /// The directory of all pipes.
    root: PrivateDir,
    /// That of this pipe in it.
    leaf: String,
    /// Shares its open file description, and so the lock on the end, with the region.
    region: File,
    end: PipeEnd,
    /// Process that has the end: the lock is shared with its forks, which must not give it back.
    pid: u32,
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            return;
        }
        let fd = self.region.as_fd();
        if !fd::lock_byte(fd, SETUP, true).unwrap_or(false) {
            return;
        }
        let _ = fd::unlock_byte(fd, ENDS + self.end as i64);
        let other = ENDS + 1 - self.end as i64;
        if fd::lock_byte(fd, other, false).unwrap_or(false) {
            let _ = self.root.remove_dir(&self.leaf); // else the next open does
            let _ = fd::unlock_byte(fd, other);
        }
        let _ = fd::unlock_byte(fd, SETUP);
    }
}

/// The directory of all pipes with a name, made if it is missing.
fn all(name: &str) -> Result<PrivateDir> {
    count::make_directory("pipes").unwrap_or_else(|| {
        Err(Error::new(ErrorKind::Denied, name, "no directory to meet the other end in")
            .cure("set RINGWAY_DIR to a directory of the user that both processes run as"))
    })
}

/// Opens an end of a pipe by name.
pub(crate) fn open(pipe: &str, id: &str, end: PipeEnd, options: &OpenOptions) -> Result<Made> {
    let name = PortName::Pipe { name: pipe.into(), id: id.into(), end }.to_string();
    clean(&all(&name)?);
    let slots = options.slots.unwrap_or(SLOTS);
    let leaf = format!("{pipe}.{id}");
    let (root, dir, region) = enter(&leaf, end, slots, &name)?;
    let dup = region.try_clone().map_err(|e| Error::io(&name, "dup failed", e));
    let ended = dup.and_then(|region| {
        let files = Files { root, leaf, region, end, pid: std::process::id() };
        finish_open(&name, &dir, files)
    });
    let _ = fd::unlock_byte(region.as_fd(), SETUP);
    ended
}

fn finish_open(name: &str, dir: &PrivateDir, files: Files) -> Result<Made> {
    let bell = |k: u32| Ok::<_, Error>(Arc::new(OwnedFd::from(dir.fifo(&format!("bell{k}"))?)));
    let bells = [bell(0)?, bell(1)?, bell(2)?, bell(3)?];
    let region = files.region.try_clone().map_err(|e| Error::io(name, "dup failed", e))?;
    open_end(name, region.into(), bells, files.end, Some(files))
}

/// Opens or makes the region file and takes the lock on `end`; returns with the set-up lock held.
fn enter(leaf: &str, end: PipeEnd, slots: u32, name: &str) -> Result<(PrivateDir, PrivateDir, File)> {
    use std::os::unix::fs::MetadataExt;
    let io = |what: &str, e| Error::io(name, format!("{what} the region"), e);
    loop {
        let root = all(name)?;
        let opened = root.make_dir(leaf).and_then(|dir| Ok((dir.open_or_create(REGION)?, dir)));
        let (file, dir) = match opened {
            Err(e) if e.kind() == ErrorKind::NotFound => continue, // the last owner removed it just now
            opened => opened?,
        };
        fd::lock_byte(file.as_fd(), SETUP, true).map_err(|e| io("locking", e))?;
        // The last owner may have removed the file between our open and our lock.
        let there = root.open_dir(leaf).and_then(|dir| dir.open_file(REGION));
        let same = |m: &Metadata, n: &Metadata| (m.dev(), m.ino()) == (n.dev(), n.ino());
        match (file.metadata(), there.map(|there| there.metadata())) {
            (Ok(m), Ok(Ok(n))) if same(&m, &n) => {}
            _ => continue,
        }
        hold_end(&file, end, name)?;
        let other = ENDS + 1 - end as i64;
        if fd::lock_byte(file.as_fd(), other, false).map_err(|e| io("locking", e))? {
            let made = afresh(&file, slots).map_err(|e| e.cure("remove files or ask for fewer slots"));
            let _ = fd::unlock_byte(file.as_fd(), other);
            made?;
        }
        return Ok((root, dir, file));
    }
}

/// Nobody holds an end: whatever the file held is from the dead.
fn afresh(file: &File, slots: u32) -> Result<()> {
    let layout = layout_of(&spec(slots))?;
    let io = |e| Error::io("pipe", format!("no room for {} bytes", layout.total), e);
    file.set_len(0).map_err(io)?;
    file.set_len(layout.total as u64).map_err(io)?;
    lay_out(&file.try_clone().map_err(io)?.into(), layout)
}

/// Removes pipes that nobody holds.
fn clean(root: &PrivateDir) {
    for leaf in root.names() {
        let Ok(file) = root.open_dir(&leaf).and_then(|dir| dir.open_file(REGION)) else { continue };
        let lock = |byte| fd::lock_byte(file.as_fd(), byte, false).unwrap_or(false);
        if lock(SETUP) && lock(ENDS) && lock(ENDS + 1) {
            let _ = root.remove_dir(&leaf); // else the next open does
        }
    }
}
