//! The hostile client: this program once more, as a user without any right but to one port.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::calls::{self, Run};
use crate::support::room::{NOBODY, Room};
use crate::support::{Running, spawn};
use crate::{PORT, Random, SWITCH};

/// Words of the environment that tell a process it is one: seed, place of the room.
const ROLE: &str = "RINGWAY_HOSTILE";

/// Such a process.
pub(crate) struct Hostile(Running);

impl Hostile {
    pub(crate) fn start(room: &Room, seed: u64) -> Self {
        // This name leads to the program also for users who may not search its directory.
        let mut command = Command::new("/proc/self/exe");
        command.args(["--exact", "hostile::does_harm", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, format!("{seed} {}", room.path("")));
        command.stdin(Stdio::piped()).current_dir("/").uid(NOBODY).gid(NOBODY);
        // SAFETY: only system calls between fork and exec.
        unsafe { command.pre_exec(lower) };
        Self(spawn(&mut command))
    }

    pub(crate) fn assert_alive(&mut self) {
        assert!(self.0.running(), "the hostile client ended: {}", self.0.said());
    }

    /// Ends it; what it did.
    pub(crate) fn end(self) -> String {
        self.0.signal(libc::SIGTERM);
        let ended = self.0.end();
        let line = ended.stderr.lines().find(|l| l.starts_with("acts ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{}{}", ended.stdout, ended.stderr))
    }
}

/// What this process runs gets no right back, and does not outlive the test.
fn lower() -> std::io::Result<()> {
    // SAFETY: no pointers.
    let done = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL),
        ]
    };
    if done == [0; 2] { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The process, until a signal ends it.
#[test]
fn does_harm() {
    let Ok(words) = std::env::var(ROLE) else { return };
    let (seed, room) = words.split_once(' ').unwrap();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(libc::SIGTERM, stop.clone()).unwrap();
    raise_limit();
    let mut client = Client::new(seed.parse().unwrap(), room);
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        client.acts();
    }
    for (kind, tried, succeeded) in client.done {
        let harmless = kind == "freeze" || kind == "nic"; // may be of no avail in a short time
        assert!(harmless || succeeded > 0, "{kind}: tried {tried} times in vain");
    }
    eprintln!("acts {:?}", client.done);
    // It ends with descriptors, locks and mappings in hand.
    std::process::exit(0);
}

/// As many descriptors as a process may have.
fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` lives across both calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}

/// What the client does, and how often a thing of the kind succeeded.
const KINDS: [&str; 12] =
    ["open", "files", "abroad", "freeze", "pin", "bind", "lock", "send", "look", "nic", "wait", "memory"];

/// Bytes of `struct look`.
const LOOK: usize = 560;

struct Client {
    random: Random,
    room: String,
    port: String,
    /// Maps and programs, also of ports that are gone.
    maps: Vec<OwnedFd>,
    programs: Vec<OwnedFd>,
    /// Numbers of ports and their tickets, also of lost ports.
    tickets: Vec<(u32, u64)>,
    /// Regions: address and length.
    memory: Vec<(usize, usize)>,
    locks: Vec<fs::File>,
    waiters: Vec<OwnedFd>,
    done: [(&'static str, u64, u64); KINDS.len()],
}

impl Client {
    fn new(seed: u64, room: &str) -> Self {
        let port = format!("{room}bpf/ringway/{SWITCH}/port/{PORT}");
        Self {
            random: Random(seed + 1000),
            room: room.to_owned(),
            port,
            maps: Vec::new(),
            programs: Vec::new(),
            tickets: vec![(1, 0)],
            memory: Vec::new(),
            locks: Vec::new(),
            waiters: Vec::new(),
            done: KINDS.map(|kind| (kind, 0, 0)),
        }
    }

    fn acts(&mut self) {
        let kind = self.random.below(KINDS.len() as u64) as usize;
        let succeeded = match KINDS[kind] {
            "open" => self.opens(),
            "files" => self.fills_its_directory(),
            "abroad" => self.meddles_abroad(),
            "freeze" => {
                self.random.below(20) == 0
                    && self.a_map().is_some_and(|i| calls::freeze(&self.maps[i]).is_ok())
            }
            "pin" => self.pins(),
            "bind" => self.binds(),
            "lock" => self.locks(),
            "send" => self.sends(),
            "look" => self.looks(),
            "nic" => self.runs_on_nics(),
            "wait" => self.waits(),
            _ => self.writes_memory(),
        };
        self.done[kind].1 += 1;
        self.done[kind].2 += u64::from(succeeded);
    }

    fn a_map(&mut self) -> Option<usize> {
        (!self.maps.is_empty()).then(|| self.random.below(self.maps.len() as u64) as usize)
    }

    fn a_program(&mut self) -> Option<usize> {
        (!self.programs.is_empty()).then(|| self.random.below(self.programs.len() as u64) as usize)
    }

    /// Opens all of its port, and tries what it may not have.
    fn opens(&mut self) -> bool {
        let mut any = false;
        for name in ["region", "bell0"] {
            if let Ok(map) = calls::get(&format!("{}/{name}", self.port), 0) {
                self.map(&map);
                self.maps.push(map);
                any = true;
            }
        }
        for name in ["send", "look"] {
            self.programs.extend(calls::get(&format!("{}/{name}", self.port), 0));
        }
        let switch = format!("{}bpf/ringway/{SWITCH}", self.room);
        for name in ["ports", "fdb", "vlans", "regions", "states", "bells", "port/n1/region", "port/n1/send"]
        {
            for flags in [0, 1 << 3] {
                assert!(calls::get(&format!("{switch}/{name}"), flags).is_err(), "{name} is open to all");
            }
        }
        let id = self.random.below(5000) as u32;
        assert!(
            calls::by_id(false, id).is_err() && calls::by_id(true, id).is_err(),
            "objects are open by number"
        );
        // Old ones stay in hand, but not all of them.
        for all in [&mut self.maps, &mut self.programs] {
            if all.len() > 40 {
                all.drain(..20);
            }
        }
        any
    }

    /// Maps a region, or what it can of a doorbell.
    fn map(&mut self, map: &OwnedFd) {
        let len = 1 << 20;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), len, prot, libc::MAP_SHARED, map.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED {
            return;
        }
        self.memory.push((at as usize, len));
        if self.memory.len() > 20 {
            let (at, len) = self.memory.remove(0);
            // SAFETY: a mapping made here, of which no reference is left.
            unsafe { libc::munmap(at as *mut libc::c_void, len) };
        }
    }

    /// Links, directories, names and modes in the one directory that is its own.
    fn fills_its_directory(&mut self) -> bool {
        let own = format!("{}/use", self.port);
        let _ = fs::set_permissions(
            &own,
            fs::Permissions::from_mode(self.random.one(&[0o700, 0o777, 0o500, 0o000])),
        );
        let _ = fs::set_permissions(&own, fs::Permissions::from_mode(0o700));
        let name = self.random.one(&["region", "send", "look", "~send", "use", "x", "~0-x", "d"]);
        let at = format!("{own}/{name}");
        let to = self.random.one(&["secret", "secret-dir", "public-dir/inner", "link", "tool"]);
        match self.random.below(6) {
            0 => symlink(format!("{}canaries/{to}", self.room), &at).is_ok(),
            1 => self.nests(&own),
            2 => fs::rename(&at, format!("{own}/y")).is_ok(),
            3 => fs::remove_file(&at).or_else(|_| fs::remove_dir(&at)).is_ok(),
            4 => fs::hard_link(format!("{}/region", self.port), &at).is_ok(),
            _ => fs::create_dir(&at).is_ok(),
        }
    }

    /// Directories, one in the other.
    fn nests(&mut self, own: &str) -> bool {
        let depth = self.random.below(60);
        (0..depth).fold(own.to_owned(), |dir, _| {
            let sub = format!("{dir}/d");
            let _ = fs::create_dir(&sub);
            sub
        });
        depth > 0
    }

    /// The same everywhere else, where nothing may succeed.
    fn meddles_abroad(&mut self) -> bool {
        let dirs = [
            "",
            "bpf/ringway",
            "bpf/ringway/vale0",
            "bpf/ringway/vale0/port",
            "bpf/ringway/vale0/port/n1",
            "run",
            "canaries",
        ];
        let at = format!("{}{}", self.room, self.random.one(&dirs));
        let port = self.port.clone();
        let dir = if self.random.below(3) == 0 { port.as_str() } else { at.as_str() };
        let name = self.random.one(&[
            "region", "send", "look", "~send", "~evil", "use", "x", "vale1", "~vale0", "lock", "state",
        ]);
        let path = format!("{dir}/{name}");
        let target = format!("{}canaries/secret", self.room);
        let done = [
            symlink(&target, &path).is_ok(),
            fs::create_dir(&path).is_ok(),
            fs::rename(&path, format!("{dir}/away")).is_ok(),
            fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).is_ok(),
            fs::remove_dir(&path).is_ok(),
            fs::write(format!("{}/x", self.room), "x").is_ok(),
        ];
        assert_eq!(done, [false; 6], "{path}");
        // What is its own it may close, and open again.
        let own = format!("{}/{}", self.port, self.random.one(&["region", "send", "look", "bell0"]));
        let _ = fs::set_permissions(&own, fs::Permissions::from_mode(0o000));
        fs::set_permissions(&own, fs::Permissions::from_mode(self.random.one(&[0o666, 0o600]))).is_ok()
    }

    fn pins(&mut self) -> bool {
        let name = self.random.one(&[
            "state",
            "use/state",
            "use/send",
            "use/x",
            "../n1/state",
            "../../fdb",
            "nics/9",
        ]);
        let path = format!("{}/{name}", self.port);
        let i = if self.random.below(2) == 0 { self.a_map().map(|i| &self.maps[i]) } else { None };
        let object = i.or_else(|| self.programs.last());
        let pinned = object.is_some_and(|o| calls::pin(o, &path).is_ok());
        assert!(!pinned || name.starts_with("use/"), "{path} is pinned");
        pinned
    }

    fn binds(&mut self) -> bool {
        let (Some(p), Some(m)) = (self.a_program(), self.a_map()) else { return false };
        calls::bind(&self.programs[p], &self.maps[m]).is_ok()
    }

    /// Locks its port, and all that it may open; holds some for a while.
    fn locks(&mut self) -> bool {
        if self.locks.len() > 200 || self.random.below(10) == 0 {
            self.locks.clear();
        }
        let dirs = [
            "bpf/ringway",
            "bpf/ringway/vale0",
            "bpf/ringway/vale0/port/evil/use",
            "bpf/ringway/vale0/port/n1",
            "run",
            "nobody",
        ];
        let Ok(dir) = fs::File::open(format!("{}{}", self.room, self.random.one(&dirs))) else {
            return false;
        };
        // SAFETY: an open descriptor.
        let locked = unsafe { libc::flock(dir.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
        self.locks.push(dir);
        locked
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.random.next() as u8).collect()
    }

    /// Runs any of its programs as a sender does, with any request.
    fn sends(&mut self) -> bool {
        self.scribbles(32);
        let Some(p) = self.a_program() else { return false };
        let len = self.random.one(&[16, 16, 16, 16, 560, 4, 0, 4096]);
        let mut context = self.bytes(len);
        if self.random.below(4) > 0 && len >= 16 {
            // The first ring of its own port, or of another one, with a ticket that it had.
            let tickets = &self.tickets;
            let (port, ticket) = tickets[self.random.below(tickets.len() as u64) as usize];
            let port = if self.random.below(4) > 0 { port } else { self.random.below(8) as u32 };
            context[..4].fill(0);
            context[4..8].copy_from_slice(&port.to_ne_bytes());
            context[8..16].copy_from_slice(&ticket.to_ne_bytes());
        }
        calls::run(&self.programs[p], &mut Run { context, ..Run::default() }).is_ok()
    }

    fn looks(&mut self) -> bool {
        let Some(p) = self.a_program() else { return false };
        let (context, repeat) = (vec![0; LOOK], self.random.below(3) as u32);
        let mut run = Run { context, repeat, ..Run::default() };
        let answered = calls::run(&self.programs[p], &mut run);
        // `struct look` of bpf/switch/look.bpf.c has the number of the port there, and the ticket.
        let port = u32::from_ne_bytes(run.context[8..12].try_into().unwrap());
        let ticket = u64::from_ne_bytes(run.context[40..48].try_into().unwrap());
        if port != 0 && !self.tickets.contains(&(port, ticket)) {
            self.tickets.push((port, ticket));
        }
        answered.is_ok()
    }

    /// Programs of NICs, on frames and with metadata of its own.
    fn runs_on_nics(&mut self) -> bool {
        const LIVE: u32 = 1 << 1;
        let dir = fs::read_dir(format!("{}/nics", self.port)).into_iter().flatten().flatten();
        for program in dir {
            self.programs.extend(calls::get(program.path().to_str().unwrap(), 0));
        }
        let Some(p) = self.a_program() else { return false };
        let meta = self.random.one(&[0, 8, 72, 80]);
        let mut context = [meta, 0, 0, self.random.below(8) as u32, self.random.below(4) as u32, 0];
        context[1] = meta + 60;
        let context = context.iter().flat_map(|w: &u32| w.to_ne_bytes()).collect();
        let data = self.bytes(meta as usize + 60);
        let (flags, repeat) = (self.random.one(&[0, LIVE]), self.random.below(200) as u32);
        calls::run(&self.programs[p], &mut Run { context, data, repeat, flags, batch: 64 }).is_ok()
    }

    /// Thousands of waiters on its doorbells; they go all at once.
    fn waits(&mut self) -> bool {
        if self.waiters.len() > 2000 || self.random.below(8) == 0 {
            self.waiters.clear();
        }
        let Some(m) = self.a_map() else { return false };
        for _ in 0..200 {
            // SAFETY: no pointers.
            let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
            if fd < 0 {
                return false;
            }
            // SAFETY: the call just made this descriptor.
            let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: open descriptors and an event that lives across the call.
            let added =
                unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, self.maps[m].as_raw_fd(), &raw mut event) };
            if added < 0 {
                return false; // no doorbell
            }
            self.waiters.push(epoll);
        }
        true
    }

    /// Wild words all over a region, most of them in control blocks, headers and slots.
    fn writes_memory(&mut self) -> bool {
        if self.random.below(50) == 0 {
            let value = vec![0x5a; self.memory.last().map_or(0, |m| m.1).max(8 << 20)];
            let _ = self.a_map().map(|m| calls::update(&self.maps[m], 0, &value));
        }
        self.scribbles(2000)
    }

    fn scribbles(&mut self, words: u32) -> bool {
        let Some(&(at, len)) = self.memory.last() else { return false };
        for _ in 0..words {
            let within = self.random.one(&[256, 4096, 16384, len as u64]);
            let word = self.random.below(within / 4) as usize;
            let small = self.random.below(1100) as u32;
            let value = self.random.one(&[small, small, 60, 1, 0x0020_003c, u32::MAX]);
            // SAFETY: in the mapping and aligned; others may write there too, in whole words.
            unsafe { (at as *mut u32).add(word).write_volatile(value) };
        }
        true
    }
}
