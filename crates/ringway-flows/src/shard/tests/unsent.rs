//! A ring without a free slot: what has to go at once is counted when it can't.

use super::Bed;
use crate::code::End;
use crate::run::example::{ASK, bundle};
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;
const ETHER: usize = 14;

/// Resets, probes and answers that did not go.
fn unsent(bed: &Bed) -> [u64; 3] {
    let tally = bed.shard.tally();
    [tally.unsent_resets, tally.unsent_probes, tally.unsent_answers]
}

/// The frames of one flow.
fn frames() -> Vec<Vec<u8>> {
    let mut bed = Bed::new(bundle(ASK), Settings::default());
    bed.cable.log = Some(Vec::new());
    bed.start(0);
    bed.run(SECOND, |_| 1);
    bed.cable.log.take().unwrap().into_iter().map(|(_, frame)| frame).collect()
}

/// Whether a frame is a segment with these flags.
fn has_flags(frame: &[u8], flags: u8) -> bool {
    frame[12..14] == [8, 0] && frame[ETHER + 20 + 13] == flags
}

#[test]
fn answers_and_resets_without_a_slot_are_counted() {
    let mut bed = Bed::new(bundle(ASK), Settings::default());
    bed.cable.slots = Some(0);
    let all = frames();
    let question = all.iter().find(|frame| frame[12..14] == [8, 6]).unwrap();
    let mut took = |frame: &[u8]| {
        bed.shard.receive(End::Server, frame, 0, &mut bed.cable);
        unsent(&bed)
    };
    assert_eq!(took(question), [0, 0, 1], "an answer of ARP");
    let (ack, ack_fin) = (0x10, 0x11);
    // The last one of a connection that nobody knows here, and one that closes it.
    let last = all.iter().rfind(|frame| has_flags(frame, ack)).unwrap();
    assert_eq!(took(last), [1, 0, 1], "a reset for a stray");
    let fin = all.iter().find(|frame| has_flags(frame, ack_fin)).unwrap();
    assert_eq!(took(fin), [1, 0, 2], "an acknowledgement for a stray FIN");
    let mut lesson = question.clone();
    lesson[ETHER + 7] = 2;
    assert_eq!(took(&lesson), [1, 0, 2], "an answer gets none");
    bed.cable.slots = None;
    bed.shard.receive(End::Server, last, 0, &mut bed.cable);
    assert_eq!((unsent(&bed), bed.shard.tally().frames_out), ([1, 0, 2], 1));
}

#[test]
fn a_flow_that_fails_without_a_slot_counts_its_reset() {
    let slow = "flow slow { tcp c = inside -> outside : 80  timeout 1 s
        c > \"a\"
        think 30 s
        c < \"b\"
        c > close }";
    let mut bed = Bed::new(bundle(slow), Settings::default());
    bed.start(0);
    bed.run(SECOND / 10, |_| 1);
    // The client answers no more.
    bed.run(10 * SECOND, |_| 0);
    let before = unsent(&bed);
    bed.cable.slots = Some(0);
    for _ in 0..40 {
        bed.now += SECOND;
        bed.shard.poll(bed.now, &mut bed.cable);
    }
    let failed = bed.shard.tally().flows[0].iter().map(|end| end.all_failed()).sum::<u64>();
    assert!(failed > 0 && unsent(&bed)[0] > before[0], "{:?}", bed.shard.tally());
}

#[test]
fn a_probe_without_a_slot_is_counted_and_comes_again() {
    let slow = "flow slow { tcp c = inside -> outside : 80  timeout 60 s
        c > \"a\"
        think 20 s
        c < random(200 kB)
        c > close }";
    let mut bed = Bed::new(bundle(slow), Settings::default());
    bed.start(0);
    bed.run(SECOND / 10, |_| 1);
    bed.cable.slots = Some(0);
    for _ in 0..50 {
        bed.now += SECOND / 10;
        bed.shard.poll(bed.now, &mut bed.cable);
    }
    let [resets, probes, answers] = unsent(&bed);
    assert!(probes > 0 && (resets, answers) == (0, 0), "{:?}", bed.shard.tally());
    bed.cable.slots = None;
    bed.run(60 * SECOND, |_| 1);
    let [client, server] = &bed.shard.tally().flows[0];
    assert_eq!((client.complete, server.complete, unsent(&bed)[1]), (1, 1, probes));
    bed.is_empty();
}
