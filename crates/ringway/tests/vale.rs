//! A switch and its ports. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use ringway::switch::{PortAccess, Switch, SwitchSpec};
use ringway::{DropReason, ErrorKind};

use switch::{Temporary, frame, give_next, receive, send};

#[test]
fn a_switch_learns_and_floods() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let [mut a, mut b, mut c] = switch.ports();
    let hello = [frame(9, 1, 60, 1), frame(0, 1, 200, 2)];
    send(&mut a, &hello);
    assert_eq!(receive(&mut b), hello);
    assert_eq!(receive(&mut c), hello);
    assert!(receive(&mut a).is_empty());
    let answer = [frame(1, 2, 1514, 3)];
    send(&mut b, &answer);
    assert_eq!(receive(&mut a), answer);
    assert!(receive(&mut c).is_empty());
    send(&mut b, &[frame(2, 2, 60, 4)]);
    assert_eq!(b.counters().tx.drops(DropReason::SamePort), 1);
    let fdb = switch.fdb();
    assert_eq!(fdb.iter().map(|e| (e.mac.0[5], e.port)).collect::<Vec<_>>(), [(1, Some(1)), (2, Some(2))]);
}

#[test]
fn a_persistent_port_stays() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    assert_eq!(switch.add_port("x", &PortAccess::default()).unwrap(), 1);
    drop(switch.port("x"));
    drop(switch.port("y"));
    let names: Vec<_> = Switch::ports(&switch).into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["x"]);
}

/// Numbers go round: that of a deleted port is given again when all others were.
#[test]
fn a_number_is_not_given_again_at_once() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let add = |name: &str| switch.add_port(name, &PortAccess::default()).unwrap();
    assert_eq!([add("a"), add("b")], [1, 2]);
    switch.del_port("a", false).unwrap();
    switch.del_port("b", false).unwrap();
    assert_eq!([add("c"), add("d")], [3, 4]);
    give_next(&switch, 254);
    assert_eq!([add("e"), add("f"), add("g"), add("h")], [254, 1, 2, 5], "3 and 4 are taken");
}

/// When the number of a deleted port goes to another one, who kept the old port open can't act for it.
#[test]
fn a_number_is_not_an_identity() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    switch.add_port("old", &PortAccess::default()).unwrap();
    let mut old = switch.port("old");
    let mut witness = switch.port("w");
    switch.del_port("old", true).unwrap();
    give_next(&switch, 1);
    assert_eq!(switch.add_port("new", &PortAccess::default()).unwrap(), 1);
    let mut new = switch.port("new");
    assert!(new.tx[0].push(&frame(0, 7, 60, 1)), "filled and not sent");
    assert!(old.tx[0].push(&frame(0, 8, 60, 2)));
    assert_eq!(old.tx[0].sync().unwrap_err().kind(), ErrorKind::Gone);
    assert!(receive(&mut witness).is_empty() && receive(&mut new).is_empty());
    new.tx[0].sync().unwrap();
    assert_eq!(receive(&mut witness), [frame(0, 7, 60, 1)]);
}
