//! Queues and pools from outside: against a slow model, with threads that die, and with many tokens.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use proptest::prelude::*;
use ringway_engine::queue::{Consumer, Pool, Producer, Queue, Size};

/// What a thread does with its handles; some die in the middle of it.
#[derive(Debug, Clone)]
enum Step {
    Push(usize),
    Flush,
    Pop(usize),
    /// The producer is dropped with what it holds, by a panic or not, and another one comes.
    Producer {
        panic: bool,
    },
    Consumer {
        panic: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1..150_usize).prop_map(Step::Push),
        Just(Step::Flush),
        (1..150_usize).prop_map(Step::Pop),
        any::<bool>().prop_map(|panic| Step::Producer { panic }),
        any::<bool>().prop_map(|panic| Step::Consumer { panic }),
    ];
    proptest::collection::vec(step, 1..30)
}

/// Drops a handle as the unwinding of a panic does, or plainly.
fn lose<H>(handle: H, panic: bool) {
    if panic {
        let died = catch_unwind(AssertUnwindSafe(|| {
            let _handle = handle;
            std::panic::resume_unwind(Box::new("the thread dies"));
        }));
        assert!(died.is_err());
    } else {
        drop(handle);
    }
}

/// One thread's steps at a queue, and the same at a model: a deque of what is in the queue or in a hand.
fn compare(steps: &[Step], size: Size) {
    let queue: Queue<u64> = Queue::new(size).unwrap();
    let (mut producer, mut consumer): (Producer<u64>, Consumer<u64>) =
        (queue.producer().unwrap(), queue.consumer().unwrap());
    let mut model = VecDeque::new();
    let mut next = 0;
    let mut in_order = true;
    let mut out = Vec::new();
    for step in steps {
        match *step {
            Step::Push(count) => {
                let pushed = producer.push_burst(&mut (next..next + count as u64));
                assert!(
                    pushed == count || queue.blocks() >= queue.capacity() / size.block,
                    "refused with room"
                );
                model.extend(next..next + pushed as u64);
                next += pushed as u64;
            }
            Step::Flush => _ = producer.flush(),
            Step::Pop(max) => {
                out.clear();
                let popped = consumer.pop_burst(&mut out, max);
                assert_eq!(popped, out.len());
                for token in &out {
                    let at = model.iter().position(|t| t == token).expect("popped twice, or never pushed");
                    assert!(at == 0 || !in_order, "{token} came before {:?}", model.front());
                    model.remove(at);
                }
                assert!(popped == max || model.len() <= producer.held(), "empty with tokens");
            }
            Step::Producer { panic } => {
                in_order &= producer.flush(); // what goes to the side comes before the rest
                lose(producer, panic);
                producer = queue.producer().unwrap();
            }
            Step::Consumer { panic } => {
                in_order &= consumer.held() == 0; // it comes back behind the others
                lose(consumer, panic);
                consumer = queue.consumer().unwrap();
            }
        }
    }
    drop(producer);
    while let Some(token) = consumer.pop() {
        let at = model.iter().position(|&t| t == token).expect("popped twice, or never pushed");
        model.remove(at);
    }
    assert!(model.is_empty(), "lost: {model:?}");
    drop(consumer);
    assert_eq!((queue.blocks(), queue.store().spare()), (0, size.owners));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_queue_is_a_deque(steps in steps(), block in 1..=64_usize, blocks in 40..64_usize) {
        compare(&steps, Size { tokens: block * blocks, block, owners: 3 });
    }

    /// Threads push and pop at once, and die in the middle. Each token comes out once, or is in the locked model of what is left.
    #[test]
    fn threads_that_die_lose_nothing(plans in proptest::collection::vec(steps(), 2..5), block in 1..=64_usize) {
        // Room for all that is pushed, in blocks that are not full as well.
        let blocks = |step: &Step| if let Step::Push(count) = step { count.div_ceil(block) + 1 } else { 1 };
        let most = plans.iter().flatten().map(blocks).sum::<usize>().max(1024);
        let queue: Queue<u64> = Queue::new(Size { block, ..Size::of(block * most) }).unwrap();
        let model = Mutex::new(VecDeque::new());
        let next = AtomicU64::new(0);
        thread::scope(|scope| {
            for plan in &plans {
                scope.spawn(|| work(plan, &queue, &model, &next));
            }
        });
        let mut left: Vec<u64> = std::iter::from_fn({
            let mut consumer = queue.consumer().unwrap();
            move || consumer.pop()
        }).collect();
        let mut model = model.into_inner().unwrap();
        left.sort_unstable();
        model.make_contiguous().sort_unstable();
        prop_assert_eq!(left, Vec::from(model));
    }
}

fn work(plan: &[Step], queue: &Queue<u64>, model: &Mutex<VecDeque<u64>>, next: &AtomicU64) {
    let (mut producer, mut consumer) = (queue.producer().unwrap(), queue.consumer().unwrap());
    let mut out = Vec::new();
    for step in plan {
        match *step {
            Step::Push(count) => {
                let first = next.fetch_add(count as u64, Relaxed);
                let tokens = first..first + count as u64;
                model.lock().unwrap().extend(tokens.clone());
                assert_eq!(producer.push_burst(&mut tokens.into_iter()), count, "there is room");
            }
            Step::Flush => assert!(producer.flush()),
            Step::Pop(max) => {
                out.clear();
                consumer.pop_burst(&mut out, max);
                let mut model = model.lock().unwrap();
                for token in &out {
                    let at = model.iter().position(|t| t == token).expect("popped twice, or never pushed");
                    model.remove(at);
                }
            }
            Step::Producer { panic } => {
                lose(producer, panic);
                producer = queue.producer().unwrap();
            }
            Step::Consumer { panic } => {
                lose(consumer, panic);
                consumer = queue.consumer().unwrap();
            }
        }
    }
}

/// Tokens through eight threads: `RINGWAY_ENGINE_TOKENS`, or four million.
#[test]
fn eight_threads_lose_none_and_double_none() {
    let tokens: u64 = std::env::var("RINGWAY_ENGINE_TOKENS").map_or(4_000_000, |n| n.parse().unwrap());
    let queue: Queue<u64> = Queue::new(Size::of(4096)).unwrap();
    // A token is a number. A bit for each says whether it came.
    let came: Vec<AtomicU64> = (0..tokens.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    let (next, seen) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| produce(&queue, &next, tokens));
            scope.spawn(|| consume(&queue, &came, &seen, tokens));
        }
    });
    assert_eq!(seen.into_inner(), tokens);
    let count: u64 = came.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum();
    assert_eq!(count, tokens, "lost");
    assert!(queue.is_empty());
}

/// Claims numbers in steps that are no multiple of a block, and pushes them in bursts of many lengths.
fn produce(queue: &Queue<u64>, next: &AtomicU64, tokens: u64) {
    let mut producer = queue.producer().unwrap();
    loop {
        let first = next.fetch_add(997, Relaxed);
        if first >= tokens {
            return;
        }
        let mut mine = (first..(first + 997).min(tokens)).peekable();
        while let Some(&at) = mine.peek() {
            let mut burst = mine.by_ref().take(1 + at as usize % 40);
            while producer.push_burst(&mut burst) > 0 {}
            // A token that `push_burst` did not take is still in `mine`.
            while !producer.flush() {
                thread::yield_now();
            }
        }
    }
}

fn consume(queue: &Queue<u64>, came: &[AtomicU64], seen: &AtomicU64, tokens: u64) {
    let mut consumer = queue.consumer().unwrap();
    let mut out = Vec::new();
    while seen.load(Relaxed) < tokens {
        out.clear();
        if consumer.pop_burst(&mut out, 50) == 0 {
            thread::yield_now();
        }
        for &token in &out {
            let bit = 1 << (token % 64);
            assert_eq!(came[token as usize / 64].fetch_or(bit, Relaxed) & bit, 0, "{token} came twice");
        }
        seen.fetch_add(out.len() as u64, Relaxed);
    }
}

#[test]
fn a_thread_that_never_comes_back_stops_nobody() {
    let queue: Queue<u64> = Queue::new(Size { owners: 4, ..Size::of(256) }).unwrap();
    let mut leaked = queue.producer().unwrap();
    leaked.push(1).unwrap();
    std::mem::forget(leaked);
    let (mut producer, mut consumer) = (queue.producer().unwrap(), queue.consumer().unwrap());
    for token in 0..10_000 {
        producer.push(token).unwrap();
        producer.flush();
        assert_eq!(consumer.pop(), Some(token));
    }
    assert!(queue.producer().is_ok());
    drop((producer, consumer));
    assert_eq!(queue.store().spare(), 3, "the leaked block is lost, and no other");
}

/// A token that counts how many there are.
struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn tokens_are_dropped_once() {
    let count = AtomicU64::new(0);
    let queue = Queue::new(Size { block: 8, ..Size::of(64) }).unwrap();
    let (mut producer, mut consumer) = (queue.producer().unwrap(), queue.consumer().unwrap());
    let pushed = producer.push_burst(&mut (0..200).map(|_| Counted::new(&count)));
    assert_eq!((pushed, count.load(Relaxed)), (72, 72));
    assert!(producer.push(Counted::new(&count)).is_err());
    drop((consumer.pop(), consumer.pop()));
    assert_eq!(count.load(Relaxed), 70);
    drop((queue, producer, consumer));
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn a_pool_gives_each_token_once() {
    for uncached in [false, true] {
        let tokens = 0..1000_u32;
        let pool = if uncached { Pool::uncached(tokens, 8) } else { Pool::cached(tokens, 8) }.unwrap();
        let taken = Mutex::new(vec![false; 1000]);
        thread::scope(|scope| {
            for seed in 0..8 {
                let (pool, taken) = (&pool, &taken);
                scope.spawn(move || {
                    for round in 0..50 {
                        let mut cache = pool.cache().unwrap();
                        let mine: Vec<u32> =
                            (0..(seed * 31 + round * 17) % 130).map_while(|_| cache.take()).collect();
                        for &token in &mine {
                            assert!(
                                !std::mem::replace(&mut taken.lock().unwrap()[token as usize], true),
                                "twice"
                            );
                        }
                        for token in mine {
                            taken.lock().unwrap()[token as usize] = false;
                            cache.give(token).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(pool.available(), 1000, "uncached: {uncached}");
        let mut cache = pool.cache().unwrap();
        let all: Vec<u32> = std::iter::from_fn(|| cache.take()).collect();
        assert_eq!(all.len(), 1000);
        assert_eq!(cache.held(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Two threads' worth of caches take and give, one by one and in bursts: no token comes twice, and none is lost.
    #[test]
    fn bursts_of_a_pool_are_so_many_tokens(
        uncached: bool,
        steps in proptest::collection::vec((0..2_usize, 0..4_u8, 0..200_usize), 1..60),
    ) {
        let pool = if uncached { Pool::uncached(0..300_u32, 2) } else { Pool::cached(0..300_u32, 2) }.unwrap();
        let mut caches = [pool.cache().unwrap(), pool.cache().unwrap()];
        let mut hands = [Vec::new(), Vec::new()];
        for (at, kind, count) in steps {
            let (cache, hand) = (&mut caches[at], &mut hands[at]);
            let before = hand.len();
            let mut given = hand.split_off(if kind < 2 { before } else { before.saturating_sub(count) });
            match kind {
                0 => {
                    let taken = cache.take_burst(hand, count);
                    prop_assert_eq!(hand.len(), before + taken);
                    prop_assert!(taken == count || (taken < count && cache.take().is_none()));
                }
                1 => hand.extend(std::iter::from_fn(|| cache.take()).take(count)),
                2 => prop_assert_eq!((given.len(), cache.give_burst(&mut given)), (before.min(count), before.min(count))),
                _ => given.drain(..).for_each(|token| cache.give(token).unwrap()),
            }
            prop_assert!(given.is_empty());
            let mut all: Vec<u32> = hands.iter().flatten().copied().collect();
            let held = pool.available() + caches.iter().map(|cache| cache.held()).sum::<usize>();
            prop_assert_eq!(all.len() + held, 300);
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len() + held, 300, "a token came twice");
        }
    }
}

#[test]
fn an_uncached_pool_caches_nothing() {
    let pool = Pool::uncached(0..10_u32, 2).unwrap();
    let mut cache = pool.cache().unwrap();
    let token = cache.take().unwrap();
    assert_eq!((cache.held(), pool.available()), (0, 9));
    cache.give(token).unwrap();
    assert_eq!((cache.held(), pool.available()), (0, 10));
    assert!(pool.cache().is_ok() && Queue::<u64>::new(Size { block: 65, ..Size::of(1) }).is_err());
}
