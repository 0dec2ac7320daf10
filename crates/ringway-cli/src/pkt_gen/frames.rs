//! From options to the frames that each thread sends.

use std::net::{IpAddr, Ipv6Addr};

use ringway::Port;
use ringway_traffic::range::{DEFAULT_PORT, EndpointRange, Order};
use ringway_traffic::template::{FrameSpec, Template};

use super::args::Args;
use crate::errors;
use crate::failure::Failure;

/// The frames of the `thread`th thread, with stream number `stream`.
pub(super) fn spec(args: &Args, thread: u64, stream: u16) -> FrameSpec {
    let ipv6 = [args.src, args.dst].iter().flatten().any(EndpointRange::is_ipv6);
    let default = FrameSpec::default();
    let (src, dst) = if ipv6 { (documentation(0), documentation(1)) } else { (default.src, default.dst) };
    // Each end of each thread draws from a seed of its own.
    let order = |random, end| {
        let seed = args.seed.wrapping_add((2 * thread + end) << 32);
        if random { Order::Random { seed } } else { Order::Nested }
    };
    let any = |random, fixed| if random && !ipv6 { EndpointRange::ANY_V4 } else { fixed };
    let mut spec = FrameSpec {
        src_mac: args.src_mac,
        dst_mac: args.dst_mac,
        vlan: args.vlan,
        src: args.src.unwrap_or_else(|| any(args.random_src, src)),
        dst: args.dst.unwrap_or_else(|| any(args.random_dst, dst)),
        src_order: order(args.random_src, 0),
        dst_order: order(args.random_dst, 1),
        stream,
        ..default
    };
    spec.length = args.length.unwrap_or_else(|| spec.minimum_tagged_length().max(60));
    spec
}

/// The template of `spec`, if `port` can carry its frames.
pub(super) fn template(spec: &FrameSpec, port: &Port) -> Result<Template, Failure> {
    let template = Template::new(spec)
        .map_err(|e| Failure::Usage(errors::command::BAD_VALUE, format!("-l, -s and -d: {e}")))?;
    let (len, max) = (template.len(), port.info().max_frame);
    if len > max as usize {
        let what = format!("{}: frames of {len} bytes, but the port carries {max}", port.info().name);
        return Err(Failure::Usage(
            errors::ports::TOO_LONG,
            format!("{what}; choose a smaller -l or raise the MTU"),
        ));
    }
    Ok(template)
}

/// What the frames are, for people: with `verbose` also where they go.
pub(super) fn describe(spec: &FrameSpec, verbose: bool) -> String {
    let untagged = if spec.length < spec.minimum_tagged_length() { " without tags" } else { "" };
    let way = if verbose { format!(", {} -> {}", spec.src, spec.dst) } else { String::new() };
    format!("frames of {} bytes{untagged}{way}", spec.length)
}

/// An address for documentation (RFC 3849) in network `net`.
fn documentation(net: u16) -> EndpointRange {
    let address = Ipv6Addr::new(0x2001, 0xdb8, net, 0, 0, 0, 0, 1);
    EndpointRange::single(IpAddr::V6(address), DEFAULT_PORT)
}
