//! `ringway cni`: a plugin of container runtimes (CNI specification 1.1.0). It gives containers ports of a switch.
//!
//! Each question is one run of the program. `request` reads the environment and `conf` the input; `add`, `check` and `del` answer.
//! They stand on `link` (the pair of interfaces), `member` (the port) and `ipam` (the plugin for addresses). Nothing is remembered.

mod add;
mod check;
mod conf;
mod del;
mod error;
mod given;
mod ip;
mod ipam;
mod keys;
mod link;
mod member;
mod names;
mod request;

use std::io::{self, Read};

use ringway_lab::is_root;
use serde_json::{Value, json};

use crate::console::Console;
use crate::errors;
use crate::failure::Failure;
use conf::{Conf, NEWEST, VERSIONS};
use error::{Code, Error, Result};
use ipam::Ipam;
use request::{Action, Attachment};

/// The longest configuration that is read.
const LONGEST: u64 = 4 << 20;

/// Give containers ports of a switch, as a CNI plugin of container runtimes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A runtime runs a file `ringway` of its folder of plugins; `make install` puts it into share/ringway/cni. The question comes in CNI_ \
variables, the network configuration on standard input. The answer is JSON on standard output.

Keys of the configuration: name, switch (made if it is missing; then it goes with its last port), mtu, vlan, isolated, ipam. \
docs/containers.md has an example.

Examples:
  ringway cni --help
  ln -s /usr/local/share/ringway/cni/ringway /opt/cni/bin/
  echo '{\"cniVersion\":\"1.1.0\"}' | CNI_COMMAND=VERSION ringway cni   # the versions that it knows")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> std::result::Result<(), Failure> {
    let console = Console { json: true };
    let mut input = Vec::new();
    let read = io::stdin().take(LONGEST).read_to_end(&mut input);
    let read = read.map_err(|e| Error::new(Code::Io, format!("reading standard input failed: {e}")));
    let object = read.and_then(|_| conf::object(&input));
    let version = object.as_ref().ok().and_then(|object| object["cniVersion"].as_str());
    let version = version.unwrap_or(NEWEST).to_owned();
    match Action::read().and_then(|action| answer(action, object, &input)) {
        Ok(Value::Null) => Ok(()),
        Ok(result) => Ok(console.result("", &result)?),
        Err(e) => {
            console.result("", &e.object(&version))?;
            Err(Failure::Other(errors::switches::CONTAINER, e.message))
        }
    }
}

/// What standard output gets; nothing for most commands.
fn answer(action: Action, object: Result<Value>, input: &[u8]) -> Result<Value> {
    if action == Action::Version && input.trim_ascii().is_empty() {
        return Ok(versions(NEWEST));
    }
    let object = object?;
    let of = match action {
        Action::Version => return Ok(versions(object["cniVersion"].as_str().unwrap_or(NEWEST))),
        Action::Add | Action::Check | Action::Del => Some(Attachment::read(action)?),
        Action::Gc | Action::Status => None,
    };
    let conf = Conf::read(&object)?;
    let ipam = conf.ipam.as_deref().map(|name| Ipam::find(name, input)).transpose();
    match (&of, action) {
        (Some(of), Action::Add) => return add::add(of, &conf, ipam?.as_ref()),
        (Some(of), Action::Del) => del::del(of, &conf, ipam)?,
        (Some(of), _) => check::check(of, &conf, ipam?.as_ref())?,
        (None, Action::Gc) => del::gc(&conf, ipam?.as_ref())?,
        (None, _) => status(ipam?.as_ref())?,
    }
    Ok(Value::Null)
}

fn versions(asked: &str) -> Value {
    json!({ "cniVersion": asked, "supportedVersions": VERSIONS })
}

/// Whether `ADD` would find what it needs.
fn status(ipam: Option<&Ipam>) -> Result<()> {
    if !is_root() {
        return Err(Error::new(Code::NotAvailable, "switches need root; run the plugin as root"));
    }
    ip::ip(&["-V"]).map_err(|e| Error::new(Code::NotAvailable, e.message))?;
    ipam.map_or(Ok(()), |ipam| ipam.run("STATUS").map(drop))
}
