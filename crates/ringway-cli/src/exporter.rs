//! `ringway exporter`: the counters of all open ports, switches and routers for Prometheus and its like, by HTTP.

use std::io;
use std::net::{SocketAddr, TcpListener};

use ringway::open_ports;
use ringway_watch::exporter::Server;
use ringway_watch::{metrics, routers, switches};
use serde_json::json;

use crate::console::note;
use crate::failure::Failure;
use crate::options::Json;
use crate::stop;

/// Serve the counters of open ports as OpenMetrics, by HTTP
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
GET /metrics answers with what ringway stats --openmetrics prints: the ports that you may see; for root its ports, switches
and routers. There is no authentication and no encryption: everybody who reaches the address reads names of ports and
interfaces, and counters.
Ctrl-C or SIGTERM ends it.

Examples:
  ringway exporter                          # for Prometheus on this machine
  ringway exporter --listen '[::1]:9788'
  curl http://127.0.0.1:9788/metrics
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
    let page = || metrics::page(&open_ports(), &switches::readable(), &routers::readable());
    let failed = |e| Failure::Other(format!("{address}: {e}; start the exporter again"));
    Server::new(listener, page).and_then(|mut server| server.serve(|| signals.stopped())).map_err(failed)
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
    Failure::Other(format!("can't listen on {address}: {e}: {cure}"))
}
