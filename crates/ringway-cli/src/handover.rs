//! The one line that a process in the background says to the command that started it: that it is ready, or why it ends.
//!
//! An error keeps its number and its exit code, so the user reads the same as from a process in the foreground. The process of a port runs
//! as the owner of the port, who may change what it says. So the line is bounded, and its text has no control characters.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

use crate::errors::{self, Code, processes};
use crate::failure::Failure;

/// Bytes of the line, at most.
const LONGEST: u64 = 1 << 20;

/// Says that this process is ready.
pub(crate) fn say_ready(ready: &Value) -> io::Result<()> {
    say(&json!({ "ok": ready }))
}

/// Says why this process ends.
pub(crate) fn say_failure(why: &Failure) -> io::Result<()> {
    say(&json!({ "error": why.to_string(), "number": why.code().number, "exit": why.exit_code() }))
}

fn say(line: &Value) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}

/// What a process says.
#[derive(Debug)]
pub(crate) enum Said {
    /// It is ready, and this is what it made.
    Ready(Value),
    /// It ends, and this is why.
    Failed(Failure),
    /// It ended without a word.
    Nothing,
}

/// Waits for the line of a process.
pub(crate) fn hear(from: impl Read) -> io::Result<Said> {
    let mut line = Vec::new();
    BufReader::new(from.take(LONGEST)).read_until(b'\n', &mut line)?;
    let said: Value = serde_json::from_slice(&line).unwrap_or_default();
    Ok(match (said["error"].as_str(), &said["ok"]) {
        (Some(why), _) => Said::Failed(failure(why, &said)),
        (None, Value::Null) => Said::Nothing,
        (None, ready) => Said::Ready(ready.clone()),
    })
}

/// The error as the process had it. A number that this command does not know is that of a process in the background.
fn failure(why: &str, said: &Value) -> Failure {
    let known = |code: &Code| said["number"] == code.number;
    let code = errors::all().find(known).unwrap_or(processes::BACKGROUND);
    let text = why.replace(char::is_control, " ");
    match said["exit"].as_u64() {
        Some(2) => Failure::Usage(code, text),
        _ => Failure::Other(code, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::ports;

    fn heard(line: &str) -> Said {
        hear(line.as_bytes()).unwrap()
    }

    #[test]
    fn a_failure_keeps_its_number_and_its_exit_code() {
        for (line, code, exit, text) in [
            (r#"{"error":"eth7: gone","number":102,"exit":1}"#, ports::NOT_FOUND, 1, "eth7: gone"),
            (r#"{"error":"a:b","number":101,"exit":2}"#, ports::BAD_NAME, 2, "a:b"),
            (r#"{"error":"x","number":9999,"exit":1}"#, processes::BACKGROUND, 1, "x"),
            (r#"{"error":"x","number":"102","exit":"2"}"#, processes::BACKGROUND, 1, "x"),
            (r#"{"error":"x"}"#, processes::BACKGROUND, 1, "x"),
            (r#"{"error":"\u001b[2Ja\nb","number":102,"exit":7}"#, ports::NOT_FOUND, 1, " [2Ja b"),
        ] {
            let Said::Failed(why) = heard(line) else { panic!("{line}") };
            assert_eq!((why.code(), why.exit_code(), why.to_string().as_str()), (code, exit, text), "{line}");
        }
    }

    #[test]
    fn what_is_no_word_of_a_process_is_nothing() {
        for line in ["", "\n", "{", "7", "null", r#"{"ok":null}"#, "\u{1b}", r#"{"number":102}"#] {
            assert!(matches!(heard(line), Said::Nothing), "{line}");
        }
        assert!(matches!(hear(&b"\xff\n"[..]).unwrap(), Said::Nothing));
        let Said::Ready(ready) = heard("{\"ok\":7}\nmore") else { panic!() };
        assert_eq!(ready, 7);
    }

    /// A process may write without end, and no newline.
    #[test]
    fn a_line_without_end_is_read_to_its_bound() {
        assert!(matches!(hear(io::repeat(b'[')).unwrap(), Said::Nothing));
        assert!(matches!(hear(io::repeat(b'"')).unwrap(), Said::Nothing));
    }
}
