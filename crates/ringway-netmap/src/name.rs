//! What the name of a request stands for.

use crate::memory::Errno;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// An interface, or a persistent port.
    Interface(String),
    /// A port of a switch.
    Switch { switch: String, port: String },
    /// An end of a pipe on a port, or on a name that is none.
    Pipe { parent: String, id: String, end: End },
}

/// An end of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// `{`
    Open,
    /// `}`
    Close,
}

impl End {
    pub(crate) fn mark(self) -> char {
        if self == Self::Open { '{' } else { '}' }
    }

    pub(crate) fn other(self) -> Self {
        if self == Self::Open { Self::Close } else { Self::Open }
    }
}

/// Bytes that the name of a port of a switch has at most.
const NAME_MAX: usize = 63;

impl Target {
    /// Reads a name.
    ///
    /// # Errors
    /// `EINVAL` for an empty name, for bytes that no name has, and for a pipe without a parent or a number.
    pub(crate) fn parse(name: &[u8]) -> Result<Self, Errno> {
        let bad = Errno(libc::EINVAL);
        let name = std::str::from_utf8(name).map_err(|_| bad)?;
        let printable = |b: u8| b.is_ascii_graphic() && !matches!(b, b'/' | b'@');
        if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(printable) {
            return Err(bad);
        }
        if let Some(at) = name.rfind(['{', '}']) {
            let (parent, id) = (&name[..at], &name[at + 1..]);
            let good = !parent.is_empty() && !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
            if !good || parent.contains(['{', '}']) {
                return Err(bad);
            }
            let end = if name.as_bytes()[at] == b'{' { End::Open } else { End::Close };
            return Ok(Self::Pipe { parent: parent.into(), id: id.into(), end });
        }
        match name.split_once(':') {
            Some((switch, port)) if switch.starts_with("vale") => {
                let good = !port.is_empty() && !port.contains(':');
                if good { Ok(Self::Switch { switch: switch.into(), port: port.into() }) } else { Err(bad) }
            }
            Some(_) => Err(bad),
            None => Ok(Self::Interface(name.into())),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Switch { switch, port } => write!(f, "{switch}:{port}"),
            Self::Pipe { parent, id, end } => write!(f, "{parent}{}{id}", end.mark()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_ports() {
        let interface = |name: &str| Ok(Target::Interface(name.into()));
        assert_eq!(Target::parse(b"eth0"), interface("eth0"));
        assert_eq!(Target::parse(b"valet"), interface("valet"));
        let port = Target::Switch { switch: "vale0".into(), port: "p1".into() };
        assert_eq!(Target::parse(b"vale0:p1"), Ok(port));
        let pipe = |parent: &str, end| Ok(Target::Pipe { parent: parent.into(), id: "7a".into(), end });
        assert_eq!(Target::parse(b"eth0{7a"), pipe("eth0", End::Open));
        assert_eq!(Target::parse(b"vale:x}7a"), pipe("vale:x", End::Close));
        for bad in
            [&b""[..], b"eth0{", b"{1", b"a{b{1", b"a{-", b"vale0:", b"x:y", b"a/b", b"\xff", &[b'x'; 64]]
        {
            assert_eq!(Target::parse(bad), Err(Errno(libc::EINVAL)), "{bad:?}");
        }
    }
}
