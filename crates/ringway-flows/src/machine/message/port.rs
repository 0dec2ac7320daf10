//! The commands `PORT` (RFC 959) and `EPRT` (RFC 2428), with which an FTP client names its address and port.

use std::net::IpAddr;

use super::address::{Address, HOST_PORT, host_port};
use super::parse::{Char, Lines, Parse, done_if, more_if};
use super::state::{fields, steps};
use super::{Match, Verdict};

/// The address that the command must name: the one of its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender(pub(super) IpAddr);

/// Takes a byte of a command. `None` if all of it was there before.
fn command(word: &[u8], matched: &mut u8, byte: u8) -> Option<Verdict> {
    let wanted = word.get(usize::from(*matched))?;
    *matched += 1;
    Some(more_if(byte.eq_ignore_ascii_case(wanted)))
}

fields! {
    /// `PORT h1,h2,h3,h4,p1,p2`. Captures the port.
    struct Port {
        lines: Lines,
        matched: u8,
        address: Address,
        port: u16,
    }
}

impl Parse<Sender> for Port {
    fn feed(&mut self, sender: &Sender, bytes: &[u8]) -> Match {
        Match::byte(match self.lines.take(bytes[0]) {
            Char::Text(byte) => command(b"PORT ", &mut self.matched, byte)
                .unwrap_or_else(|| more_if(self.address.list(byte, b',', HOST_PORT))),
            Char::Cr => Verdict::More,
            Char::End => match self.address.list_end(HOST_PORT).map(host_port) {
                Some((host, port)) => {
                    self.port = port;
                    done_if(host == sender.0 && port != 0)
                }
                None => Verdict::Mismatch,
            },
            Char::Bad => Verdict::Mismatch,
        })
    }

    fn captures(&self) -> [u64; 2] {
        [u64::from(self.port), 0]
    }
}

steps! {
    /// Part of an `EPRT` command.
    enum Part { Command, Family, Behind, Address, Port, End, }
}

fields! {
    /// `EPRT |1|132.235.1.2|6275|`. Captures the port.
    struct Eprt {
        lines: Lines,
        matched: u8,
        part: Part,
        delimiter: u8,
        v6: bool,
        address: Address,
    }
}

impl Parse<Sender> for Eprt {
    fn feed(&mut self, sender: &Sender, bytes: &[u8]) -> Match {
        Match::byte(match self.lines.take(bytes[0]) {
            Char::Text(byte) => command(b"EPRT ", &mut self.matched, byte)
                .unwrap_or_else(|| more_if(self.text(sender.0, byte).is_some())),
            Char::Cr => Verdict::More,
            Char::End => done_if(self.part == Part::End && self.address.number.value != 0),
            Char::Bad => Verdict::Mismatch,
        })
    }

    fn captures(&self) -> [u64; 2] {
        [self.address.number.value, 0]
    }
}

impl Eprt {
    /// Takes a byte behind the command's name. `None` if it can't follow.
    fn text(&mut self, sender: IpAddr, byte: u8) -> Option<()> {
        let delimits = self.part != Part::Command && byte == self.delimiter;
        let holds = match self.part {
            Part::Command => {
                (self.part, self.delimiter) = (Part::Family, byte);
                byte.is_ascii_punctuation() && byte != b'.' && byte != b':'
            }
            Part::Family => {
                (self.part, self.v6) = (Part::Behind, byte == b'2');
                matches!(byte, b'1' | b'2')
            }
            Part::Behind => {
                self.part = Part::Address;
                delimits
            }
            Part::Address if delimits => {
                let address = if self.v6 { self.address.v6_end() } else { self.address.v4_end() };
                self.part = Part::Port;
                address == Some(sender)
            }
            Part::Address if self.v6 => self.address.v6(byte),
            Part::Address => self.address.list(byte, b'.', 4),
            Part::Port if delimits => {
                self.part = Part::End;
                self.address.number.digits > 0
            }
            Part::Port => self.address.number.decimal(byte, u64::from(u16::MAX)),
            Part::End => false,
        };
        holds.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    fn port<P: Parse<Sender>>(sender: &str, text: &str) -> Option<u64> {
        let sender = Sender(sender.parse().unwrap());
        let (used, captures) = parse::<_, P>(&sender, text.as_bytes(), false)?;
        assert_eq!(used, text.len());
        Some(captures[0])
    }

    #[test]
    fn port_commands() {
        assert_eq!(port::<Port>("198.18.0.1", "PORT 198,18,0,1,200,10\r\n"), Some(51_210));
        assert_eq!(port::<Port>("198.18.0.1", "port 198,18,0,1,0,20\r\n"), Some(20));
        for bad in [
            "PORT 198,18,0,2,200,10",
            "PORT 198,18,0,1,200",
            "PORT 198,18,0,1,200,10,1",
            "PORT 198,18,0,1,0,0",
            "PORT 198,18,0,1,256,1",
            "PORT  198,18,0,1,200,10",
            "PORT 198,18,0,1,200,10 ",
            "PORT",
            "PASV",
            "",
        ] {
            assert_eq!(port::<Port>("198.18.0.1", &format!("{bad}\r\n")), None, "{bad}");
        }
        assert_eq!(port::<Port>("2001:2::1", "PORT 198,18,0,1,200,10\r\n"), None);
    }

    #[test]
    fn extended_port_commands() {
        assert_eq!(port::<Eprt>("132.235.1.2", "EPRT |1|132.235.1.2|6275|\r\n"), Some(6275));
        assert_eq!(
            port::<Eprt>("1080::8:800:200c:417a", "EPRT |2|1080::8:800:200C:417A|5282|\r\n"),
            Some(5282)
        );
        assert_eq!(port::<Eprt>("2001:2::", "eprt !2!2001:2:0:0:0::!1!\r\n"), Some(1));
        for bad in [
            "|1|132.235.1.2|6275",
            "|1|132.235.1.3|6275|",
            "|2|132.235.1.2|6275|",
            "|3|132.235.1.2|6275|",
            "|1|132.235.1.2|65536|",
            "|1|132.235.1.2|0|",
            "|1|132.235.1.2||",
            "|1|132.235.1.2|1|x",
            "||132.235.1.2|1|",
            "",
        ] {
            assert_eq!(port::<Eprt>("132.235.1.2", &format!("EPRT {bad}\r\n")), None, "{bad}");
        }
    }
}
