//! Bundles for tests, made by hand: they need no compiler.

use crate::code::*;

/// A bundle that grows.
pub(crate) struct Maker {
    pub(crate) bundle: Bundle,
}

impl Maker {
    pub(crate) fn new() -> Self {
        let pool = |name, first: &str, last: &str| Pool {
            name,
            ranges: vec![Range { first: first.parse().unwrap(), last: last.parse().unwrap() }],
            first_port: 10_000,
            last_port: 60_999,
            choice: Choice::Sequential,
            port_choice: Choice::Sequential,
            macs: None,
            vlans: None,
        };
        let names = ["inside", "outside"].map(str::to_owned).to_vec();
        let pools = vec![pool(0, "198.18.0.0", "198.18.3.255"), pool(1, "198.19.0.0", "198.19.0.15")];
        Self { bundle: Bundle { seed: 7, names, pools, constants: vec![5_000_000_000], ..Bundle::default() } }
    }

    pub(crate) fn name(&mut self, name: &str) -> u32 {
        self.bundle.names.push(name.to_owned());
        self.bundle.names.len() as u32 - 1
    }

    pub(crate) fn text(&mut self, text: &str) -> u32 {
        let offset = self.bundle.data.len() as u32;
        self.bundle.data.extend(text.as_bytes());
        self.bundle.templates.push(Template { offset, len: text.len() as u32 });
        self.bundle.templates.len() as u32 - 1
    }

    pub(crate) fn format(&mut self, pieces: Vec<Piece>) -> u32 {
        self.bundle.formats.push(Format { pieces });
        self.bundle.formats.len() as u32 - 1
    }

    pub(crate) fn dist(&mut self, lo: u64, hi: u64) -> u32 {
        self.bundle.dists.push(Dist { shape: Shape::Uniform, lo, hi });
        self.bundle.dists.len() as u32 - 1
    }

    /// A message from one end to the other: an instruction for each.
    pub(crate) fn message(&mut self, slot: u8, text: &str, from: &mut Vec<Instr>, to: &mut Vec<Instr>) {
        let template = self.text(text);
        from.push(Instr::new(Op::SendT, slot, 0, template));
        to.push(Instr::new(Op::ExpectT, slot, 0, template));
    }

    pub(crate) fn connection(&mut self, transport: Transport, port: ToPort) -> Connection {
        let (client, server) = match port {
            ToPort::Fixed(_) => (Place::Pool(0), Place::Pool(1)),
            ToPort::Register => {
                (Place::Same { slot: 0, end: End::Client }, Place::Same { slot: 0, end: End::Server })
            }
        };
        let name = self.name("connection");
        Connection {
            name,
            transport,
            opener: End::Client,
            client,
            server,
            port,
            window: None,
            half_open: false,
        }
    }

    pub(crate) fn flow(
        &mut self,
        name: &str,
        connections: Vec<Connection>,
        client: Vec<Instr>,
        server: Vec<Instr>,
    ) {
        let name = self.name(name);
        self.bundle.flows.push(Flow {
            name,
            kind: Kind::Story,
            connections,
            parameters: vec![],
            counters: vec![],
            latencies: vec![],
            client: Program { code: client, registers: 6 },
            server: Program { code: server, registers: 6 },
            estimate: Estimate::default(),
        });
    }

    pub(crate) fn done(self) -> Bundle {
        verify(&self.bundle).unwrap();
        self.bundle
    }
}

const NO_PORT: u16 = NONE as u16;

/// FTP with passive data: 30 packets (section 5 of the specification of flows).
pub(crate) fn ftp(size: (u64, u64)) -> Bundle {
    let mut make = Maker::new();
    let (mut c, mut s) = (Vec::new(), Vec::new());
    let (size, place) = (make.dist(size.0, size.1), make.dist(0, 65_535));
    let both = |instr, c: &mut Vec<Instr>, s: &mut Vec<Instr>| {
        c.push(instr);
        s.push(instr);
    };
    both(Instr::new(Op::Rand, 1, 0, size), &mut c, &mut s);
    both(Instr::new(Op::Timeout, 0, 0, 0), &mut c, &mut s);
    c.push(Instr::new(Op::Open, 0, NO_PORT, 0));
    s.push(Instr::new(Op::Accept, 0, 0, 0));
    make.message(0, "220 ready\r\n", &mut s, &mut c);
    for (ask, answer) in [
        ("USER anonymous\r\n", "331 password\r\n"),
        ("PASS guest@example.net\r\n", "230 logged in\r\n"),
        ("TYPE I\r\n", "200 binary\r\n"),
    ] {
        make.message(0, ask, &mut c, &mut s);
        make.message(0, answer, &mut s, &mut c);
    }
    make.message(0, "PASV\r\n", &mut c, &mut s);
    s.push(Instr::new(Op::Ephemeral, 0, 1, 0));
    s.push(Instr::new(Op::Listen, 1, 0, 0));
    let (open, close) = (make.text("227 passive ("), make.text(")\r\n"));
    let (slot, end, reg) = (0, End::Server, 0);
    let says = make.format(vec![Piece::Text(open), Piece::HostPort { slot, end, reg }, Piece::Text(close)]);
    let hears =
        make.format(vec![Piece::Text(open), Piece::TakeHostPort { slot, end, reg }, Piece::Text(close)]);
    s.push(Instr::new(Op::SendV, 0, 0, says));
    c.push(Instr::new(Op::ExpectV, 0, 0, hears));
    c.push(Instr::new(Op::Open, 1, 0, 0));
    s.push(Instr::new(Op::Accept, 1, 0, 0));
    make.message(0, "RETR file.bin\r\n", &mut c, &mut s);
    make.message(0, "150 opening\r\n", &mut s, &mut c);
    both(Instr::new(Op::Rand, 2, 0, place), &mut c, &mut s);
    s.push(Instr::new(Op::SendR, 1, 1, 2));
    c.push(Instr::new(Op::ExpectR, 1, 1, 2));
    s.push(Instr::new(Op::Close, 1, 0, 0));
    c.push(Instr::new(Op::ExpectFin, 1, 0, 0));
    c.push(Instr::new(Op::Close, 1, 0, 0));
    make.message(0, "226 done\r\n", &mut s, &mut c);
    make.message(0, "QUIT\r\n", &mut c, &mut s);
    make.message(0, "221 bye\r\n", &mut s, &mut c);
    c.push(Instr::new(Op::Close, 0, 0, 0));
    s.push(Instr::new(Op::ExpectFin, 0, 0, 0));
    s.push(Instr::new(Op::Close, 0, 0, 0));
    both(Instr::new(Op::End, 0, 0, 0), &mut c, &mut s);
    let connections = vec![
        make.connection(Transport::Tcp, ToPort::Fixed(21)),
        make.connection(Transport::Tcp, ToPort::Register),
    ];
    make.flow("ftp", connections, c, s);
    make.done()
}

/// A request and an answer of `size` random bytes.
pub(crate) fn http(size: (u64, u64)) -> Bundle {
    let mut make = Maker::new();
    let (mut c, mut s) = (Vec::new(), Vec::new());
    let (size, place) = (make.dist(size.0, size.1), make.dist(0, 65_535));
    for code in [&mut c, &mut s] {
        code.push(Instr::new(Op::Rand, 1, 0, size));
        code.push(Instr::new(Op::Rand, 2, 0, place));
        code.push(Instr::new(Op::Timeout, 0, 0, 0));
    }
    c.push(Instr::new(Op::Open, 0, NO_PORT, 0));
    s.push(Instr::new(Op::Accept, 0, 0, 0));
    make.message(0, "GET / HTTP/1.1\r\nHost: example.net\r\n\r\n", &mut c, &mut s);
    let (head, end) = (make.text("HTTP/1.1 200 OK\r\nContent-Length: "), make.text("\r\n\r\n"));
    let format = make.format(vec![Piece::Text(head), Piece::Decimal(1), Piece::Text(end)]);
    s.push(Instr::new(Op::SendV, 0, 0, format));
    c.push(Instr::new(Op::ExpectV, 0, 0, format));
    s.push(Instr::new(Op::SendR, 0, 1, 2));
    c.push(Instr::new(Op::ExpectR, 0, 1, 2));
    c.push(Instr::new(Op::Close, 0, 0, 0));
    s.push(Instr::new(Op::ExpectFin, 0, 0, 0));
    s.push(Instr::new(Op::Close, 0, 0, 0));
    for code in [&mut c, &mut s] {
        code.push(Instr::new(Op::End, 0, 0, 0));
    }
    let connections = vec![make.connection(Transport::Tcp, ToPort::Fixed(80))];
    make.flow("http", connections, c, s);
    make.done()
}

/// A datagram and its answer, asked for again when none comes.
pub(crate) fn lookup() -> Bundle {
    let mut make = Maker::new();
    let word = make.dist(0, 1 << 60);
    let ask = make.text("where is ");
    let tell = make.text("here is ");
    let asks = make.format(vec![Piece::Text(ask), Piece::Letters { reg: 0, count: 8 }]);
    let tells = make.format(vec![Piece::Text(tell), Piece::Letters { reg: 0, count: 8 }]);
    let instr = Instr::new;
    let (rand, end) = (instr(Op::Rand, 0, 0, word), instr(Op::End, 0, 0, 0));
    let client = vec![
        rand,
        instr(Op::Timeout, 0, 0, 0),
        instr(Op::Open, 0, NO_PORT, 0),
        instr(Op::Retry, 0, 3, 0),
        instr(Op::SendV, 0, 0, asks),
        instr(Op::SendEnd, 0, 0, 0),
        instr(Op::ExpectV, 0, 0, tells),
        instr(Op::ExpectEnd, 0, 0, 0),
        end,
    ];
    let server = vec![
        rand,
        instr(Op::Timeout, 0, 0, 0),
        instr(Op::Accept, 0, 0, 0),
        instr(Op::ExpectV, 0, 0, asks),
        instr(Op::ExpectEnd, 0, 0, 0),
        instr(Op::SendV, 0, 0, tells),
        instr(Op::SendEnd, 0, 0, 0),
        end,
    ];
    let connections = vec![make.connection(Transport::Udp, ToPort::Fixed(53))];
    make.flow("lookup", connections, client, server);
    make.done()
}
