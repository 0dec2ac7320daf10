//! The plugin for addresses, which runs with the same environment and the same input.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::error::{Code, Error, Result};
use super::request::variable;

/// A plugin that was found.
pub(super) struct Ipam<'a> {
    name: &'a str,
    file: PathBuf,
    input: &'a [u8],
}

impl<'a> Ipam<'a> {
    /// Finds the plugin in the folders of `CNI_PATH`.
    pub(super) fn find(name: &'a str, input: &'a [u8]) -> Result<Self> {
        let path = variable("CNI_PATH").ok_or_else(|| {
            let what = format!("CNI_PATH is missing; the plugin {name} for addresses is looked for there");
            Error::new(Code::Environment, what)
        })?;
        let file = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file));
        let missing = || {
            let what = format!("ipam.type: no program {name} in CNI_PATH ({path}); install it there");
            Error::new(Code::Config, what)
        };
        Ok(Self { name, file: file.ok_or_else(missing)?, input })
    }

    /// Runs it for a command of the specification. What it printed: [its result](Self::result) after `ADD`, and nothing after other commands.
    pub(super) fn run(&self, command: &str) -> Result<Vec<u8>> {
        let failed = |what: &str, e: &std::io::Error| {
            Error::new(Code::Io, format!("ipam {}: {what} {} failed: {e}", self.name, self.file.display()))
        };
        let mut child = Command::new(&self.file)
            .env("CNI_COMMAND", OsString::from(command))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed("starting", &e))?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(self.input));
        let output = child.wait_with_output().map_err(|e| failed("waiting for", &e))?;
        match written {
            // It need not read all.
            Err(e) if e.kind() != ErrorKind::BrokenPipe => return Err(failed("writing to", &e)),
            _ => {}
        }
        if !output.status.success() {
            return Err(self.refusal(command, &output.stdout, &output.status.to_string()));
        }
        Ok(output.stdout)
    }

    /// What it printed after `ADD`, as JSON.
    pub(super) fn result(&self, printed: &[u8]) -> Result<Value> {
        serde_json::from_slice(printed).map_err(|e| {
            Error::new(Code::Decode, format!("ipam {}: the result of ADD is not JSON: {e}", self.name))
        })
    }

    /// Its error, with its own code where it has one.
    fn refusal(&self, command: &str, output: &[u8], status: &str) -> Error {
        let object: Value = serde_json::from_slice(output).unwrap_or_default();
        let why = object["msg"].as_str().unwrap_or(status);
        let code = object["code"].as_u64().unwrap_or(Code::Refused as u64);
        // Both plugins read the same configuration, and this one knows its version.
        let cure = if code == Code::Version as u64 {
            "; write a cniVersion that both plugins know, as 1.0.0"
        } else {
            ""
        };
        Error {
            code,
            message: format!("ipam {}: {command} failed: {why}{cure}", self.name),
            details: object["details"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(output: &str) -> Error {
        let ipam = Ipam { name: "host-local", file: PathBuf::new(), input: b"" };
        ipam.refusal("ADD", output.as_bytes(), "exit status: 1")
    }

    #[test]
    fn refusals_keep_code_and_words() {
        let full = refusal(r#"{"code": 11, "msg": "no address is free", "details": "of 254"}"#);
        let message = "ipam host-local: ADD failed: no address is free";
        assert_eq!(full, Error { code: 11, message: message.into(), details: "of 254".into() });
        let mute = refusal("Killed");
        assert_eq!((mute.code, mute.message.as_str()), (100, "ipam host-local: ADD failed: exit status: 1"));
    }

    #[test]
    fn a_version_that_the_plugin_does_not_know_has_a_cure() {
        let old = refusal(r#"{"code": 1, "msg": "incompatible CNI versions"}"#);
        assert_eq!(old.code, 1);
        assert!(
            old.message.ends_with("versions; write a cniVersion that both plugins know, as 1.0.0"),
            "{old:?}"
        );
    }
}
