//! Each error ends with a number, which `ringway explain` knows.

use crate::support::run;

/// The number at the end of an error.
fn number_of(words: &[&str], code: i32) -> String {
    let ended = run(words);
    let (_, number) = ended.error(code).rsplit_once(" [").unwrap();
    number.trim_end().trim_end_matches(']').to_owned()
}

#[test]
fn errors_of_each_kind_have_their_number() {
    for (words, code, number) in [
        (&["pktgen"][..], 2, "E0001"),
        (&["stats", "--no-such-option"], 2, "E0002"),
        (&["pkt-gen"], 2, "E0003"),
        (&["pkt-gen", "-i", "null:", "-n", "many"], 2, "E0004"),
        (&["capture", "-i", "null:", "-w", "-", "--json"], 2, "E0005"),
        (&["pkt-gen", "-i", "pipe:"], 2, "E0101"),
        (&["pkt-gen", "-i", "ebpf:no-such-if"], 1, "E0102"),
        (&["fib", "load", "/no/such/file"], 1, "E0201"),
        (&["run", "--", "no-such-program"], 1, "E0301"),
        (&["flows", "check", "/no/such/file"], 1, "E0201"),
        (&["stats", "pipe:nobody{1"], 1, "E0702"),
        (&["explain", "E9999"], 2, "E0004"),
    ] {
        assert_eq!(number_of(words, code), number, "{words:?}");
        let explained = run(&["explain", number]);
        assert_eq!(explained.code, Some(0), "{explained:?}");
        assert!(explained.stdout.starts_with(&format!("{number}: ")), "{explained:?}");
        assert!(["\n\nCause: ", "\n\nCure: "].iter().all(|part| explained.stdout.contains(part)));
    }
}

#[test]
fn numbers_have_short_forms_and_all_are_listed() {
    let whole = run(&["explain", "E0102"]).stdout;
    for short in ["102", "e102", "0102", "E102"] {
        assert_eq!(run(&["explain", short]).stdout, whole, "{short}");
    }
    assert!(run(&["explain", "E0119"]).error(2).contains("the nearest is E0117"));
    assert!(run(&["explain", "tail"]).error(2).contains("`ringway explain` lists all"));
    let list = run(&["explain"]).stdout;
    assert!(list.contains("\n  E0102  the named thing does not exist\n"), "{list}");
}

/// What programs read of the index is what people read of it.
#[test]
fn the_index_as_json_is_that_of_the_text() {
    let one = run(&["explain", "102", "--json"]).json();
    let [error] = &one["errors"].as_array().unwrap()[..] else { panic!("{one}") };
    let part = |key: &str| error[key].as_str().unwrap();
    let text = format!(
        "{}: {}\n\nCause: {}\n\nCure: {}\n",
        part("code"),
        part("title"),
        part("cause"),
        part("cure")
    );
    assert_eq!(run(&["explain", "E0102"]).stdout, text);

    let all = run(&["explain", "--json"]).json();
    let mut list = String::new();
    for error in all["errors"].as_array().unwrap() {
        let (area, code, title) = (&error["area"], &error["code"], &error["title"]);
        let area = format!("{}:\n", area.as_str().unwrap());
        if !list.contains(&area) {
            list += if list.is_empty() { "" } else { "\n" };
            list += &area;
        }
        list += &format!("  {}  {}\n", code.as_str().unwrap(), title.as_str().unwrap());
    }
    assert_eq!(run(&["explain"]).stdout, list);
    assert!(all["errors"].as_array().unwrap().contains(error));
    assert_eq!(number_of(&["explain", "E9999", "--json"], 2), "E0004");
}
