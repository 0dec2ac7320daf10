//! `pool`: free buffers that threads get and put back, by Ringway's pool and by DPDK's.

use ringway_engine::queue::Pool;

use super::dpdk;
use super::queue::BURSTS;
use super::threads::{Worker, rate, spread};
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Buffers of each pool: DPDK's like one less than a power of two best.
const BUFFERS: u32 = 8191;

/// Buffers in the cache of a thread of DPDK's; Ringway's has 128.
const CACHE: u32 = 256;

const NOTE: &str = "8191 buffers; each thread gets a burst and puts it back, and a buffer that is back counts; threads on two CPUs. A thread \
                    that gets none looks 64 times again and then yields. A cache has 256 buffers in DPDK, 128 in Ringway";

const THREADS: [(usize, &str); 3] = [(1, "1 thread"), (2, "2 threads"), (4, "4 threads, 2 a core")];

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    THREADS.iter().flat_map(|&(threads, name)| BURSTS.map(|burst| case(bed, threads, name, burst))).collect()
}

fn case<'a>(bed: Bed<'a>, threads: usize, name: &'static str, burst: u32) -> Case<'a> {
    Case::new("pool", Unit::Mtokens)
        .variant(name)
        .frame(0)
        .burst(burst)
        .cores(threads.min(2) as u32)
        .note(NOTE)
        .system("dpdk-rte_mempool", move || dpdk::pool(bed, threads, burst, CACHE))
        .system("dpdk-rte_mempool-uncached", move || dpdk::pool(bed, threads, burst, 0))
        .system("ringway-engine", move || ringway(bed, &Pool::cached(0..BUFFERS, threads)?, threads, burst))
        .system("ringway-engine-uncached", move || {
            ringway(bed, &Pool::uncached(0..BUFFERS, threads)?, threads, burst)
        })
}

fn ringway(bed: Bed<'_>, pool: &Pool<u32>, threads: usize, burst: u32) -> Result<Sample, Fault> {
    rate(bed, &spread(threads), 0..threads, |worker| get_and_put(worker, pool, burst as usize))
}

fn get_and_put(worker: &Worker<'_>, pool: &Pool<u32>, burst: usize) -> Result<(), Fault> {
    let mut cache = pool.cache()?;
    let mut buffers = Vec::with_capacity(burst);
    worker.repeat(|| {
        buffers.extend((0..burst).map_while(|_| cache.take()));
        let done = buffers.len();
        match buffers.drain(..).any(|buffer| cache.give(buffer).is_err()) {
            true => Err(Fault::Failed("the pool did not take a buffer back".into())),
            false => Ok(done),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::engine::threads::tests::counted;

    #[test]
    fn no_buffer_is_lost() {
        for pool in [Pool::cached(0..500, 3), Pool::uncached(0..500, 3)] {
            let pool = pool.unwrap();
            assert!(counted(|bed| ringway(bed, &pool, 3, 200)) > 0.0);
            assert_eq!(pool.available(), 500);
        }
    }
}
