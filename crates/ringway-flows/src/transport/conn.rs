//! One end of a connection: what TCP knows of it, in 64 bytes.

/// The states of RFC 9293. A listener has no record: it is a row of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum State {
    /// There is no connection, or no longer.
    #[default]
    Closed,
    /// SYN was sent.
    SynSent,
    /// SYN came, and SYN with ACK was sent.
    SynReceived,
    /// Bytes go both ways.
    Established,
    /// FIN was sent, and is not acknowledged.
    FinWait1,
    /// The own FIN is acknowledged; the peer may go on.
    FinWait2,
    /// The peer's FIN came; this end may go on.
    CloseWait,
    /// Both FINs were sent at the same time; the own one is not acknowledged.
    Closing,
    /// The peer's FIN came first, then the own one was sent.
    LastAck,
    /// Both FINs are acknowledged; late segments are answered.
    TimeWait,
}

impl State {
    /// Whether the peer may still send bytes.
    pub(crate) const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether SYN was exchanged.
    pub(crate) const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::SynSent | Self::SynReceived)
    }
}

/// Marks of a connection.
pub(crate) mod mark {
    /// An acknowledgement is owed. It may go with data.
    pub(crate) const ACK_OWED: u8 = 0x01;
    /// It must go now, with data or without.
    pub(crate) const ACK_NOW: u8 = 0x02;
    /// The program closed: FIN goes after the last byte.
    pub(crate) const FIN_QUEUED: u8 = 0x04;
    /// FIN was sent at least once; `Conn::next` counts it.
    pub(crate) const FIN_SENT: u8 = 0x08;
    /// The timer runs for an acknowledgement that waits.
    pub(crate) const DELAYING: u8 = 0x10;
    /// The peer's window is shut: the timer probes it.
    pub(crate) const PROBING: u8 = 0x20;
    /// Sending was cut short because no slot was free.
    pub(crate) const BLOCKED: u8 = 0x40;
    /// A fast recovery goes on (RFC 6582).
    pub(crate) const RECOVERY: u8 = 0x80;
}

/// One end of a connection. What it needs only while bytes are on their way is in its [`Queue`](super::queue::Queue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Conn {
    /// The oldest number that is not acknowledged (SND.UNA).
    pub(crate) una: u32,
    /// The next number to send (SND.NXT). It goes back after a timeout.
    pub(crate) next: u32,
    /// The next number that is expected (RCV.NXT).
    pub(crate) expected: u32,
    /// What the peer takes from `una` on, as it stood in the header.
    pub(crate) window: u16,
    /// The smoothed round-trip time in units of 1/16 ms; 0 before the first measurement. Saturates at 4 s.
    pub(crate) rtt: u16,
    /// Its variation, in the same unit.
    pub(crate) variation: u16,
    /// The largest segment that both ends take.
    pub(crate) mss: u16,
    /// State.
    pub(crate) state: State,
    /// See [`mark`].
    pub(crate) marks: u8,
    /// How often the oldest segment was sent without an answer.
    pub(crate) tries: u8,
    /// Acknowledgements that repeat the last one; with [`mark::PROBING`], probes without an answer.
    pub(crate) repeats: u8,
    /// The shift of the peer's windows.
    pub(crate) their_shift: u8,
    /// The shift of this end's windows.
    pub(crate) our_shift: u8,
}

impl Conn {
    /// Whether a mark is set.
    #[inline]
    pub(crate) const fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Sets a mark.
    #[inline]
    pub(crate) const fn set(&mut self, mark: u8) {
        self.marks |= mark;
    }

    /// Takes a mark away; tells whether it was there.
    #[inline]
    pub(crate) const fn take(&mut self, mark: u8) -> bool {
        let was = self.is(mark);
        self.marks &= !mark;
        was
    }

    /// TIME-WAIT begins, or begins again when the peer's FIN does. The round-trip times make place for the time, in microseconds.
    pub(crate) const fn linger(&mut self, us: u32) {
        self.state = State::TimeWait;
        (self.rtt, self.variation) = ((us >> 16) as u16, us as u16);
    }

    /// How long TIME-WAIT has lasted, in microseconds that wrap around.
    pub(crate) const fn lingered(&self, us: u32) -> u32 {
        us.wrapping_sub((self.rtt as u32) << 16 | self.variation as u32)
    }

    /// Bytes that the peer takes from `una` on (SND.WND).
    #[inline]
    pub(crate) const fn peer_window(&self) -> u32 {
        (self.window as u32) << self.their_shift
    }
}

const _: () = assert!(size_of::<Conn>() <= 28);
