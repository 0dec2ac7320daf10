//! What the kernel does with routes, slow and obvious.

use std::collections::BTreeMap;

use ringway_fwd::control::event::{Address, Mode, Object, Path, Route};
use ringway_fwd::control::{Event, Family, Hop, Kind, MAIN, Net, Via};

/// The kernel's rules once more: a list of routes, searched from one end to the other.
#[derive(Default)]
pub(crate) struct Obvious {
    routes: Vec<Route>,
    up: BTreeMap<u32, bool>,
    dead: Vec<(Family, u32)>,
    addresses: Vec<Address>,
    objects: BTreeMap<u32, Object>,
}

fn hops(path: &Path) -> &[Hop] {
    match &path.via {
        Via::Hops(hops) => hops,
        Via::Object(_) => &[],
    }
}

fn joins(path: &Path) -> bool {
    path.kind == Kind::Unicast && hops(path).iter().any(|hop| hop.gateway.is_some())
}

impl Obvious {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Link(link) => {
                let was = self.up.insert(link.index, link.up).unwrap_or(false);
                if was && !link.up {
                    self.lose(link.index, |p| p.scope == 254);
                }
                if !link.up {
                    self.drop_objects(link.index);
                }
                if !was && link.up {
                    self.dead.retain(|(_, dev)| *dev != link.index);
                }
            }
            Event::LinkGone(dev) => {
                self.up.remove(dev);
                self.drop_objects(*dev);
                self.routes.retain(|r| {
                    let through = hops(&r.path).iter().filter(|h| h.dev == *dev).count();
                    through == 0 || r.path.family == Family::V6 && through < hops(&r.path).len()
                });
                for route in &mut self.routes {
                    shrink(&mut route.path, |hop| hop.dev != *dev);
                }
                self.dead.retain(|(_, of)| of != dev);
                self.addresses.retain(|a| a.dev != *dev);
            }
            Event::Address(address) => {
                if !self.addresses.contains(address) {
                    self.addresses.push(*address);
                }
                if self.up.get(&address.dev) == Some(&true) {
                    self.dead.retain(|key| *key != (Family::V4, address.dev));
                }
            }
            Event::AddressGone(address) if self.addresses.contains(address) => {
                self.addresses.retain(|a| a != address);
                if !self.addresses.iter().any(|a| a.addr == address.addr) {
                    self.routes.retain(|r| r.table != MAIN || r.path.source != Some(address.addr));
                }
                if !self.addresses.iter().any(|a| a.dev == address.dev) {
                    self.lose_v4(address.dev, |_| false);
                }
            }
            Event::Route(route, mode) => self.add(route, *mode),
            Event::RouteGone(route) => self.remove(route),
            Event::Object(id, object) => drop(self.objects.insert(*id, object.clone())),
            Event::ObjectGone(id) => self.drop_object(*id),
            _ => {}
        }
    }

    fn lose(&mut self, dev: u32, stays: impl Fn(&Path) -> bool) {
        self.lose_v4(dev, stays);
        self.dead.push((Family::V6, dev));
        let dead = self.dead.clone();
        let lost = |p: &Path| {
            let through = |of: &Hop| of.dev == dev;
            hops(p).iter().any(through) && hops(p).iter().all(|h| dead.contains(&(Family::V6, h.dev)))
        };
        self.routes.retain(|r| r.path.family == Family::V4 || !lost(&r.path));
    }

    fn lose_v4(&mut self, dev: u32, stays: impl Fn(&Path) -> bool) {
        self.dead.push((Family::V4, dev));
        let dead = self.dead.clone();
        let lost = |p: &Path| {
            let through = |of: &Hop| of.dev == dev;
            hops(p).iter().any(through)
                && !stays(p)
                && hops(p).iter().all(|h| dead.contains(&(Family::V4, h.dev)))
        };
        self.routes.retain(|r| r.path.family == Family::V6 || !lost(&r.path));
    }

    fn drop_objects(&mut self, dev: u32) {
        let through = |o: &Object| matches!(o, Object::Hop(hop) if hop.dev == dev);
        let ids: Vec<_> = self.objects.iter().filter(|(_, o)| through(o)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.drop_object(id));
    }

    fn drop_object(&mut self, id: u32) {
        self.objects.remove(&id);
        self.routes.retain(|r| r.path.via != Via::Object(id));
        let mut empty = Vec::new();
        for (of, object) in &mut self.objects {
            if let Object::Group(members) = object {
                members.retain(|(member, _)| *member != id);
                empty.extend(members.is_empty().then_some(*of));
            }
        }
        empty.into_iter().for_each(|id| self.drop_object(id));
    }

    fn note_dead(&mut self, path: &Path) {
        if hops(path).len() > 1 {
            self.dead
                .retain(|(family, dev)| *family != path.family || !hops(path).iter().any(|h| h.dev == *dev));
        }
    }

    fn add(&mut self, route: &Route, mode: Mode) {
        self.note_dead(&route.path);
        if self.routes.iter().any(|r| (r.table, r.net, &r.path) == (route.table, route.net, &route.path)) {
            return;
        }
        let peer = |r: &Route| {
            let key = |r: &Route| (r.table, r.net, r.path.metric, r.path.tos, r.path.from);
            key(r) == key(route)
        };
        let peers: Vec<_> = (0..self.routes.len()).filter(|i| peer(&self.routes[*i])).collect();
        let (first, last) = (peers.first().copied(), peers.last().copied());
        let place = match (route.path.family, mode) {
            (Family::V4, Mode::New) => {
                self.routes.retain(|r| !peer(r));
                None
            }
            (Family::V4, Mode::First) => first,
            (Family::V4, Mode::Append) => last.map(|i| i + 1),
            (Family::V4, Mode::Replace) => first.inspect(|i| drop(self.routes.remove(*i))),
            (Family::V6, mode) => {
                let alike =
                    peers.iter().copied().find(|i| joins(&self.routes[*i].path) == joins(&route.path));
                let instead = match mode {
                    Mode::Replace => alike.or(first),
                    _ => alike.filter(|_| joins(&route.path)),
                };
                instead.inspect(|i| drop(self.routes.remove(*i))).or(last.map(|i| i + 1))
            }
        };
        self.routes.insert(place.unwrap_or(self.routes.len()), route.clone());
    }

    fn remove(&mut self, route: &Route) {
        let same = |r: &Route| (r.table, r.net, &r.path) == (route.table, route.net, &route.path);
        if let Some(i) = self.routes.iter().position(same) {
            self.routes.remove(i);
            return;
        }
        if let Net::V4(_) = route.net {
            return;
        }
        let has =
            |r: &Route, hop: &Hop| hops(&r.path).iter().any(|h| (h.dev, h.gateway) == (hop.dev, hop.gateway));
        let of = |r: &Route| {
            (r.table, r.net, r.path.metric, r.path.kind)
                == (route.table, route.net, route.path.metric, route.path.kind)
                && !hops(&route.path).is_empty()
                && matches!(r.path.via, Via::Hops(_))
                && hops(&route.path).iter().all(|hop| has(r, hop))
        };
        if let Some(i) = self.routes.iter().position(of) {
            let gone = hops(&route.path).to_vec();
            shrink(&mut self.routes[i].path, |h| {
                !gone.iter().any(|g| (g.dev, g.gateway) == (h.dev, h.gateway))
            });
            if hops(&self.routes[i].path).is_empty() {
                self.routes.remove(i);
            }
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> =
            self.routes.iter().map(|r| format!("{} {:?} {:?}", r.table, r.net, r.path)).collect();
        lines.sort();
        lines
    }
}

fn shrink(path: &mut Path, keep: impl Fn(&Hop) -> bool) {
    if let Via::Hops(hops) = &mut path.via {
        hops.retain(keep);
        if let [hop] = &mut hops[..] {
            hop.weight = 1;
        }
    }
}
