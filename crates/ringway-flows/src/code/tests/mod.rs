//! The verifier against programs that are wrong on purpose.

mod walker;

use super::sample::bundle;
use super::*;

/// What the verifier says of the sample after a change.
fn refusal(change: impl FnOnce(&mut Bundle)) -> String {
    let mut changed = bundle();
    change(&mut changed);
    verify(&changed).map_or_else(|refusal| refusal.to_string(), |()| "accepted".to_owned())
}

/// What the verifier says after instruction `at` of the client became another.
fn client(at: usize, instr: Instr) -> String {
    refusal(|b| b.flows[0].client.code[at] = instr)
}

#[test]
fn the_sample_is_accepted_and_survives_the_form_in_bytes() {
    let sample = bundle();
    verify(&sample).unwrap();
    assert_eq!(decode(&encode(&sample)).unwrap(), sample);
}

#[test]
fn an_address_is_of_a_family_that_exists() {
    let bytes = encode(&bundle());
    // The first address of the first pool, behind its family.
    let at = bytes.windows(5).position(|w| w == [4, 198, 18, 0, 0]).unwrap();
    for family in [0, 5, 7, 0x26] {
        let mut changed = bytes.clone();
        changed[at] = family;
        // Bytes of an IPv6 address are there, too.
        changed.splice(at + 1..at + 5, [0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert!(decode(&changed).is_err_and(|why| why.to_string().contains("a value that does not exist")));
    }
}

#[test]
fn a_listing_shows_labels_and_texts() {
    let text = list(&bundle());
    for line in [
        "     L8:    8  expect ctl \"hello\"",
        "            10  jnz r1 L8",
        "             3  expect.format ctl \"227 passive (\" r0=host_port(ctl.server) \")\\r\\n\"",
        "            11  spawn branch 0 L21",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn wrong_instructions_are_named_with_the_reason() {
    let head = "flow `story`, program of the client, instruction ";
    let say = |at: usize, instr: Instr, rest: &str| assert_eq!(client(at, instr), format!("{head}{rest}"));
    say(10, Instr::new(Op::Jnz, 1, 0, 99), "10 (jnz r1 L99): there is no instruction 99");
    say(6, Instr::new(Op::Rand, 9, 0, 0), "6 (rand r9 Uniform in 1..=4): there is no register r9");
    say(6, Instr::new(Op::Mov, 1, 3, 0), "6 (mov r1 r3): register r3 is read before it is written");
    say(1, Instr::new(Op::Think, 0, 0, 0), "1 (think r0): register r0 is read before it is written");
    say(
        1,
        Instr::new(Op::Ldi, 0, 0, 1),
        "3 (expect.format ctl \"227 passive (\" r0=host_port(ctl.server) \")\\r\\n\"): connection 0 may be not open so far",
    );
    say(15, Instr::new(Op::Ldi, 0, 0, 1), "20 (end): connection 1 may still be open");
    say(
        19,
        Instr::new(Op::Jnz, 2, 0, 25),
        "25 (end): more than one branch, or the program itself, comes here",
    );
    say(25, Instr::new(Op::Ldi, 0, 0, 1), "25 (ldi r0 1): the program runs off its end");
    say(
        24,
        Instr::new(Op::SendT, 1, 0, 2),
        "12 (spawn branch 1 L24): it shares its number, a slot or a written register with another branch",
    );
    say(2, Instr::new(Op::Ldi, 3, 0, 1), "4 (lat end `part`): a latency ends that has not begun");
    say(18, Instr::new(Op::RawPkt, 0, 0, 0), "18 (rawpkt #0): there is no raw packet 0");
    say(
        3,
        Instr::new(Op::SendV, 0, 0, 1),
        "3 (send.format ctl \"227 passive (\" r0=host_port(ctl.server) \")\\r\\n\"): a format that is sent takes no values",
    );
    say(9, Instr::new(Op::Jnz, 1, 0, 12), "9 (jnz r1 L12): it jumps between the branches of a group");
    say(
        18,
        Instr::new(Op::Open, 2, 1, 0),
        "18 (open dns r1): a register names the port exactly if the connection says so",
    );
    say(
        18,
        Instr::new(Op::Abandon, 0, 0, 0),
        "18 (abandon ctl): only an attack may leave a TCP connection without a close",
    );
    say(18, Instr::new(Op::SendEnd, 0, 0, 0), "18 (send.end ctl): a TCP connection has no datagrams");
}

#[test]
fn wrong_tables_are_named_with_the_reason() {
    let pool = |b: &mut Bundle| b.pools[1].ranges[0].last = "198.20.0.0".parse().unwrap();
    assert_eq!(refusal(pool), "pool 1: it has addresses outside the ranges for laboratories");
    let allowed = |b: &mut Bundle| {
        pool(b);
        b.lab = "a closed room".to_owned();
    };
    assert_eq!(refusal(allowed), "accepted");
    let outside =
        |b: &mut Bundle| b.flows[0].connections[0].server = Place::Fixed("10.0.0.1".parse().unwrap());
    assert_eq!(refusal(outside), "flow 0: an address lies in no pool");
    assert_eq!(
        refusal(|b| b.dists[0].lo = 5),
        "distribution 0: its bounds are not in order, or greater than 2^62"
    );
    let estimate = |b: &mut Bundle| b.flows[0].estimate.bytes = u64::MAX / 8 + 1;
    assert_eq!(refusal(estimate), "flow 0: a number of its estimate is greater than 10^18");
    assert_eq!(refusal(|b| b.templates[2].len = 6), "template 2: it leaves the data");
    assert_eq!(refusal(|b| b.mixes[0].shares[0].weight = 0), "mix 0: its shares are all 0");
    assert_eq!(
        refusal(|b| b.plan.loads[0].unit = Unit::Packets),
        "load 0: only an attack has a rate of packets"
    );
    assert_eq!(
        refusal(|b| b.formats[1].pieces.truncate(2)),
        "format 1: a number that is taken needs a text behind it that begins with no digit"
    );
}

#[test]
fn datagrams_have_ends_and_a_retry_covers_sends_only() {
    let none = u16::from(NONE);
    let lookup = |middle: &[Instr]| {
        refusal(|b| {
            let code = &mut b.flows[0].client.code;
            let mut all = vec![Instr::new(Op::Timeout, 2, 0, 0), Instr::new(Op::Open, 2, none, 0)];
            all.extend(middle);
            all.push(Instr::new(Op::End, 0, 0, 0));
            *code = all;
        })
    };
    let (send, end) = (Instr::new(Op::SendT, 2, 0, 2), Instr::new(Op::SendEnd, 2, 0, 0));
    let (take, done) = (Instr::new(Op::ExpectT, 2, 0, 2), Instr::new(Op::ExpectEnd, 2, 0, 0));
    let retry = Instr::new(Op::Retry, 2, 3, 0);
    assert_eq!(lookup(&[retry, send, end, take, done]), "accepted");
    assert!(lookup(&[send, take]).ends_with("connection 2 may be in the middle of a datagram that is sent"));
    assert!(lookup(&[send, end, take]).ends_with("connection 2 may still be open"));
    assert!(lookup(&[retry, send, end]).ends_with("not only sends on its slot, up to an expectation"));
}

#[test]
fn a_wait_has_a_limit() {
    let server = |change: fn(&mut Bundle)| refusal(change);
    let missing = server(|b| b.flows[0].server.code[0] = Instr::new(Op::Ldi, 0, 0, 1));
    assert!(missing.ends_with("1 (accept ctl): it may wait, and no timeout limits that"), "{missing}");
    for wrong in [0, 3_600_000_000_001] {
        let mut changed = bundle();
        changed.constants[0] = wrong;
        assert!(verify(&changed).is_err_and(|why| why.to_string().contains("at most 1 h")), "{wrong}");
    }
}
