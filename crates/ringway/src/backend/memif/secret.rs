//! The file with what both sides of a connection know.

use std::io::Read;
use std::path::Path;

use ringway_memif::SECRET;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::private_dir::PrivateDir;

/// Reads a secret: up to 24 bytes, without the end of the line. Only the process' user and root may be able to read or to change it.
pub(super) fn read(file: &Path, port: &str) -> Result<[u8; SECRET]> {
    let parent =
        file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let leaf = file.file_name().and_then(|leaf| leaf.to_str()).ok_or_else(|| {
        Error::new(ErrorKind::BadName, port, "the secret's path has no last part").cure("name a file")
    })?;
    let opened = PrivateDir::open(parent)?.open_file(leaf)?;
    let io = |e| Error::io(file.display().to_string(), "reading the secret failed", e);
    let open_to_others = std::os::unix::fs::MetadataExt::mode(&opened.metadata().map_err(io)?) & 0o077 != 0;
    if open_to_others {
        let what = "other users may read the secret";
        return Err(Error::new(ErrorKind::Unfit, file.display().to_string(), what)
            .cure(format!("chmod 600 {}", file.display())));
    }
    let mut bytes = Vec::new();
    opened.take(SECRET as u64 + 2).read_to_end(&mut bytes).map_err(io)?;
    while bytes.last().is_some_and(|&b| b == b'\n' || b == b'\r') {
        bytes.pop();
    }
    if bytes.is_empty() || bytes.len() > SECRET || bytes.contains(&0) {
        let what = format!("a secret has 1 to {SECRET} bytes in one line");
        return Err(Error::new(ErrorKind::Unfit, file.display().to_string(), what).cure("shorten it"));
    }
    let mut secret = [0; SECRET];
    secret[..bytes.len()].copy_from_slice(&bytes);
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_one_short_line_of_the_own_user() {
        let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let file = folder.path().join("secret");
        let write = |bytes: &[u8], mode| {
            fs::write(&file, bytes).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            read(&file, "memif:m")
        };
        assert_eq!(write(b"twenty-four bytes exactly\n", 0o600).unwrap_err().kind(), ErrorKind::Unfit);
        let secret = write(b"twenty-four bytes in all\n", 0o600).unwrap();
        assert_eq!(&secret, b"twenty-four bytes in all");
        assert_eq!(write(b"short", 0o600).unwrap()[..6], *b"short\0");
        assert_eq!(write(b"\n", 0o600).unwrap_err().kind(), ErrorKind::Unfit);
        assert_eq!(write(b"short", 0o640).unwrap_err().kind(), ErrorKind::Unfit);
        fs::remove_file(&file).unwrap();
        assert_eq!(read(&file, "memif:m").unwrap_err().kind(), ErrorKind::NotFound);
    }
}
