//! What serves a port's rings. A backend is called once per sync, never per frame.

pub(crate) mod ebpf;
pub(crate) mod link;
mod link_claims;
pub(crate) mod middle;
pub(crate) mod null;
pub(crate) mod packet;
pub(crate) mod pcap;
pub(crate) mod pipe;
pub(crate) mod vale;
mod vale_out;
pub(crate) mod xdp;
