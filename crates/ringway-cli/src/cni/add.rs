//! `ADD`: a container gets an interface.

use serde_json::{Value, json};

use super::conf::Conf;
use super::error::{Code, Error, Result};
use super::given::Given;
use super::ip::inside;
use super::ipam::Ipam;
use super::link::{self, Pair};
use super::member;
use super::names::host_end;
use super::request::Attachment;

/// Does all of it, or nothing.
pub(super) fn add(of: &Attachment, conf: &Conf, ipam: Option<&Ipam>) -> Result<Value> {
    let host = host_end(&conf.name, &of.container, &of.ifname);
    let pair = Pair {
        host: &host,
        netns: of.netns.as_deref().unwrap_or_default(),
        ifname: &of.ifname,
        mtu: conf.mtu,
        mac: conf.mac.as_deref().or(of.mac.as_deref()),
    };
    pair.make()?;
    connect(&pair, conf, ipam).map_err(|failed| {
        let undone = member::leave(&conf.switch, &host).and(link::remove(&host));
        with_undo(failed, undone)
    })
}

/// The failure, with that of undoing.
fn with_undo(mut failed: Error, undone: Result<()>) -> Error {
    if let Err(stays) = undone {
        failed.details = format!("{}; then undoing failed: {}", failed.details, stays.message);
    }
    failed
}

fn connect(pair: &Pair, conf: &Conf, ipam: Option<&Ipam>) -> Result<Value> {
    pair.raise()?;
    member::join(&conf.switch, pair.host, &conf.port)?;
    let Some(ipam) = ipam else { return result(pair, conf, &Value::Null) };
    let printed = ipam.run("ADD")?;
    // It holds addresses for the container now, also where nobody can read which.
    let configured = ipam.result(&printed).and_then(|answer| {
        configure(pair, &answer)?;
        result(pair, conf, &answer)
    });
    configured.map_err(|failed| with_undo(failed, ipam.run("DEL").map(drop)))
}

fn configure(pair: &Pair, answer: &Value) -> Result<()> {
    let given = Given::read(answer)?;
    if given.addresses.is_empty() {
        let what = "the plugin for addresses gave none; leave `ipam` out for layer 2 only";
        return Err(Error::new(Code::Config, what));
    }
    pair.configure(&given)
}

/// The result for the runtime.
fn result(pair: &Pair, conf: &Conf, answer: &Value) -> Result<Value> {
    let near = link::show(pair.host)?;
    let far = inside(pair.netns, || link::show(pair.ifname))?;
    let mut interfaces = [
        json!({ "name": pair.host, "mac": near["address"] }),
        json!({ "name": pair.ifname, "mac": far["address"], "sandbox": pair.netns }),
    ];
    if conf.version != "1.0.0" {
        interfaces[0]["mtu"] = near["mtu"].clone();
        interfaces[1]["mtu"] = far["mtu"].clone();
    }
    let mut ips = answer["ips"].as_array().cloned().unwrap_or_default();
    ips.iter_mut().for_each(|ip| ip["interface"] = json!(1));
    let no_list = || json!([]);
    let routes = Some(&answer["routes"]).filter(|routes| routes.is_array()).cloned().unwrap_or_else(no_list);
    let is_given = |dns: &&Value| dns.as_object().is_some_and(|keys| !keys.is_empty());
    let dns =
        Some(&answer["dns"]).filter(is_given).or(conf.dns.as_ref()).cloned().unwrap_or_else(|| json!({}));
    Ok(json!({
        "cniVersion": conf.version,
        "interfaces": interfaces,
        "ips": ips,
        "routes": routes,
        "dns": dns,
    }))
}
