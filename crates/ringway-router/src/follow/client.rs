//! Asking a router's process.

use std::io::{BufRead, BufReader, ErrorKind as Io, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ringway::{Error, ErrorKind, Result};
use serde_json::Value;

use super::{Files, Request};

/// A line to the process of a router.
#[derive(Debug)]
pub struct Ask {
    name: String,
    stream: BufReader<UnixStream>,
}

impl Ask {
    /// Connects to the process. An answer may take as long as `patience`: that to [`Request::Sync`] reads the kernel's tables, others may
    /// have to wait for that.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no process, [`ErrorKind::Denied`] for others than root.
    pub fn open(name: &str, patience: Duration) -> Result<Self> {
        let files = Files::of(name)?;
        let stream = files.connect().map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::new(
                ErrorKind::NotFound,
                name,
                "no process follows the kernel's tables for it",
            )
            .cure(format!("`ringway router sync -r {name}` starts one, `ringway router list` shows routers")),
            _ => e,
        })?;
        let io = |e| Error::io(name, "setting a time limit failed", e);
        stream.set_read_timeout(Some(patience)).map_err(io)?;
        stream.set_write_timeout(Some(patience)).map_err(io)?;
        Ok(Self { name: name.to_owned(), stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// What the process says, or that it said nothing in time.
    pub fn ask(&mut self, request: &Request) -> Result<Value> {
        let name = self.name.clone();
        let failed = |e| Error::io(&*name, "asking its process failed", e).cure("its log tells more");
        let mut line = serde_json::to_string(request).map_err(|e| failed(e.into()))?;
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(failed)?;
        line.clear();
        if self.stream.read_line(&mut line).map_err(failed)? == 0 {
            return Err(failed(Io::UnexpectedEof.into()));
        }
        let mut answer: Value = serde_json::from_str(&line).map_err(|e| failed(e.into()))?;
        match answer["error"].as_str() {
            Some(why) => {
                // the process may have said already on what
                let said = why.split_once(": ").filter(|(on, _)| on.split(':').next() == Some(&name));
                let (on, what) = said.unwrap_or((&name, why));
                Err(Error::new(ErrorKind::Unfit, on, what))
            }
            None => Ok(answer["ok"].take()),
        }
    }
}
