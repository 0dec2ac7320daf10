//! Logs of processes in the background.

use std::fs::File;
use std::io;

/// A log longer than this is emptied before a process writes to it.
const MOST: u64 = 1 << 20;

/// Empties a log that is too long; what writes to it goes on at its end.
pub(crate) fn shorten(log: &File) -> io::Result<()> {
    let meta = log.metadata()?;
    if meta.is_file() && meta.len() > MOST { log.set_len(0) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_is_bounded() {
        let path = std::env::temp_dir().join(format!("ringway-memif-log-{}", std::process::id()));
        let log = File::options().append(true).create(true).open(&path).unwrap();
        for (bytes, left) in [(MOST, MOST), (1, 0)] {
            (&log).write_all(&vec![b'x'; bytes as usize]).unwrap();
            shorten(&log).unwrap();
            assert_eq!(log.metadata().unwrap().len(), left);
        }
        std::fs::remove_file(&path).unwrap();
        shorten(&File::options().write(true).open("/dev/null").unwrap()).unwrap();
    }
}
