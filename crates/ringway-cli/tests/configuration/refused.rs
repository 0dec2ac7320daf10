//! Files and folders that are refused, and switches that stay as they were.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use serde_json::Value;

use crate::bed::Bed;
use crate::support::room::NOBODY;
use crate::support::schema::Schema;

#[test]
fn what_is_wrong_in_a_file_is_said_with_its_line() {
    let Some(bed) = Bed::new(0) else { return };
    bed.write("a.toml", "[switch.vale0]\n");
    bed.write("b.toml", "[switch.vale1]\n\nslot = 64\n");
    let ended = bed.apply(&[]);
    let says = "/etc/b.toml:3: `slot` is no key of a switch; did you mean `slots`?";
    assert!(ended.error(1).contains(says), "{ended:?}");
    assert!(bed.names().is_empty(), "nothing is done of other files");
}

/// Root does what the files say: nobody else may have a hand in them.
#[test]
fn files_that_others_may_change_are_refused() {
    let Some(bed) = Bed::new(0) else { return };
    let file = format!("{}/a.toml", bed.folder);
    let mode = |path: &str, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    bed.write("a.toml", "[switch.vale0]\n");
    let refused = |says: &str| {
        let ended = bed.apply(&[]);
        assert!(ended.error(1).contains(says), "{says}: {ended:?}");
        assert!(bed.names().is_empty());
    };
    mode(&file, 0o666);
    refused("a.toml");
    mode(&file, 0o644);
    chown(&file, Some(NOBODY), None).unwrap();
    refused("a.toml");
    chown(&file, Some(0), None).unwrap();
    mode(&bed.folder, 0o777);
    refused("chmod go-w");
    mode(&bed.folder, 0o755);
    chown(&bed.folder, Some(NOBODY), None).unwrap();
    refused("/etc");
    chown(&bed.folder, Some(0), None).unwrap();
    fs::rename(&file, bed.room.path("real.toml")).unwrap();
    symlink(bed.room.path("real.toml"), &file).unwrap();
    refused("a.toml");
    fs::remove_file(&file).unwrap();
    refused("no file in it ends in .toml");
    let ended = bed.room.run(&["apply", "--config", &bed.room.path("none")]);
    assert!(ended.error(1).contains("make the folder, or name another one with --config"), "{ended:?}");
    let ended = bed.room.as_nobody(&["apply", "--config", &bed.folder]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let ended = bed.room.as_nobody(&["export"]);
    assert!(ended.error(1).contains("run as root"), "{ended:?}");
}

/// A switch becomes all that the files say or stays as it was; the others are made.
#[test]
fn a_switch_that_fails_is_as_it_was() {
    let Some(bed) = Bed::new(1) else { return };
    bed.write("a.toml", "[switch.vale0]\n[switch.vale0.port.p1]\n[switch.vale1]\n[switch.vale1.port.p1]\n");
    bed.applied(&[]);
    // Ports and a member can be made of vale0, and its socket can't.
    let vale0 = "[switch.vale0]\n[switch.vale0.port.p1]\nisolated = true\nowner = \"nobody\"\n[switch.vale0.member.e0]\n\
        [switch.vale0.port.p2]\nmemif = \"/nowhere/m.sock\"\n";
    let others = "[switch.vale1]\n[switch.vale1.port.p1]\nisolated = true\n\
        [switch.vale2]\n[switch.vale2.member.nic9]\n[switch.vale2.port.p1]\n";
    bed.write("a.toml", &format!("{vale0}{others}"));
    let ended = bed.apply(&["--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    Schema::read().check("apply", &object);
    let failed = |n: usize| [&object["failed"][n]["name"], &object["failed"][n]["code"]];
    assert_eq!([failed(0), failed(1)], [["vale0", "E0102"], ["vale2", "E0102"]], "{object}");
    for says in ["/nowhere", "nic9", "not as the files say: vale0, vale2"] {
        assert!(ended.stderr.contains(says), "{says}: {ended:?}");
    }
    assert_eq!(
        (bed.names(), bed.ports("vale0")),
        (vec!["vale0".into(), "vale1".into()], vec!["p1".to_owned()])
    );
    let shown = |port: &str| bed.room.json(&["switch", "port", "show", port]);
    let isolated = |port: &str| shown(port)["isolated"].clone();
    assert_eq!([isolated("vale0:p1"), isolated("vale1:p1")], [false, true]);
    assert_eq!(shown("vale0:p1")["owner"], "root");
}

/// What can't be changed stays, also its ports.
#[test]
fn what_would_have_to_be_made_again_is_refused() {
    let Some(bed) = Bed::new(3) else { return };
    bed.write("a.toml", "[switch.vale0]\nslots = 64\n[switch.vale0.port.p1]\n[switch.vale0.member.e2]\n[router.r0]\nmembers = [\"e0\", \"e1\"]\n");
    bed.applied(&[]);
    let user = bed.room.start(&["pkt-gen", "-i", "vale0:p1", "-f", "rx"]);
    let passing = bed.room.start(&["pkt-gen", "-i", "vale0:x", "-f", "rx"]);
    bed.room.wait_open("vale0", "p1");
    bed.room.wait_open("vale0", "x");
    for (file, says) in [
        (
            "[switch.vale0]\nslots = 128\n",
            "slots is 64 and the file says 128, but a switch stays as it was made",
        ),
        ("[switch.vale0]\nslots = 64\n[switch.vale0.port.e2]\n", "vale0:e2: it is an interface"),
        ("[switch.vale0]\nslots = 64\n[switch.vale0.member.p1]\n", "vale0:p1: it is a port for programs"),
        ("[switch.vale0]\nslots = 64\n[switch.vale0.port.x]\n", "has it open, which goes away with it"),
        (
            "[switch.vale0]\nslots = 64\n[switch.vale0.member.e2]\nhost = true\n",
            "a member stays as it was added",
        ),
        (
            "[switch.vale0]\nslots = 64\n[switch.vale0.port.p1]\nmemif = \"@x\"\n",
            "and the file names another memif",
        ),
        (
            "[router.r0]\nmembers = [\"e0\", \"e1\"]\nrpf6 = \"loose\"\n",
            "rpf6 is \"off\" and the file says \"loose\"",
        ),
    ] {
        bed.write("a.toml", file);
        for options in [&[][..], &["--dry-run"]] {
            let ended = bed.apply(options);
            assert!(ended.code == Some(1) && ended.stderr.contains(says), "{says}: {ended:?}");
        }
    }
    bed.write("a.toml", "[switch.vale0]\nslots = 64\n");
    let ended = bed.apply(&["--prune"]);
    assert!(
        ended
            .stderr
            .contains(&format!("vale0:p1: process {} has it open; end that process first", user.pid())),
        "{ended:?}"
    );
    assert_eq!(bed.ports("vale0"), ["e2", "p1", "x"]);
    user.interrupt();
    passing.interrupt();
}
