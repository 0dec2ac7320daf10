//! Clients of Debian against Ringway's servers.

use std::fs;
use std::path::Path;

use crate::bed::{Bed, LINUX6, PORTS, all_complete, ended_when_idle, folder, had_faults, story};
use crate::program::{has, output};

/// Runs of each client.
const RUNS: u64 = 5;
/// Bytes of the file that the stories have, and the file.
const SIZE: usize = 70_001;

fn file() -> Vec<u8> {
    b"0123456789".iter().copied().cycle().take(SIZE).collect()
}

/// A client program, with its words. `OUT` is the file that it writes, `IN` one that it sends, and `COOKIES` none.
struct Client {
    /// The flow of the story that answers it.
    flow: &'static str,
    words: &'static [&'static str],
    /// Whether the file has arrived, or the output says so.
    done: fn(&Path, &str) -> bool,
}

fn got_file(out: &Path, _: &str) -> bool {
    fs::read(out).is_ok_and(|found| found == file())
}

const CLIENTS: [Client; 9] = [
    Client {
        flow: "page",
        words: &["curl", "-sS", "--retry", "0", "-o", "OUT", "http://10.9.0.16/file.bin"],
        done: got_file,
    },
    Client {
        flow: "page",
        words: &["wget", "-nv", "--tries=1", "--no-proxy", "-O", "OUT", "http://10.9.0.16/file.bin"],
        done: got_file,
    },
    Client {
        flow: "page6",
        words: &["curl", "-sS", "-g", "-o", "OUT", "http://[2001:2:0:9::16]/file.bin"],
        done: got_file,
    },
    Client {
        flow: "post",
        words: &["curl", "-sS", "-H", "Expect:", "--data-binary", "@IN", "-o", "OUT", "http://10.9.0.17/up"],
        done: |out, _| fs::read(out).is_ok_and(|found| found.len() == 9000),
    },
    Client {
        flow: "name",
        words: &["dig", "@10.9.0.18", "host.example", "A", "+short", "+tries=9", "+time=10"],
        // A try that was lost is a comment.
        done: |_, said| said.lines().filter(|line| !line.starts_with(";;")).eq(["10.9.0.77"]),
    },
    Client {
        flow: "ftp_curl",
        words: &["curl", "-sS", "-o", "OUT", "ftp://10.9.0.19/file.bin"],
        done: got_file,
    },
    Client {
        flow: "ftp_lftp",
        words: &["lftp", "-c", "LFTP open 10.9.0.20; get file.bin -o OUT"],
        done: got_file,
    },
    Client {
        flow: "ftp_active",
        words: &["lftp", "-c", "LFTP set ftp:passive-mode no; open 10.9.0.21; get file.bin -o OUT"],
        done: got_file,
    },
    Client {
        flow: "ftp_upload",
        words: &["curl", "-sS", "-T", "IN", "ftp://10.9.0.22/file.bin"],
        done: |_, _| true,
    },
];

/// lftp asks for nothing that the stories don't have, and never again after a failure.
const LFTP: &str = "set ftp:ssl-allow no; set ftp:use-feat no; set net:max-retries 1; set xfer:clobber on; \
    set net:timeout 60; set cmd:fail-exit yes;";

impl Client {
    /// Runs it, and checks what it got.
    fn run(&self, bed: &Bed, folder: &Path) {
        let (out, sent) = (folder.join("out"), folder.join("file.bin"));
        let _ = fs::remove_file(&out);
        let [out_text, sent_text] = [&out, &sent].map(|path| path.display().to_string());
        let word =
            |word: &&str| word.replace("LFTP", LFTP).replace("OUT", &out_text).replace("IN", &sent_text);
        let words: Vec<String> = self.words.iter().map(word).collect();
        let mut command = bed.on_linux(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let said = output(command.env("HOME", folder)).unwrap_or_else(|why| panic!("{}: {why}", self.flow));
        assert!((self.done)(&out, &said), "{words:?}: {said}");
    }
}

/// Runs all clients against servers on a port. Some run at the same time.
fn serve(port: &str) {
    let Some(bed) = Bed::new() else { return };
    assert_eq!(LINUX6, "2001:2:0:9::1", "the address of the stories");
    let story = story("servers", include_str!("stories.flow"));
    let servers = bed.servers(&story, port);
    let clients: Vec<&Client> = CLIENTS.iter().filter(|client| has(client.words[0])).collect();
    std::thread::scope(|scope| {
        for client in &clients {
            let (bed, folder) = (&bed, folder("client"));
            fs::write(folder.join("file.bin"), file()).unwrap();
            scope.spawn(move || (0..RUNS).for_each(|_| client.run(bed, &folder)));
        }
    });
    let report = ended_when_idle(servers);
    bed.kernel_was_silent();
    had_faults(&report, port);
    for client in &clients {
        let runs = clients.iter().filter(|other| other.flow == client.flow).count() as u64 * RUNS;
        // A question that is asked again, or comes twice, is a flow of its own.
        let most = if client.flow == "name" && port.starts_with("fault:") { u64::MAX } else { runs };
        all_complete(&report, "server", client.flow, runs..=most);
    }
}

#[test]
fn clients_of_debian_get_all_from_servers() {
    serve(PORTS[0]);
}

#[test]
fn clients_of_debian_get_all_from_servers_on_ebpf() {
    serve(PORTS[1]);
}

#[test]
fn clients_of_debian_get_all_from_servers_on_xdp() {
    serve(PORTS[2]);
}

#[test]
fn clients_of_debian_get_all_in_spite_of_losses() {
    serve(PORTS[3]);
}
