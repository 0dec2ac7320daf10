//! `ringway exporter`: a page and metrics with the counters of all open ports, switches and routers, by HTTP.

mod token_file;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ringway::open_ports;
use ringway::switch::SwitchPortStats;
use ringway_watch::exporter::{Asked, Door, Server};
use ringway_watch::history::{self, History};
use ringway_watch::{metrics, routers, switches};
use serde_json::{Value, json};

use crate::console::note;
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;
use crate::{counters, router, stats, stop};

/// Serve a page with live rates, and the counters as OpenMetrics, by HTTP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(short, long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9788", value_parser = address)]
    listen: SocketAddr,

    /// Answer only clients with the token in this file, which they send as Authorization: Bearer TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Answer everybody who reaches the address, also when it is not loopback
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,

    /// Also answer clients that reach the exporter by this name, besides localhost and addresses; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "token_file", value_parser = host)]
    host: Vec<String>,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
/ is a page with live rates, drops by name, the state of switches and routers, and charts of the last hour. /metrics is what
ringway stats --openmetrics prints: the ports that you may see; for root its ports, switches and routers. Clients read names of ports and
interfaces, and counters. Nothing is encrypted.
Ctrl-C or SIGTERM ends it.

An address that is not loopback needs --token-file or --no-token. The token is the only word of its file, with 16 to 1024 characters. The file
is root's or yours, other users can neither read nor change it, and no link leads to it. It is read once. Without a token, the header Host has
to be an address, localhost or a name of --host: a page of another site, whose name leads to this machine, gets nothing.

Examples:
  ringway exporter                          # for Prometheus on this machine
  ringway exporter --listen '[::1]:9788'
  ringway exporter --listen 0.0.0.0:9788 --token-file /etc/ringway/token
  ringway exporter --listen 0.0.0.0:9788 --no-token --host router1
  curl http://127.0.0.1:9788/metrics
  xdg-open http://127.0.0.1:9788/           # the page
In prometheus.yml:
  scrape_configs: [{job_name: ringway, static_configs: [{targets: ['127.0.0.1:9788']}]}]
and with a token, besides these two: authorization: {credentials_file: /etc/prometheus/ringway-token}";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let door = door(args)?;
    let signals = stop::signals()?;
    let listener = TcpListener::bind(args.listen).map_err(|e| refused(args.listen, &e))?;
    let address = listener.local_addr().map_err(|e| refused(args.listen, &e))?;
    if args.no_token && !is_loopback(address) {
        note(&format!(
            "ringway: {address} is not loopback: everybody who reaches it reads the counters, without a token"
        ));
    }
    let url = format!("http://{address}/metrics");
    let object = json!({ "command": "exporter", "url": url, "token": args.token_file.is_some() });
    args.json.console().result(&format!("listening on {url}"), &object)?;
    let history = RefCell::new(History::default());
    let due = Cell::new(Instant::now());
    let document = |asked| match asked {
        Asked::Metrics => metrics::page(&open_ports(), &switches::readable(), &routers::readable()),
        Asked::State => state().to_string(),
        Asked::History => history.borrow().json().to_string(),
    };
    let stopped = || {
        let now = Instant::now();
        if now >= due.get() {
            due.set(now + history::STEP);
            history.borrow_mut().take();
        }
        signals.stopped()
    };
    let failed =
        |e| Failure::Other(errors::command::LISTEN, format!("{address}: {e}; start the exporter again"));
    Server::new(listener, door, document).and_then(|mut server| server.serve(stopped)).map_err(failed)
}

/// Whom it answers. To answer everybody on a network is nothing that happens by the way.
fn door(args: &Args) -> Result<Door, Failure> {
    match &args.token_file {
        Some(path) => Ok(Door::Token(token_file::read(path)?)),
        None if args.no_token || is_loopback(args.listen) => Ok(Door::Names(args.host.clone())),
        None => {
            let what = format!(
                "{} is not loopback, and everybody who reaches it would read the counters",
                args.listen
            );
            let cure = "have clients send a token (--token-file FILE), or allow all of them (--no-token)";
            Err(Failure::Usage(errors::command::MISSING, format!("{what}; {cure}")))
        }
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// A name as the header `Host` has it, without a port.
fn host(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match !text.is_empty() && text.len() <= 253 && text.chars().all(good) {
        true => Ok(text.to_owned()),
        false => {
            Err("accepted: the name of a machine such as router1 or router1.example.net, without a port"
                .to_owned())
        }
    }
}

/// Ports as `ringway stats --json` has them, with switches and routers.
fn state() -> Value {
    let mut state = stats::objects(&open_ports());
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    state["time"] = json!(time);
    state["version"] = json!(env!("CARGO_PKG_VERSION"));
    state["switches"] = switches::readable().iter().map(switch).collect();
    state["routers"] = routers::readable().iter().map(router::describe::object).collect();
    state
}

fn switch(switch: &switches::Reading) -> Value {
    let port = |p: &SwitchPortStats| {
        let mut object = counters::port(&p.counters);
        object["name"] = json!(p.port.name);
        object["open"] = json!(p.port.open);
        object["addresses"] = json!(p.addresses);
        object["waiting"] = json!(p.waiting);
        object
    };
    let ports: Vec<Value> = switch.ports.iter().map(port).collect();
    json!({ "name": switch.name, "memory": switch.memory, "module": switch.spec.module.to_string(), "ports": ports })
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let bad =
        |_| "accepted: an address and a port such as 127.0.0.1:9788, 0.0.0.0:9788 or [::1]:9788".to_owned();
    text.parse().map_err(bad)
}

/// Why nobody can listen there, and what to do.
fn refused(address: SocketAddr, e: &io::Error) -> Failure {
    let cure = match e.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there; stop it, or name a free port with --listen"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; `ip address` lists those it has"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need root; name a higher one with --listen",
        _ => "name another address with --listen",
    };
    Failure::Other(errors::command::LISTEN, format!("can't listen on {address}: {e}: {cure}"))
}
