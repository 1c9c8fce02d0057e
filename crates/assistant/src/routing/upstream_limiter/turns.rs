//! Queue of callers that wait.

use std::collections::VecDeque;
use std::task::Waker;

use pia_kernel::GroupId;

/// The place of one who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueuePosition(u64);

/// Waiting calls of one group with their wakers.
type GroupQueue = VecDeque<(QueuePosition, Option<Waker>)>;

/// Fair queue of waiting calls: groups take turns; within a group, first come, first served.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// The group whose turn it is first.
    groups: VecDeque<(GroupId, GroupQueue)>,
    last: u64,
    count: usize,
}

impl FairQueue {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Takes a place behind those of the same group.
    pub(super) fn join(&mut self, group: GroupId) -> QueuePosition {
        self.last += 1;
        self.count += 1;
        let place = QueuePosition(self.last);
        match self.groups.iter_mut().find(|(it, _)| *it == group) {
            Some((_, waiting)) => waiting.push_back((place, None)),
            None => self.groups.push_back((group, VecDeque::from([(place, None)]))),
        }
        place
    }

    pub(super) fn is_next(&self, place: QueuePosition) -> bool {
        let first = self.groups.front().and_then(|(_, waiting)| waiting.front());
        first.is_some_and(|(it, _)| *it == place)
    }

    /// Has it woken when its turn comes.
    pub(super) fn watch(&mut self, place: QueuePosition, waker: &Waker) {
        let all = self.groups.iter_mut().flat_map(|(_, waiting)| waiting.iter_mut());
        for (_, watched) in all.filter(|(it, _)| *it == place) {
            *watched = Some(waker.clone());
        }
    }

    /// Gives a place up, because its turn has come or nobody waits any longer.
    /// A group that had its turn goes behind the others.
    pub(super) fn leave(&mut self, place: QueuePosition) {
        let had_its_turn = self.is_next(place);
        for (_, waiting) in &mut self.groups {
            let before = waiting.len();
            waiting.retain(|(it, _)| *it != place);
            self.count -= before - waiting.len();
        }
        if had_its_turn {
            self.groups.rotate_left(1);
        }
        self.groups.retain(|(_, waiting)| !waiting.is_empty());
        self.wake_next();
    }

    pub(super) fn wake_next(&self) {
        let first = self.groups.front().and_then(|(_, waiting)| waiting.front());
        if let Some((_, Some(waker))) = first {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(turns: &mut FairQueue, places: &[QueuePosition]) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(at) = places.iter().position(|it| turns.is_next(*it)) {
            turns.leave(places[at]);
            order.push(at);
        }
        order
    }

    #[test]
    fn groups_take_turns_however_many_of_one_came_first() {
        let (mut turns, many, few) =
            (FairQueue::default(), GroupId::generate(), GroupId::generate());
        let places = [many, many, many, few, few].map(|it| turns.join(it));

        assert_eq!(served(&mut turns, &places), [0, 3, 1, 4, 2]);
        assert_eq!(turns.len(), 0);
    }

    #[test]
    fn who_leaves_before_their_turn_takes_nobodys() {
        let (mut turns, one, other) =
            (FairQueue::default(), GroupId::generate(), GroupId::generate());
        let places = [one, one, other].map(|it| turns.join(it));

        turns.leave(places[1]);

        assert_eq!(served(&mut turns, &places), [0, 2]);
    }
}
