//! What a decoder has to see in the packets of each attack.

/// A filter for each attack. It holds for every packet that the attacker sends, but for ARP.
pub(crate) const ALL: [(&str, &str); 29] = [
    (
        "syn_flood",
        "tcp.flags == 0x002 && tcp.dstport == 80 && tcp.options.mss_val == 1460 && ip.id == 0xa77c",
    ),
    ("ack_flood", "tcp.flags == 0x010 && tcp.dstport == 80 && tcp.ack_raw != 0 && ip.id == 0xa77c"),
    ("rst_flood", "tcp.flags == 0x004 && tcp.dstport == 80 && ip.id == 0xa77c"),
    ("udp_flood", "udp.length == 72 && ip.id == 0xa77c"),
    ("icmp_flood", "icmp.type == 8 && ip.len == 84 && ip.id == 0xa77c"),
    // The answer of the server is never acknowledged.
    ("half_open", "tcp.flags == 0x002 && tcp.dstport == 80"),
    (
        "slow_headers",
        "tcp.flags == 0x002 || tcp.flags.reset == 1 || tcp.len == 25 || tcp.len == 9 || tcp.len == 0",
    ),
    (
        "slow_body",
        "tcp.flags == 0x002 || tcp.flags.reset == 1 || tcp.len == 50 || tcp.len == 1 || tcp.len == 0",
    ),
    ("slow_read", "tcp.window_size_value <= 64"),
    ("scan_connect", "tcp.flags == 0x002 && tcp.dstport <= 1024"),
    ("scan_syn", "tcp.flags == 0x002 && tcp.dstport <= 1024 && ip.id == 0xa77c"),
    ("scan_fin", "tcp.flags == 0x001 && tcp.dstport <= 5 && ip.id == 0xa77c"),
    ("scan_null", "tcp.flags == 0x000 && tcp.dstport <= 5 && ip.id == 0xa77c"),
    ("scan_xmas", "tcp.flags == 0x029 && tcp.dstport <= 5 && ip.id == 0xa77c"),
    ("bad_checksum", "tcp.checksum.status == 0 && ip.checksum.status == 1 && ip.id == 0xa77c"),
    ("bad_ip_checksum", "ip.checksum.status == 0 && udp.dstport == 53 && ip.id == 0xa77c"),
    ("wrong_length", "ip.len == 1400 && udp.length == 3 && ip.id == 0xa77c"),
    ("wrong_header", "tcp.hdr_len == 8 && ip.id == 0xa77c"),
    (
        "bad_options",
        "tcp.flags == 0x002 && tcp.hdr_len == 28 && tcp.options contains 02:ff:05:b4 && ip.id == 0xa77c",
    ),
    ("reserved_bits", "tcp.flags == 0xfff && ip.id == 0xa77c"),
    ("land", "ip.src == ip.dst && tcp.srcport == tcp.dstport && ip.dst == 198.19.0.1 && ip.id == 0xa77c"),
    ("truncated", "ip.len == 40 && ip.proto == 6 && tcp.hdr_len == 0 && ip.id == 0xa77c"),
    (
        "overlapping_fragments",
        "ip.proto == 17 && ip.id == 0xa77c && ((ip.flags.mf == 1 && ip.frag_offset == 0 && ip.len == 84) || (ip.flags.mf == 0 && ip.frag_offset > 0 && ip.len == 84))",
    ),
    (
        "tiny_fragments",
        "ip.proto == 6 && ip.len == 28 && ip.id == 0xa77c && (ip.flags.mf == 1 || ip.frag_offset > 0)",
    ),
    ("malformed_dns", "dns.flags == 0x0100 && dns.qry.name contains \"loops\" && ip.id == 0xa77c"),
    (
        "malformed_http",
        "tcp.flags == 0x002 || tcp.flags.reset == 1 || tcp.flags == 0x010 || tcp.flags == 0x018",
    ),
    ("churn", "tcp.flags == 0x002 || tcp.flags.reset == 1"),
    ("idle", "tcp.flags == 0x002 || (tcp.flags == 0x010 && tcp.len == 0)"),
    ("dns_flood", "dns.qry.type == 1 && dns.qry.name matches \"^[a-z]{10}\\\\.example$\" && ip.id == 0xa77c"),
];
