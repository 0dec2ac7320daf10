//! A message for each kind of expectation.

use super::world::{Case, Table, World};
use crate::code::{End, Instr, Method, Op, Parser, Piece};

/// Cases with their messages, and whether only the end of a datagram or connection ends each.
pub(super) fn corpus() -> (World, Vec<(Case, Vec<u8>, bool)>) {
    let mut world = World::default();
    let mut list = contents(&mut world);
    list.push(format(&mut world));
    for (parser, bytes, last) in texts(&mut world).into_iter().chain(binary(&mut world)) {
        let mut case = Case::new(world.parser(parser));
        if matches!(parser, Parser::FtpPort | Parser::FtpEprt) {
            case.end = End::Server;
        }
        list.push((case, bytes, last));
    }
    (world, list)
}

fn contents(world: &mut World) -> Vec<(Case, Vec<u8>, bool)> {
    let template = world.template(b"220 ready\r\n");
    let random: Vec<u8> = (22..33).map(Table::byte).collect();
    let repeated = b"220 ready\r\n".iter().cycle().take(33).copied().collect();
    [
        (Instr::new(Op::ExpectT, 0, 0, template), b"220 ready\r\n".to_vec()),
        (Instr::new(Op::ExpectR, 0, 0, 1), random),
        (Instr::new(Op::ExpectW, 0, 2, template), repeated),
        (Instr::new(Op::ExpectN, 0, 1, 0), b"0123456789012345678901".to_vec()),
    ]
    .into_iter()
    .map(|(instr, bytes)| (Case::new(instr), bytes, false))
    .collect()
}

fn format(world: &mut World) -> (Case, Vec<u8>, bool) {
    let text = world.template(b"; ");
    let pieces = [
        Piece::TakeDecimal(3),
        Piece::Text(text),
        Piece::Decimal(0),
        Piece::Hex { reg: 1, digits: 4 },
        Piece::Letters { reg: 1, count: 3 },
        Piece::Address { slot: 1, end: End::Server },
        Piece::AddressBytes { slot: 0, end: End::Client },
        Piece::HostPort { slot: 0, end: End::Client, reg: 1 },
        Piece::Text(text),
        Piece::TakeHostPort { slot: 0, end: End::Server, reg: 2 },
        Piece::Text(text),
        Piece::TakeHex { reg: 0, digits: 8 },
        Piece::TakeBytes { reg: 1, count: 8 },
        Piece::Decimal(3),
    ];
    let bytes = b"4711; 110016raa2001:2:0:1:abcd::9000\xc6\x12\0\x01198,18,0,1,0,22; 198,19,100,7,10,20; 00c0ffeeABCDEFGH4711";
    (Case::new(Instr::new(Op::ExpectV, 0, 0, world.format(&pieces))), bytes.to_vec(), false)
}

fn texts(world: &mut World) -> Vec<(Parser, Vec<u8>, bool)> {
    let (prefix, invite) = (world.template(b"+OK"), world.template(b"INVITE"));
    let response = Parser::HttpResponse { status: 200, head: false };
    [
        (Parser::Line { prefix }, "+OK ready\r\n", false),
        (Parser::Number, "120 messages\r\n", false),
        (Parser::Dots, "Subject: x\r\n\r\n..stuffed\r\n.\r\n", false),
        (Parser::Reply { code: 230 }, "230-Welcome\r\n 230 x\r\n2300\r\n230 done\r\n", false),
        (Parser::FtpPassive { code: 227 }, "227 1,2 (198,19,100,7,200,10).\r\n", false),
        (Parser::FtpExtended { code: 229 }, "229 Entering (|||6446|)\r\n", false),
        (Parser::FtpPort, "PORT 198,18,0,1,200,10\r\n", false),
        (Parser::FtpEprt, "EPRT |1|198.18.0.1|6275|\r\n", false),
        (Parser::HttpRequest { method: Method::Post },
            "POST /p/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nX-Y: z\r\n\r\nhello, world", false),
        (response,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0b\r\n01234567890\r\n0\r\nA: b\r\n\r\n", false),
        (response, "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nall of it", true),
        (Parser::SipRequest { method: invite },
            "INVITE sip:b@c SIP/2.0\r\nVia: x\r\n y\r\nc: application/sdp\r\nl: 37\r\n\r\nv=0\r\nm=audio 49170 RTP/AVP 0\r\na=x:y\r\n", false),
        (Parser::SipResponse { status: 200 },
            "SIP/2.0 200 OK\r\nContent-Type: application/sdp\r\n\r\nm=audio 8000 RTP/AVP 0\r\n", true),
    ]
    .into_iter()
    .map(|(parser, text, last)| (parser, text.as_bytes().to_vec(), last))
    .collect()
}

fn binary(world: &mut World) -> Vec<(Parser, Vec<u8>, bool)> {
    let name = world.template(b"\x04");
    let rest = world.template(b"\x07example\0\0\x01\0\x01");
    let question = world.format(&[Piece::Text(name), Piece::Letters { reg: 1, count: 4 }, Piece::Text(rest)]);
    let asked = b"\x04raaa\x07example\0\0\x01\0\x01";
    let query = [&b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01"[..], asked, b"\0\0\x29\x04\xd0\0\0\0\0\0\0"].concat();
    let answer = b"\xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\xc6\x13\0\x09";
    let reply = [&b"\0\x0b\x81\x80\0\x01\0\x02\0\0\0\0"[..], asked, answer, answer].concat();
    let ntp = [&[0x23][..], &[7; 47]].concat();
    vec![
        (Parser::DnsQuery { kind: 1 }, query, false),
        (Parser::DnsReply { id: 0, question, rcode: 0, truncated: false }, reply, false),
        (Parser::Tftp { opcode: 1 }, b"\0\x01boot.img\0octet\0blksize\x001428\0".to_vec(), true),
        (Parser::Tftp { opcode: 3 }, b"\0\x03\0\x09all of it".to_vec(), true),
        (Parser::Tftp { opcode: 4 }, b"\0\x04\0\x09".to_vec(), false),
        (Parser::Tftp { opcode: 5 }, b"\0\x05\0\x01File not found\0".to_vec(), false),
        (Parser::Ntp { mode: 3 }, ntp, false),
    ]
}
