//! The rings of a worker, for the side of the clients and for that of the servers.

use ringway::{Error, RxRing, TxBurst, TxRing};

use crate::code::End;
use crate::shard::Wire;

/// The rings of one side.
#[derive(Debug)]
pub(super) struct Rings {
    /// Where frames come from.
    pub(super) rx: Vec<RxRing>,
    /// Where frames go to.
    pub(super) tx: TxRing,
}

impl Rings {
    /// Exchanges all of them with the port.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        self.rx.iter_mut().try_for_each(|rx| rx.sync().map(drop))?;
        self.tx.sync().map(drop)
    }

    /// Sends what was written.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.tx.pending() > 0 { self.tx.sync().map(drop) } else { Ok(()) }
    }
}

/// The rings to receive from, and the free slots to send with.
pub(super) fn split(sides: &mut [Option<Rings>; 2]) -> ([&mut [RxRing]; 2], Bursts<'_>) {
    let halves = sides.each_mut().map(|rings| {
        let Some(Rings { rx, tx }) = rings else { return (&mut [][..], None) };
        let slots = tx.slots();
        (&mut rx[..], Some((tx.burst(), slots)))
    });
    let [(client, client_free), (server, server_free)] = halves;
    ([client, server], Bursts { free: [client_free, server_free] })
}

/// The free slots of each side's ring. What is sent leaves when it is dropped and the ring is synced.
pub(super) struct Bursts<'a> {
    /// By side, with the number of all slots.
    free: [Option<(TxBurst<'a>, u32)>; 2],
}

impl Bursts<'_> {
    /// Whether less than half of the slots of a ring are free.
    pub(super) fn is_short(&self, side: End) -> bool {
        self.free[side as usize].as_ref().is_some_and(|(burst, slots)| burst.free() < slots / 2)
    }
}

impl Wire for Bursts<'_> {
    fn room(&mut self, side: End) -> usize {
        self.free[side as usize].as_ref().map_or(0, |(burst, _)| burst.free() as usize)
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        // A slot that its peer broke is passed on empty: the frame is lost, and the ring counts it.
        let free = self.free[side as usize].as_mut();
        let Some(mut slot) = free.and_then(|(burst, _)| burst.next_slot()) else { return };
        let len = write(slot.buf());
        if len > 0 {
            slot.send(len);
        }
    }
}
