//! Queue of waiting calls.

use std::collections::VecDeque;
use std::task::Waker;

use pia_kernel::GroupId;

/// Position of a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueuePosition(u64);

/// Waiting calls of one group with their wakers.
type GroupQueue = VecDeque<(QueuePosition, Option<Waker>)>;

/// Fair queue of waiting calls: groups take turns; within a group, first come, first served.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// Queues of the groups; the next turn is the first group's.
    groups: VecDeque<(GroupId, GroupQueue)>,
    last: u64,
    count: usize,
}

impl FairQueue {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Appends a call to the queue of its group.
    pub(super) fn join(&mut self, group: GroupId) -> QueuePosition {
        self.last += 1;
        self.count += 1;
        let position = QueuePosition(self.last);
        match self.groups.iter_mut().find(|(it, _)| *it == group) {
            Some((_, waiting)) => waiting.push_back((position, None)),
            None => self.groups.push_back((group, VecDeque::from([(position, None)]))),
        }
        position
    }

    pub(super) fn is_next(&self, position: QueuePosition) -> bool {
        let first_call = self.groups.front().and_then(|(_, calls)| calls.front());
        first_call.is_some_and(|(it, _)| *it == position)
    }

    /// Registers the waker for the turn of a call.
    pub(super) fn watch(&mut self, position: QueuePosition, waker: &Waker) {
        let calls = self.groups.iter_mut().flat_map(|(_, waiting)| waiting.iter_mut());
        for (_, registered_waker) in calls.filter(|(it, _)| *it == position) {
            *registered_waker = Some(waker.clone());
        }
    }

    /// Removes a call that is next, or whose caller has left. A group that had its turn
    /// moves behind the others.
    pub(super) fn leave(&mut self, position: QueuePosition) {
        let was_next = self.is_next(position);
        for (_, waiting) in &mut self.groups {
            let before = waiting.len();
            waiting.retain(|(it, _)| *it != position);
            self.count -= before - waiting.len();
        }
        if was_next {
            self.groups.rotate_left(1);
        }
        self.groups.retain(|(_, waiting)| !waiting.is_empty());
        self.wake_next();
    }

    pub(super) fn wake_next(&self) {
        let first_call = self.groups.front().and_then(|(_, calls)| calls.front());
        if let Some((_, Some(waker))) = first_call {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave_in_turn(turns: &mut FairQueue, positions: &[QueuePosition]) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(at) = positions.iter().position(|it| turns.is_next(*it)) {
            turns.leave(positions[at]);
            order.push(at);
        }
        order
    }

    #[test]
    fn groups_take_turns_regardless_of_their_order() {
        let mut turns = FairQueue::default();
        let many = GroupId::generate();
        let few = GroupId::generate();
        let positions = [many, many, many, few, few].map(|it| turns.join(it));

        assert_eq!(leave_in_turn(&mut turns, &positions), [0, 3, 1, 4, 2]);
        assert_eq!(turns.len(), 0);
    }

    #[test]
    fn a_call_that_leaves_early_skips_no_other() {
        let mut turns = FairQueue::default();
        let first_group = GroupId::generate();
        let second_group = GroupId::generate();
        let positions = [first_group, first_group, second_group].map(|it| turns.join(it));

        turns.leave(positions[1]);

        assert_eq!(leave_in_turn(&mut turns, &positions), [0, 2]);
    }
}
