//! Users without rights: the answers of libpcap for interfaces, clear ones for ports, and ports that are theirs.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};

use ringway::Port;
use ringway::switch::{PortAccess, Switch, SwitchSpec};
use ringway_lab::Lab;
use support::{Pcap, has};

const NOBODY: u32 = 65534;
const DENIED: &str = "You don't have permission to perform this capture on that device";

/// Where a user without rights can read them: copies of files, removed at the end.
struct Shown(PathBuf);

impl Shown {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("ringway-pcap-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn copy(&self, file: &Path) -> String {
        let to = self.0.join(file.file_name().unwrap());
        std::fs::copy(file, &to).unwrap();
        to.to_str().unwrap().to_owned()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a program as nobody and returns its exit code, standard output and standard error.
fn as_nobody(lab: Option<&Lab>, env: &[&str], args: &[&str]) -> (Option<i32>, String, String) {
    let id = NOBODY.to_string();
    let user = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "env"];
    let ended = support::run(lab, Pcap::System, &[&user[..], env, args].concat());
    (ended.code, ended.stdout, ended.stderr)
}

/// One test, as it copies the library once.
#[test]
fn nobody_is_answered_as_by_libpcap() {
    let Some(lab) = support::lab() else { return };
    if !has("tcpdump") || !has("setpriv") {
        return;
    }
    let shown = Shown::new();
    let (opens, library) = (shown.copy(&support::compile("opens")), shown.copy(support::library()));
    let preload = format!("LD_PRELOAD={library}");
    let lab = Some(&lab);
    interfaces(lab, &opens, &preload);
    copies(lab, &preload);
    ports(lab, &opens, &preload);
    own_port(&opens, &preload);
    packet_sockets(lab, &preload);
}

/// Of devices that are no ports each word is libpcap's.
fn interfaces(lab: Option<&Lab>, opens: &str, preload: &str) {
    let args = [opens, "a1", "lo", "any", "no-such-if"];
    let system = as_nobody(lab, &[], &args);
    assert_eq!((system.0, system.1.matches(DENIED).count()), (Some(0), 8), "{system:?}");
    assert_eq!(as_nobody(lab, &[preload], &args), system);
}

/// An interface that can't be copied is the system library's.
fn copies(lab: Option<&Lab>, preload: &str) {
    let args = ["tcpdump", "-i", "a1"];
    let (_, _, system) = as_nobody(lab, &[], &args);
    let (code, _, ours) = as_nobody(lab, &[preload, "RINGWAY_COPY=1"], &args);
    let (told, rest) = ours.split_once('\n').unwrap();
    assert!(told.starts_with("ringway: a1 is served by the system's libpcap: ebpf:a1^: "), "{told}");
    assert_eq!((code, rest), (Some(1), system.as_str()));
}

/// The status and the words of libpcap, and behind them why.
fn ports(lab: Option<&Lab>, opens: &str, preload: &str) {
    let secret =
        std::env::temp_dir().join(format!("ringway-pcap-{}", std::process::id())).join("secret.pcap");
    std::fs::write(&secret, "").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let secret = format!("pcap:{}", secret.display());
    for device in ["ebpf:a1", "packet:a1", "xdp:a1", &secret] {
        let (code, told, _) = as_nobody(lab, &[preload], &[opens, device]);
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(code, Some(0), "{device}: {told}");
        assert!(lines[0].starts_with(&format!("-8 {DENIED}: {device}: ")), "{told}");
        assert!(lines[1].starts_with(&format!("{device}: {DENIED} ({device}: ")), "{told}");
        let (code, _, told) = as_nobody(lab, &[preload], &["tcpdump", "-i", device]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(&format!("tcpdump: {device}: {DENIED}\n({device}: ")), "{told}");
    }
    for device in ["ebpf:no-such-if", "vale_none:p1", "pcap:/no/such/file"] {
        let (_, told, _) = as_nobody(lab, &[preload], &[opens, device]);
        assert!(told.starts_with("-5 No such device exists: "), "{device}: {told}");
    }
}

/// Nobody opens the port that is nobody's, and no other port of the switch; here, where the switches are.
fn own_port(opens: &str, preload: &str) {
    let name = format!("vale_r{}", std::process::id() % 10_000);
    let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
    let (mine, own) = (format!("{name}:mine"), PortAccess { uid: Some(NOBODY), ..PortAccess::default() });
    let made = switch.add_port("mine", &own).and(switch.add_port("root", &PortAccess::default()));
    let told = [mine, format!("{name}:root"), format!("{name}:new")]
        .map(|port| as_nobody(None, &[preload], &[opens, &port]).1);
    switch.delete().unwrap();
    made.unwrap();
    let [own, other, new] = told;
    assert!(own.starts_with("0 ") && own.contains("\nopened\n"), "{own}");
    assert!(other.starts_with(&format!("-8 {DENIED}: ")), "{other}");
    assert!(new.starts_with("-8 ") || new.starts_with("-5 "), "{new}");
}

/// What a packet socket can do on a mapped interface. Arguments: interfaces that it binds to.
const PACKETS: &str = r"
import fcntl, socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
for name in sys.argv[1:]:
    try:
        s.bind((name, 0x88b5))
    except OSError as e:
        print(name, e.strerror)
        sys.exit(1)
print(s.getsockname()[:4], len(s.getsockname()[4]))
index = struct.unpack('i', fcntl.ioctl(s, 0x8933, struct.pack('16s24x', b'a1'))[16:20])[0]
print(index == socket.if_nametoindex('a1'))
s.setsockopt(263, 1, struct.pack('iHH8x', index, 1, 0))
s.setsockopt(263, 10, 2)
s.setsockopt(263, 18, 7)
s.send(b'\xff' * 12 + b'\x88\xb5' + b'asks' * 12)
frame, sender = s.recvfrom(2000)
print(frame[14:21], sender[:2])
";

/// Nobody has packet sockets of an interface that stands for his port, and of no other one.
fn packet_sockets(lab: Option<&Lab>, preload: &str) {
    if !has("/usr/bin/python3") {
        return;
    }
    let switch = Temporary::new();
    let mine = PortAccess { uid: Some(NOBODY), ..PortAccess::default() };
    switch.0.add_port("mine", &mine).and(switch.0.add_port("root", &PortAccess::default())).unwrap();
    let name = switch.0.name();
    let maps = |port: &str| format!("RINGWAY_MAP=a1={name}:{port}");
    let run = |port: &str, to: &[&str]| {
        as_nobody(lab, &[preload, &maps(port)], &[&["/usr/bin/python3", "-c", PACKETS], to].concat())
    };
    let (code, told, said) = answered(&format!("{name}:far"), || run("mine", &["a1"]));
    assert_eq!((code, said.as_str()), (Some(0), ""), "{told}");
    assert_eq!(told, "('a1', 34997, 0, 1) 6\nTrue\nb'answers' ('a1', 34997)\n");

    let refused = |port: &str, to: &[&str], why: &str| {
        let (code, told, said) = run(port, to);
        assert!(code == Some(1) && told.ends_with(" Operation not permitted\n"), "{told} {said}");
        assert!(said.contains(why), "{said}");
    };
    refused("mine", &["lo"], "packet sockets of lo need CAP_NET_RAW");
    refused("mine", &["a1", "lo"], "packet sockets of lo need CAP_NET_RAW");
    refused("root", &["a1"], "you may not open this port");
    let (code, _, said) = as_nobody(lab, &[preload], &["/usr/bin/python3", "-c", PACKETS, "a1"]);
    assert!(code == Some(1) && said.contains("PermissionError"), "as without the library: {said}");
}

/// A switch that goes with the test.
struct Temporary(Switch);

impl Temporary {
    fn new() -> Self {
        let name = format!("vale_p{}", std::process::id() % 10_000);
        Self(Switch::create(&name, &SwitchSpec::default()).unwrap())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = Switch::open(self.0.name()).and_then(Switch::delete);
    }
}

/// Runs `f` while each sender to `port` gets an answer.
fn answered<R: Send>(port: &str, f: impl FnOnce() -> R + Send) -> R {
    let mut port = Port::open(port).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(f);
        while !running.is_finished() {
            port.rx[0].sync().unwrap();
            for _ in port.rx[0].burst(u32::MAX) {
                port.tx[0].push(&[&[0xff; 12][..], b"\x88\xb5answers", &[0; 40]].concat());
            }
            port.tx[0].sync().unwrap();
            std::thread::yield_now();
        }
        running.join().unwrap()
    })
}
