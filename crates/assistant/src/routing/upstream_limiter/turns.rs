//! Queue of waiting calls: a round robin over groups.
//!
//! Each turn admits one call of a group, however many of its calls wait. Each change
//! of the front, by `leave` or by a permit that was returned, must wake the next call.

use std::collections::VecDeque;
use std::task::Waker;

use pia_kernel::GroupId;

/// Position of a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueuePosition(u64);

/// Fair queue of waiting calls: groups take turns; within a group, first come, first served.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// Queues of the groups; the next turn is the first group's.
    groups: VecDeque<GroupQueue>,
    /// Number of the last call that joined.
    last: u64,
    /// Number of waiting calls.
    count: usize,
}

#[derive(Debug)]
struct GroupQueue {
    group: GroupId,
    calls: VecDeque<WaitingCall>,
}

#[derive(Debug)]
struct WaitingCall {
    position: QueuePosition,
    waker: Option<Waker>,
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
        let call = WaitingCall { position, waker: None };
        match self.groups.iter_mut().find(|it| it.group == group) {
            Some(queue) => queue.calls.push_back(call),
            None => self.groups.push_back(GroupQueue { group, calls: VecDeque::from([call]) }),
        }
        position
    }

    pub(super) fn is_next(&self, position: QueuePosition) -> bool {
        self.next_call().is_some_and(|it| it.position == position)
    }

    /// Registers the waker for the turn of a call.
    pub(super) fn watch(&mut self, position: QueuePosition, waker: &Waker) {
        let mut calls = self.groups.iter_mut().flat_map(|queue| queue.calls.iter_mut());
        if let Some(call) = calls.find(|it| it.position == position) {
            call.waker = Some(waker.clone());
        }
    }

    /// Removes a call that is next, or whose caller has left. A group that had its turn
    /// moves behind the others.
    pub(super) fn leave(&mut self, position: QueuePosition) {
        let was_next = self.is_next(position);
        for queue in &mut self.groups {
            let length_before = queue.calls.len();
            queue.calls.retain(|it| it.position != position);
            self.count -= length_before - queue.calls.len();
        }
        if was_next {
            self.groups.rotate_left(1);
        }
        self.groups.retain(|queue| !queue.calls.is_empty());
        self.wake_next();
    }

    pub(super) fn wake_next(&self) {
        if let Some(waker) = self.next_call().and_then(|it| it.waker.as_ref()) {
            waker.wake_by_ref();
        }
    }

    fn next_call(&self) -> Option<&WaitingCall> {
        self.groups.front()?.calls.front()
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
        let busy_group = GroupId::generate();
        let quiet_group = GroupId::generate();
        let positions =
            [busy_group, busy_group, busy_group, quiet_group, quiet_group].map(|it| turns.join(it));

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
