//! What a run may choose of TCP.

/// How TCP behaves in a run. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The largest segment for IPv4, without options. IPv6 takes 20 bytes less.
    pub mss: u16,
    /// Bytes that may arrive and wait for the program. More than 65,535 need window scaling, which is offered then; a program that
    /// lags has no more than 64 KiB of them.
    pub window: u32,
    /// The first congestion window in segments (RFC 6928). 0: no congestion control, only the peer's window counts.
    pub initial_window: u16,
    /// The first retransmission timeout (RFC 6298).
    pub initial_rto: u64,
    /// The shortest retransmission timeout.
    pub min_rto: u64,
    /// The longest one.
    pub max_rto: u64,
    /// Attempts to send a segment before the connection fails; 1: no retransmission.
    pub attempts: u8,
    /// How long an acknowledgement may wait for data to go with; 0: it goes once the program has seen the segment. Every second full segment is
    /// acknowledged at once (RFC 9293, section 3.8.6.3).
    pub delayed_ack: u64,
    /// How long the end that closed first remembers the connection; at most an hour.
    pub time_wait: u64,
    /// Whether a segment without a connection gets a reset; if not, silence.
    pub refuse: bool,
    /// Most half-open connections of a shard's servers: a further one takes the place of the oldest one. 0: any number. `None`: half of the ends of
    /// connections that there is room for.
    pub backlog: Option<u32>,
    /// What is added to the time of the run where it numbers a new connection. A run with a clock of the machine begins above the numbers of runs
    /// before it, whose connections may still be open at the other end.
    pub clock: u64,
}

impl Default for Settings {
    /// A local network. Segments of 1460 bytes, windows of 65,535 bytes, 10 segments at first. A timeout of 1 s at first, then 200 ms to 60 s,
    /// and 8 attempts. Acknowledgements don't wait. There is no TIME-WAIT, and a reset where there is no connection.
    fn default() -> Self {
        Self {
            mss: 1460,
            window: 65_535,
            initial_window: 10,
            initial_rto: 1_000_000_000,
            min_rto: 200_000_000,
            max_rto: 60_000_000_000,
            attempts: 8,
            delayed_ack: 0,
            time_wait: 0,
            refuse: true,
            backlog: None,
            clock: 0,
        }
    }
}

impl Settings {
    /// The first congestion window in bytes.
    pub(crate) const fn congestion(&self, mss: u16) -> u32 {
        if self.initial_window == 0 { u32::MAX } else { self.initial_window as u32 * mss as u32 }
    }

    /// The shift that this end's windows need.
    pub(crate) const fn shift(&self) -> u8 {
        let mut shift = 0;
        while shift < 14 && self.window >> shift > 0xffff {
            shift += 1;
        }
        shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_fits_its_field_once_shifted() {
        for (window, shift) in [(1000, 0), (65_535, 0), (65_536, 1), (1 << 20, 5), (u32::MAX, 14)] {
            assert_eq!(Settings { window, ..Settings::default() }.shift(), shift, "{window}");
        }
    }
}
