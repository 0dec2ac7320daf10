//! The two ends of a queue for one thread each: a block in hand, and the queue.

use ringway::Result;

use super::block::Block;
use super::bounded::Queue;

impl<T: Send> Queue<T> {
    /// A handle that puts tokens in, for one thread at a time.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`](ringway::ErrorKind::Busy) when there are as many owners of blocks as the queue was made for.
    pub fn producer(&self) -> Result<Producer<T>> {
        Ok(Producer::new(self.clone(), self.block()?))
    }

    /// A handle that takes tokens out, for one thread at a time.
    ///
    /// # Errors
    /// As [`producer`](Self::producer).
    pub fn consumer(&self) -> Result<Consumer<T>> {
        Ok(Consumer::new(self.clone(), self.block()?))
    }
}

/// Puts tokens into a [`Queue`]. It collects them in a block, which goes into the queue when it is full, at a
/// [`flush`](Self::flush), or when the producer is dropped.
#[derive(Debug)]
pub struct Producer<T: Send> {
    queue: Queue<T>,
    block: Block<T>,
}

impl<T: Send> Producer<T> {
    pub(super) fn new(queue: Queue<T>, block: Block<T>) -> Self {
        Self { queue, block }
    }

    /// Puts a token in.
    ///
    /// # Errors
    /// The token itself, when the producer's block and the queue are full.
    #[inline]
    pub fn push(&mut self, token: T) -> std::result::Result<(), T> {
        if self.block.free() == 0 && !self.flush() {
            return Err(token);
        }
        let pushed = self.block.push(token);
        if self.block.free() == 0 {
            self.flush();
        }
        pushed
    }

    /// Puts tokens of an iterator in, as far as there is room; returns how many. It takes no token for which there is none.
    ///
    /// ```
    /// use ringway_engine::queue::{Queue, Size};
    /// let queue = Queue::new(Size { block: 32, ..Size::of(64) })?; // two blocks, and the one in the producer's hand
    /// let mut producer = queue.producer()?;
    /// let mut tokens = 0..1000_u32;
    /// assert_eq!(producer.push_burst(&mut tokens), 96);
    /// assert_eq!(tokens.next(), Some(96));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[inline]
    pub fn push_burst(&mut self, tokens: &mut impl Iterator<Item = T>) -> usize {
        let mut done = 0;
        while self.block.free() > 0 || self.flush() {
            done += self.block.fill(tokens);
            if self.block.free() > 0 {
                break;
            }
        }
        done
    }

    /// Puts what is in hand into the queue; false when the queue is full, and the tokens stay in hand.
    #[inline]
    pub fn flush(&mut self) -> bool {
        self.queue.put(&mut self.block)
    }

    /// Tokens in hand.
    #[must_use]
    pub fn held(&self) -> usize {
        self.block.len()
    }
}

impl<T: Send> Drop for Producer<T> {
    /// What is in hand goes into the queue. When the queue is full, and many handles left tokens before, it is dropped.
    fn drop(&mut self) {
        self.queue.leave(&mut self.block);
    }
}

/// Takes tokens out of a [`Queue`]. It takes a block at a time, and gives its tokens one by one or in bursts.
#[derive(Debug)]
pub struct Consumer<T: Send> {
    queue: Queue<T>,
    block: Block<T>,
}

impl<T: Send> Consumer<T> {
    pub(super) fn new(queue: Queue<T>, block: Block<T>) -> Self {
        Self { queue, block }
    }

    /// Takes a token out; `None` when the queue is empty.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.block.is_empty() && !self.queue.take(&mut self.block) {
            return None;
        }
        self.block.pop()
    }

    /// Moves tokens, `max` at most, to the end of `out`; returns how many.
    #[inline]
    pub fn pop_burst(&mut self, out: &mut Vec<T>, max: usize) -> usize {
        let mut done = 0;
        while done < max && (!self.block.is_empty() || self.queue.take(&mut self.block)) {
            done += self.block.move_to(out, max - done);
        }
        done
    }

    /// Tokens in hand.
    #[must_use]
    pub fn held(&self) -> usize {
        self.block.len()
    }
}

impl<T: Send> Drop for Consumer<T> {
    /// What is in hand goes back into the queue, behind what is there. When the queue is full, and many handles left tokens
    /// before, it is dropped.
    fn drop(&mut self) {
        self.queue.leave(&mut self.block);
    }
}
