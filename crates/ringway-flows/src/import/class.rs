//! Conversations that look alike become one story.

use std::collections::HashMap;

use super::talk::{Step, Talk};
use crate::code::{End, Transport};

/// Most ways of one story, and most messages of all of them.
const MAX_VARIANTS: usize = 50;
const MAX_MESSAGES: usize = 10_000;

/// What conversations of a story have in common: protocol, family, port, who sends when, and how it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Look {
    transport: Transport,
    v4: bool,
    port: u16,
    shape: Vec<(End, u8)>,
}

impl Look {
    fn of(talk: &Talk) -> Self {
        let kind = |step: &Step| match step {
            Step::Bytes(..) | Step::Length(..) => 0,
            Step::Close(_) => 1,
            Step::HalfClose(_) => 2,
            Step::Reset(_) => 3,
        };
        let shape = talk.steps.iter().map(|step| (step.end(), kind(step))).collect();
        Self { transport: talk.transport, v4: talk.client.is_ipv4(), port: talk.port, shape }
    }
}

/// Conversations with the same messages.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) steps: Vec<Step>,
    /// In front of each step: how long its end waits on average, in ns.
    pub(super) thinks: Vec<u64>,
    pub(super) count: u64,
}

/// A story.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) transport: Transport,
    pub(super) v4: bool,
    pub(super) port: u16,
    /// The number of its first packet.
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) variants: Vec<Variant>,
}

/// The classes of all conversations, the most frequent ones first. Messages of more than `most` bytes become random ones.
pub(super) fn classes(talks: &[Talk], most: u64) -> Vec<Class> {
    let mut looks: HashMap<Look, Vec<(Vec<Step>, &Talk)>> = HashMap::new();
    for talk in talks {
        looks.entry(Look::of(talk)).or_default().push((talk.steps_up_to(most), talk));
    }
    let mut classes: Vec<Class> = looks.into_iter().flat_map(|(look, talks)| of_look(&look, talks)).collect();
    classes.sort_by_key(|class| (std::cmp::Reverse(class.count), class.first));
    classes
}

/// The classes of conversations that look alike: more than one where they have too many variants.
fn of_look(look: &Look, talks: Vec<(Vec<Step>, &Talk)>) -> Vec<Class> {
    let mut places: HashMap<Vec<Step>, usize> = HashMap::new();
    let mut variants: Vec<(u64, Variant)> = Vec::new();
    for (steps, talk) in talks {
        let at = *places.entry(steps.clone()).or_insert_with(|| {
            let thinks = vec![0; talk.thinks.len()];
            variants.push((talk.first, Variant { steps, thinks, count: 0 }));
            variants.len() - 1
        });
        let variant = &mut variants[at].1;
        variant.count += 1;
        for (sum, think) in variant.thinks.iter_mut().zip(&talk.thinks) {
            *sum = sum.saturating_add(*think);
        }
    }
    for (_, variant) in &mut variants {
        let count = variant.count;
        variant.thinks.iter_mut().for_each(|sum| *sum /= count);
    }
    variants.sort_by_key(|(first, variant)| (std::cmp::Reverse(variant.count), *first));
    let each = (MAX_MESSAGES / look.shape.len().max(1)).clamp(1, MAX_VARIANTS);
    let mut classes: Vec<Class> = Vec::new();
    for (first, variant) in variants {
        match classes.last_mut().filter(|class| class.variants.len() < each) {
            Some(class) => {
                (class.count, class.first) = (class.count + variant.count, class.first.min(first));
                class.variants.push(variant);
            }
            None => classes.push(Class {
                transport: look.transport,
                v4: look.v4,
                port: look.port,
                first,
                count: variant.count,
                variants: vec![variant],
            }),
        }
    }
    classes
}
