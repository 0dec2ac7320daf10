//! `DEL` and `GC`: interfaces go away, in whatever state they are.

use super::conf::Conf;
use super::error::Result;
use super::ipam::Ipam;
use super::link;
use super::member;
use super::names::{host_end, of_network};
use super::request::Attachment;

/// Removes an interface. Each part goes, also when another can't.
pub(super) fn del(of: &Attachment, conf: &Conf, ipam: Result<Option<Ipam>>) -> Result<()> {
    let released = ipam.and_then(|ipam| ipam.map_or(Ok(()), |ipam| ipam.run("DEL").map(drop)));
    let removed = remove(conf, &host_end(&conf.name, &of.container, &of.ifname));
    removed.and(released)
}

/// Removes the interfaces of the network that no container in the list has.
pub(super) fn gc(conf: &Conf, ipam: Option<&Ipam>) -> Result<()> {
    let released = ipam.map_or(Ok(()), |ipam| ipam.run("GC").map(drop));
    let prefix = of_network(&conf.name);
    let in_use: Vec<String> =
        conf.in_use.iter().map(|(container, ifname)| host_end(&conf.name, container, ifname)).collect();
    let mut stale = member::beginning(&conf.switch, &prefix)?;
    stale.extend(link::beginning(&prefix));
    stale.retain(|name| !in_use.contains(name));
    let removed = stale.iter().map(|host| remove(conf, host)).fold(Ok(()), Result::and);
    removed.and(released)
}

fn remove(conf: &Conf, host: &str) -> Result<()> {
    let left = member::leave(&conf.switch, host);
    link::remove(host).and(left)
}
