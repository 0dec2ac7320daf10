//! Ringway's clients against servers of Debian.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::bed::{Bed, LINUX, PORTS, all_complete, folder, had_faults, story};
use crate::program::{Server, has};
use crate::support::run;

/// Flows of each run.
const FLOWS: u64 = 40;
/// Bytes of the file that servers have.
const SIZE: usize = 70_001;

/// The shipped stories for real servers, with more patience: a busy machine answers late. `run` says what starts.
fn peers(name: &str, flow: &str) -> String {
    let text = run(&["flows", "stories", "peers"]).stdout;
    let text =
        text.replace("timeout 5 s", "timeout 60 s").replace("timeout 2 s retry 2", "timeout 3 s retry 9");
    let plan = format!(
        "run {{\n  {flow} rate {FLOWS} flows/s for 1 s\n  drain 200 s\n}}\nexpect {{ complete >= 100 % }}\n"
    );
    story(name, &format!("{text}\n{plan}"))
}

/// A file that a server hands out.
fn write_file(folder: &Path) {
    fs::write(folder.join("file.bin"), vec![b'x'; SIZE]).unwrap();
    // Servers read it as users without rights.
    for mut path in [folder.to_owned(), folder.join("file.bin")] {
        while fs::metadata(&path).unwrap().permissions().mode() & 0o005 != 0o005 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path.pop();
        }
    }
}

/// Waits until a log has so many lines with a word: servers may write them late.
fn wait_logged(log: &Path, word: &str, count: u64) {
    let start = std::time::Instant::now();
    loop {
        let text = fs::read_to_string(log).unwrap_or_default();
        let found = text.lines().filter(|line| line.contains(word)).count() as u64;
        if found == count {
            return;
        }
        let late = start.elapsed() > crate::support::LIMIT;
        assert!(found < count && !late, "{found} lines with {word} instead of {count}:\n{text}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn clients_get_pages_from_nginx() {
    if !has("nginx") {
        return;
    }
    let Some(bed) = Bed::new() else { return };
    let folder = folder("nginx");
    write_file(&folder);
    let at = folder.display();
    let settings = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
        events {{ worker_connections 500; }}
        http {{
            access_log {at}/access.log; client_body_temp_path {at}/t1; proxy_temp_path {at}/t2;
            fastcgi_temp_path {at}/t3; uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;
            server {{ listen {LINUX}:80; root {at}; }}
        }}"
    );
    fs::write(folder.join("nginx.conf"), settings).unwrap();
    let words = ["nginx", "-p", &at.to_string(), "-c", "nginx.conf"];
    let _nginx = Server::start(&bed, &words, "tcp", 80, &folder.join("output"));
    let story = peers("nginx-story", &format!("real_http(path = \"/file.bin\", size = {SIZE} B)"));
    for (runs, port) in (1..).zip(PORTS) {
        let report = bed.clients(&story, port, &[]);
        all_complete(&report, "client", "real_http", FLOWS..=FLOWS);
        had_faults(&report, port);
        wait_logged(&folder.join("access.log"), &format!("\" 200 {SIZE} "), FLOWS * runs);
    }
}

#[test]
fn clients_get_files_from_vsftpd() {
    if !has("vsftpd") {
        return;
    }
    let Some(bed) = Bed::new() else { return };
    let folder = folder("vsftpd");
    let root = folder.join("root");
    fs::create_dir(&root).unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    write_file(&root);
    let at = folder.display();
    let settings = format!(
        "listen=YES\nbackground=NO\nlisten_address={LINUX}\nanonymous_enable=YES\nanon_root={at}/root\nno_anon_password=NO
xferlog_enable=YES\nxferlog_file={at}/xferlog\nxferlog_std_format=YES\nsecure_chroot_dir={at}/empty
isolate=NO\nisolate_network=NO\nseccomp_sandbox=NO\nmax_per_ip=0\nmax_clients=0\nftp_username=ftp\n"
    );
    let conf = folder.join("vsftpd.conf");
    fs::write(&conf, settings).unwrap();
    let words = ["vsftpd", conf.to_str().unwrap()];
    let _vsftpd = Server::start(&bed, &words, "tcp", 21, &folder.join("output"));
    let story = peers("vsftpd-story", &format!("real_ftp(size = {SIZE} B)"));
    for (runs, port) in (1..).zip(PORTS) {
        let report = bed.clients(&story, port, &[]);
        all_complete(&report, "client", "real_ftp", FLOWS..=FLOWS);
        had_faults(&report, port);
        // `c` at the end of a line: the transfer is complete.
        wait_logged(&folder.join("xferlog"), &format!(" {SIZE} "), FLOWS * runs);
        wait_logged(&folder.join("xferlog"), " 0 * c", FLOWS * runs);
    }
}

#[test]
fn clients_ask_dnsmasq() {
    if !has("dnsmasq") {
        return;
    }
    let Some(bed) = Bed::new() else { return };
    let folder = folder("dnsmasq");
    let (listen, log) = (format!("--listen-address={LINUX}"), folder.join("log"));
    let words = [
        "dnsmasq",
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        &listen,
        "--address=/host.example/10.9.0.1",
        "--user=root",
        "--log-queries",
        "--log-facility=-",
        "--pid-file=",
    ];
    let _dnsmasq = Server::start(&bed, &words, "udp", 53, &log);
    let story = peers("dnsmasq-story", "real_dns");
    let mut asked = 0;
    for port in PORTS {
        let report = bed.clients(&story, port, &[]);
        all_complete(&report, "client", "real_dns", FLOWS..=FLOWS);
        asked += FLOWS;
        if !port.starts_with("fault:") {
            // A question that is lost, or comes twice, is logged as often as it comes.
            wait_logged(&log, "config host.example is 10.9.0.1", asked);
        }
    }
}
