//! `ringway fib`: tables are loaded and looked up, and the benchmark runs on any table.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A file that goes away with its test.
struct Table(PathBuf);

impl Table {
    fn new(name: &str, text: &str) -> Self {
        let file = std::env::temp_dir().join(format!("ringway-test-{}-{name}", std::process::id()));
        fs::write(&file, text).unwrap();
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0); // nothing else to do
    }
}

fn ringway(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ringway")).args(args).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const ROUTES: &str = "# both families\n0.0.0.0/0 1\n10.0.0.0/8 2 64512\n10.1.2.3/32 65535\n2001:db8::/32 7\n";

#[test]
fn addresses_are_looked_up() {
    let table = Table::new("lookup", ROUTES);
    let args = ["fib", "lookup", table.path(), "10.1.2.3", "10.1.2.4", "192.0.2.1", "2001:db8::1", "::1"];
    let text = String::from_utf8(ringway(&args).stdout).unwrap();
    let expected = "10.1.2.3  10.1.2.3/32  next hop 65535\n10.1.2.4  10.0.0.0/8  next hop 2\n\
                    192.0.2.1  0.0.0.0/0  next hop 1\n2001:db8::1  2001:db8::/32  next hop 7\n::1  no route\n";
    assert_eq!(text, expected);
    let object = json(&ringway(&["fib", "lookup", "--json", table.path(), "10.1.2.4", "::1"]));
    assert_eq!(object["lookups"][0]["prefix"], "10.0.0.0/8");
    assert_eq!(object["lookups"][1]["next_hop"], Value::Null);
}

#[test]
fn tables_are_described() {
    let table = Table::new("load", ROUTES);
    let object = json(&ringway(&["fib", "load", "--json", table.path()]));
    let v4 = &object["families"][0];
    assert_eq!((&v4["family"], &v4["routes"], &v4["lengths"]["32"]), (&"IPv4".into(), &3.into(), &1.into()));
    assert!(v4["bytes"].as_u64().unwrap() > 128 << 10);
    let text = String::from_utf8(ringway(&["fib", "load", table.path()]).stdout).unwrap();
    assert!(text.starts_with("IPv4: 3 routes to 3 next hops"), "{text}");
}

#[test]
fn bad_tables_are_named_in_one_line() {
    let table = Table::new("bad", "10.0.0.0/8 2\n10.0.0.1/8 2\n");
    let output = ringway(&["fib", "load", table.path()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("line 2: 10.0.0.1/8: no prefix") && text.lines().count() == 1, "{text}");
    assert!(text.contains("did you mean 10.0.0.0/8?"), "{text}");
}

#[test]
fn standard_input_and_repeated_prefixes() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
    command.args(["fib", "load", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"default 1\n10.0.0.0/8 2\n10.0.0.0/8 1\n").unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(text.starts_with("IPv4: 2 routes to 1 next hop, made"), "{text}");
    assert!(text.contains("\n  1 line more with a prefix that was there: the last counts\n"), "{text}");
}

#[cfg(feature = "bench")]
#[test]
fn the_benchmark_takes_any_table() {
    // Without short prefixes, which take long to withdraw and announce so often.
    let table = Table::new("bench", "10.1.0.0/24 2\n10.1.2.3/32 65535\n2001:db8::/32 7\n");
    let args = ["fib", "bench", "--table", table.path(), "--runs", "1", "--seconds", "0.01", "--json", "-"];
    for case in ["ipv4-covered", "ipv6-zipf", "ipv4-update-random"] {
        let object = json(&ringway(&[&args[..], &["--case", case, "--only", "ringway"]].concat()));
        assert_eq!(object["rows"][0]["case"], case);
        assert!(object["rows"][0]["median"].as_f64().unwrap() > 0.0);
    }
}
