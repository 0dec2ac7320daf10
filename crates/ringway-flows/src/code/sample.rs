//! A bundle for tests: a story with a second connection, a loop, branches and values that are taken.

use super::*;

/// The bundle. The verifier accepts it.
pub(crate) fn bundle() -> Bundle {
    let pool = |name, first: &str, last: &str| Pool {
        name,
        ranges: vec![Range { first: first.parse().unwrap(), last: last.parse().unwrap() }],
        first_port: 1024,
        last_port: 65_535,
        choice: Choice::Sequential,
        port_choice: Choice::Random,
        macs: None,
        vlans: None,
    };
    let data = b"227 passive ()\r\nhello".to_vec();
    let mut bundle = Bundle {
        seed: 7,
        names: ["inside", "outside", "story", "ctl", "data", "check", "part", "dns"]
            .map(str::to_owned)
            .to_vec(),
        pools: vec![pool(0, "198.18.0.0", "198.18.0.255"), pool(1, "198.19.0.0", "198.19.0.255")],
        data,
        templates: vec![
            Template { offset: 0, len: 13 },
            Template { offset: 13, len: 3 },
            Template { offset: 16, len: 5 },
        ],
        formats: vec![
            Format {
                pieces: vec![
                    Piece::Text(0),
                    Piece::HostPort { slot: 0, end: End::Server, reg: 0 },
                    Piece::Text(1),
                ],
            },
            Format {
                pieces: vec![
                    Piece::Text(0),
                    Piece::TakeHostPort { slot: 0, end: End::Server, reg: 0 },
                    Piece::Text(1),
                ],
            },
        ],
        constants: vec![5_000_000_000],
        dists: vec![Dist { shape: Shape::Uniform, lo: 1, hi: 4 }],
        parsers: vec![Parser::Line { prefix: 2 }, Parser::DnsQuery { kind: 1 }],
        ..Bundle::default()
    };
    bundle.flows.push(flow());
    bundle.mixes.push(Mix { name: 2, shares: vec![Share { flow: 0, weight: 1 }] });
    let phase = Phase { from: 0, to: 1_000, length: 1_000_000_000, steady: true };
    let load =
        Load { what: What::Mix(0), unit: Unit::Flows, start: 0, phases: vec![phase], spacing: Spacing::Even };
    bundle.plan.loads.push(load);
    bundle.expectations.push(Expectation {
        measure: Measure::Complete(None),
        compare: Compare::AtLeast,
        value: 999_900,
    });
    bundle
}

/// The story of the bundle.
fn flow() -> Flow {
    let connection = |name, transport, client, server, port| Connection {
        name,
        transport,
        opener: End::Client,
        client,
        server,
        port,
        window: None,
        half_open: false,
    };
    let same = |end| Place::Same { slot: 0, end };
    let (tcp, udp) = (Transport::Tcp, Transport::Udp);
    Flow {
        name: 2,
        kind: Kind::Story,
        connections: vec![
            connection(3, tcp, Place::Pool(0), Place::Pool(1), ToPort::Fixed(21)),
            connection(4, tcp, same(End::Client), same(End::Server), ToPort::Register),
            connection(7, udp, same(End::Client), same(End::Server), ToPort::Fixed(53)),
        ],
        parameters: vec![],
        counters: vec![6],
        latencies: vec![6],
        client: Program { code: client(), registers: 4 },
        server: Program { code: server(), registers: 4 },
        estimate: Estimate::default(),
    }
}

/// What the client runs.
fn client() -> Vec<Instr> {
    let none = u16::from(NONE);
    vec![
        Instr::new(Op::Timeout, 0, 0, 0),
        Instr::new(Op::Open, 0, none, 0),
        Instr::new(Op::Lat, 0, 0, 0),
        Instr::new(Op::ExpectV, 0, 0, 1),
        Instr::new(Op::Lat, 1, 0, 0),
        Instr::new(Op::Open, 1, 0, 0),
        Instr::new(Op::Rand, 1, 0, 0),
        Instr::new(Op::Ldi, 2, 0, 1),
        Instr::new(Op::ExpectT, 0, 0, 2), // L8: as often as the draw says
        Instr::two(Op::Sub, 1, 1, 2),
        Instr::new(Op::Jnz, 1, 0, 8),
        Instr::new(Op::Spawn, 0, 0, 21),
        Instr::new(Op::Spawn, 1, 0, 24),
        Instr::new(Op::Join, 0, 0, 0),
        Instr::new(Op::ExpectFin, 1, 0, 0),
        Instr::new(Op::Close, 1, 0, 0),
        Instr::new(Op::Half, 0, 0, 0),
        Instr::new(Op::ExpectFin, 0, 0, 0),
        Instr::new(Op::Count, NONE, 0, 0),
        Instr::new(Op::Check, 2, 0, 5),
        Instr::new(Op::End, 0, 0, 0),
        Instr::new(Op::Rand, 3, 0, 0), // first branch
        Instr::new(Op::SendR, 1, 3, 2),
        Instr::new(Op::End, 0, 0, 0),
        Instr::new(Op::SendT, 0, 0, 2), // second branch
        Instr::new(Op::End, 0, 0, 0),
    ]
}

/// What the server runs.
fn server() -> Vec<Instr> {
    vec![
        Instr::new(Op::Timeout, 0, 0, 0),
        Instr::new(Op::Accept, 0, 0, 0),
        Instr::new(Op::Ephemeral, 0, 1, 0),
        Instr::new(Op::Listen, 1, 0, 0),
        Instr::new(Op::SendV, 0, 0, 0),
        Instr::new(Op::Accept, 1, 0, 0),
        Instr::new(Op::Rand, 1, 0, 0),
        Instr::new(Op::Ldi, 2, 0, 1),
        Instr::new(Op::SendT, 0, 0, 2), // L8
        Instr::two(Op::Sub, 1, 1, 2),
        Instr::new(Op::Jnz, 1, 0, 8),
        Instr::new(Op::Spawn, 0, 0, 18),
        Instr::new(Op::Spawn, 1, 0, 21),
        Instr::new(Op::Join, 0, 0, 0),
        Instr::new(Op::Close, 1, 0, 0),
        Instr::new(Op::ExpectFin, 0, 0, 0),
        Instr::new(Op::Close, 0, 0, 0),
        Instr::new(Op::End, 0, 0, 0),
        Instr::new(Op::Rand, 3, 0, 0), // first branch
        Instr::new(Op::ExpectR, 1, 3, 2),
        Instr::new(Op::End, 0, 0, 0),
        Instr::new(Op::ExpectP, 0, 0, 0), // second branch
        Instr::new(Op::End, 0, 0, 0),
    ]
}
