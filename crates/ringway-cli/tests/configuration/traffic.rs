//! Frames pass while files are applied, and none is lost.

use crate::bed::Bed;

/// Two ports that exchange frames, and others that come and go beside them.
fn file(extra: usize) -> String {
    let mut text = String::from("[switch.vale0]\n[switch.vale0.port.a]\n[switch.vale0.port.b]\n");
    (0..extra).for_each(|n| text += &format!("[switch.vale0.port.x{n}]\nvlan = \"access:{}\"\n", n + 2));
    text
}

#[test]
fn a_reload_loses_no_frame() {
    let Some(bed) = Bed::new(0) else { return };
    bed.write("a.toml", &file(0));
    bed.applied(&[]);
    // The ring of the receiver holds a fifth of a second of them, in which a busy machine runs it.
    const FRAMES: &str = "15000";
    let receiver = bed.room.start(&["pkt-gen", "-i", "vale0:a", "-f", "rx", "-n", FRAMES, "--json"]);
    bed.room.wait_open("vale0", "a");
    let mut sender =
        bed.room.start(&["pkt-gen", "-i", "vale0:b", "-f", "tx", "-n", FRAMES, "-R", "5k", "--json"]);
    bed.room.wait_open("vale0", "b");
    let mut runs = 0;
    while sender.running() {
        bed.write("a.toml", &file(runs % 3));
        let ended = bed.apply(&["--prune"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        runs += 1;
    }
    let (sent, received) = (sender.end().json(), receiver.end().json());
    assert!(runs > 2, "only {runs} runs while frames passed");
    assert_eq!([&sent["packets"], &sent["counters"]["tx"]["frames_out"]], [15_000, 15_000], "{sent}");
    assert_eq!([&received["packets"], &received["counters"]["rx"]["dropped"]], [15_000, 0], "{received}");
    assert_eq!(received["sequence"]["unique"], 15_000, "{received}");
    assert_eq!(bed.room.run(&["stats", "--check"]).code, Some(0));
}
