//! Parsers: messages of protocols that a real peer may write in its own way.
//!
//! A story that meets only Ringway's own ends needs none: each end knows each byte of the other. With `match`, a story says that a message
//! is to be read as its protocol allows.

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

/// A message of a protocol, and the values that are captured from it.
///
/// Lines end in CR LF. Header and line lengths are bounded by [`MAX_HEAD`]; bodies are counted, not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parser {
    /// A line that begins with a template. No captures.
    Line {
        /// The template.
        prefix: u32,
    },
    /// A number in decimal at the start of a line, the rest of the line whatever it is. Captures the number.
    Number,
    /// All lines up to one with only a dot, as in POP3 and the data of SMTP. Captures the bytes before that line.
    Dots,
    /// A reply of FTP or SMTP, of one line or several. No captures.
    Reply {
        /// Its number, 100..=599.
        code: u16,
    },
    /// A reply of FTP with `h1,h2,h3,h4,p1,p2`. The address must be that of its sender on this connection. Captures the port.
    FtpPassive {
        /// Its number, usually 227.
        code: u16,
    },
    /// A reply of FTP with `(|||port|)`. Captures the port.
    FtpExtended {
        /// Its number, usually 229.
        code: u16,
    },
    /// The command `PORT`. The address must be that of its sender on this connection. Captures the port.
    FtpPort,
    /// The command `EPRT`. The address must be that of its sender on this connection. Captures the port.
    FtpEprt,
    /// A request of HTTP/1.1 with its body (Content-Length or chunked). Captures the bytes of the body.
    HttpRequest {
        /// Its method.
        method: Method,
    },
    /// A response of HTTP/1.1 with its body (Content-Length, chunked). Captures the bytes of the body.
    HttpResponse {
        /// Its status, 100..=599.
        status: u16,
        /// It answers a HEAD, and has no body whatever its header says.
        head: bool,
    },
    /// A query of DNS with one question. Captures its id.
    DnsQuery {
        /// Type that is asked for: 1 A, 28 AAAA, ...
        kind: u16,
    },
    /// A reply of DNS. Captures how many answers it has.
    DnsReply {
        /// Register with the id that it must have.
        id: u8,
        /// Format of the question that it must have: name, type and class as in the message.
        question: u32,
        /// Response code: 0 no error, 3 no such name.
        rcode: u8,
        /// Whether the bit for a truncated reply must be set.
        truncated: bool,
    },
    /// A SIP request with its body. Captures the media port of the body's SDP, or 0.
    SipRequest {
        /// Template of its method.
        method: u32,
    },
    /// A SIP response with its body. Captures the media port of the body's SDP, or 0.
    SipResponse {
        /// Its status, 100..=699.
        status: u16,
    },
    /// A message of TFTP. Captures the block number (or 0), and the bytes of data.
    Tftp {
        /// 1 read, 2 write, 3 data, 4 acknowledgement, 5 error, 6 options.
        opcode: u8,
    },
    /// A message of NTP. Captures its transmit time stamp.
    Ntp {
        /// 3 client, 4 server.
        mode: u8,
    },
}

/// Most bytes of a header or a line that a parser takes.
pub const MAX_HEAD: u32 = 8_192;

impl Parser {
    /// How many registers its captures need.
    #[must_use]
    pub const fn captures(self) -> u8 {
        match self {
            Self::Line { .. } | Self::Reply { .. } => 0,
            Self::Tftp { .. } => 2,
            _ => 1,
        }
    }
}
