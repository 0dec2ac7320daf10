//! `ringway exporter`: a page and metrics with the counters of all open ports, switches and routers, by HTTP.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ringway::open_ports;
use ringway::switch::SwitchPortStats;
use ringway_watch::exporter::{Asked, Server};
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

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
/ is a page with live rates, drops by name, the state of switches and routers, and charts of the last hour. /metrics is what
ringway stats --openmetrics prints: the ports that you may see; for root its ports, switches and routers. There is no authentication and no encryption: everybody who reaches the address reads names of ports and
interfaces, and counters.
Ctrl-C or SIGTERM ends it.

Examples:
  ringway exporter                          # for Prometheus on this machine
  ringway exporter --listen '[::1]:9788'
  curl http://127.0.0.1:9788/metrics
  xdg-open http://127.0.0.1:9788/           # the page
In prometheus.yml:
  scrape_configs: [{job_name: ringway, static_configs: [{targets: ['127.0.0.1:9788']}]}]";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let signals = stop::signals()?;
    let listener = TcpListener::bind(args.listen).map_err(|e| refused(args.listen, &e))?;
    let address = listener.local_addr().map_err(|e| refused(args.listen, &e))?;
    if !address.ip().to_canonical().is_loopback() {
        note(&format!(
            "ringway: {address} is not loopback: everybody who reaches it reads the counters, there is no authentication"
        ));
    }
    let url = format!("http://{address}/metrics");
    let object = json!({ "command": "exporter", "url": url });
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
    Server::new(listener, document).and_then(|mut server| server.serve(stopped)).map_err(failed)
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
