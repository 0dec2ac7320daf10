use super::*;
use std::hint::black_box;
use std::time::Instant;
#[test]
#[ignore]
fn speed() {
    let mut pair = Pair::plain();
    let payload = data(1460);
    for round in 0..2 { for len in [0, 6, 64, 512, 1460] {
        let way = pair.way(true);
        let mut buf = vec![0u8; 2048];
        let n = 2_000_000;
        let sum = Sum::new().add_bytes(&payload[..len]);
        let t = Instant::now();
        for i in 0..n {
            let out = Outgoing { seq: i, ..segment(len) };
            black_box(pair.client.tcp(black_box(&mut buf), black_box(way), PORTS, black_box(&out), |o| { o.copy_from_slice(&payload[..len]); sum }));
        }
        let build = t.elapsed().as_nanos() as f64 / n as f64;
        let frame = pair.tcp(true, &segment(len), &payload[..len]);
        let t = Instant::now();
        for _ in 0..n { let _ = black_box(pair.server.parse(black_box(&frame))); }
        let parse = t.elapsed().as_nanos() as f64 / n as f64;
        let t = Instant::now();
        for _ in 0..n { black_box(ringway_wire::checksum::of(black_box(&frame[34..]))); }
        let sumt = t.elapsed().as_nanos() as f64 / n as f64;
        let t = Instant::now();
        for _ in 0..n { black_box(&mut buf)[..len].copy_from_slice(&payload[..len]); }
        let copy = t.elapsed().as_nanos() as f64 / n as f64;
        if round == 1 { println!("len {} build {build:.1} ns (copy {copy:.1}) parse {parse:.1} ns (sum of segment {sumt:.1})", frame.len()); }
    } }
}
