//! `queue`: tokens from threads to threads, by Ringway's queue and by others.

use std::hint::black_box;

use crossbeam_queue::ArrayQueue;
use ringway_engine::queue::{MOST_TOKENS, Queue, Size};

use super::dpdk::{self, Mode};
use super::threads::{Worker, pairs, rate};
use crate::suite::io::hand_over;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Tokens that each queue has room for.
const ROOM: usize = 4096;

pub(super) const BURSTS: [u32; 4] = [1, 16, 32, 256];

const NOTE: &str = "tokens of 8 bytes, room for 4096; as many threads take as give, half of either on each of two CPUs. A thread that finds a \
                    queue full or empty looks 64 times again and then yields. ringway-engine hands each burst over at once; \
                    -collect leaves tokens in the thread's block until it has 64. ringway: a pair of rings, buffers without a look at them";

/// Threads that give and threads that take, and how they are named.
const PAIRS: [(usize, &str); 3] =
    [(1, "1:1, 1 thread a core"), (2, "2:2, 2 threads a core"), (4, "4:4, 4 threads a core")];

/// When tokens leave the thread that gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leave {
    AtOnce,
    WhenFull,
}

pub(super) fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    PAIRS.iter().flat_map(|&(of, name)| BURSTS.map(|burst| case(bed, of, name, burst))).collect()
}

fn case<'a>(bed: Bed<'a>, of: usize, name: &'static str, burst: u32) -> Case<'a> {
    let case = Case::new("queue", Unit::Mtokens)
        .variant(name)
        .frame(0)
        .burst(burst)
        .cores(2)
        .note(NOTE)
        .system("dpdk-rte_ring", move || dpdk::ring(bed, of, burst, Mode::Usual))
        .system("dpdk-rte_ring-rts", move || dpdk::ring(bed, of, burst, Mode::RelaxedTail))
        .system("crossbeam-array-queue", move || crossbeam(bed, of, burst as usize))
        .system("ringway-engine", move || ringway(bed, of, burst as usize, Leave::AtOnce))
        .system("ringway-engine-collect", move || ringway(bed, of, burst as usize, Leave::WhenFull));
    // A ring has one thread at each end.
    if of == 1 { case.system("ringway", move || hand_over(bed, burst)) } else { case }
}

fn ringway(bed: Bed<'_>, of: usize, burst: usize, leave: Leave) -> Result<Sample, Fault> {
    let block = if leave == Leave::AtOnce { burst.min(MOST_TOKENS) } else { MOST_TOKENS };
    let queue: Queue<u64> = Queue::new(Size { block, ..Size::of(ROOM) })?;
    rate(bed, &pairs(of), of..2 * of, |worker| {
        if worker.at < of { give(worker, &queue, burst, leave) } else { take(worker, &queue, burst) }
    })
}

fn give(worker: &Worker<'_>, queue: &Queue<u64>, burst: usize, leave: Leave) -> Result<(), Fault> {
    let mut producer = queue.producer()?;
    let mut tokens = 0..;
    worker.repeat(|| {
        let given = producer.push_burst(&mut tokens.by_ref().take(burst));
        let left = leave == Leave::WhenFull || producer.flush();
        Ok(if left { given } else { 0 })
    })
}

fn take(worker: &Worker<'_>, queue: &Queue<u64>, burst: usize) -> Result<(), Fault> {
    let mut consumer = queue.consumer()?;
    let mut tokens = Vec::with_capacity(burst);
    worker.repeat(|| {
        tokens.clear();
        consumer.pop_burst(&mut tokens, burst);
        Ok(look_at(&tokens))
    })
}

/// Any use of tokens reads them. Returns how many they are.
fn look_at(tokens: &[u64]) -> usize {
    black_box(tokens.iter().fold(0, |sum: u64, token| sum.wrapping_add(*token)));
    tokens.len()
}

fn crossbeam(bed: Bed<'_>, of: usize, burst: usize) -> Result<Sample, Fault> {
    let queue = ArrayQueue::new(ROOM);
    rate(bed, &pairs(of), of..2 * of, |worker| {
        if worker.at < of {
            let mut next = 0_u64;
            worker.repeat(|| {
                let first = next;
                while next < first + burst as u64 && queue.push(next).is_ok() {
                    next += 1;
                }
                Ok((next - first) as usize)
            })
        } else {
            let mut tokens = Vec::with_capacity(burst);
            worker.repeat(|| {
                tokens.clear();
                tokens.extend((0..burst).map_while(|_| queue.pop()));
                Ok(look_at(&tokens))
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::engine::threads::tests::counted;

    #[test]
    fn tokens_pass_through_each_queue() {
        for burst in [1, 32, 256] {
            for leave in [Leave::AtOnce, Leave::WhenFull] {
                assert!(counted(|bed| ringway(bed, 2, burst, leave)) > 0.0);
            }
            assert!(counted(|bed| crossbeam(bed, 2, burst)) > 0.0);
        }
    }
}
