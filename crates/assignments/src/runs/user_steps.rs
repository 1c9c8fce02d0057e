//! Numbers of steps in progress of each user. A step of a model goes on when its
//! assignment is cancelled, as its tokens are spent; without a bound one user
//! could so use all places of a worker.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pia_kernel::UserId;

/// Numbers of steps in progress of each user. Clones share them.
#[derive(Clone, Default)]
pub struct UserSteps {
    counts: Arc<Mutex<HashMap<UserId, u32>>>,
}

/// Step in progress of a user, until dropped.
pub(crate) struct UserStep {
    steps: UserSteps,
    user: UserId,
}

impl UserSteps {
    /// Begins a step; `None` if the user already has `limit` in progress.
    pub(crate) fn begin(&self, user: UserId, limit: u32) -> Option<UserStep> {
        let mut counts = self.lock();
        let count = counts.entry(user).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(UserStep { steps: self.clone(), user })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserId, u32>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UserStep {
    fn drop(&mut self) {
        let mut counts = self.steps.lock();
        if let Some(count) = counts.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_limited_number_of_steps_at_once() {
        let steps = UserSteps::default();
        let user = UserId::generate();
        let first = steps.begin(user, 2);
        let second = steps.clone().begin(user, 2);

        assert!(first.is_some() && second.is_some());
        assert!(steps.begin(user, 2).is_none());
        assert!(steps.begin(UserId::generate(), 2).is_some());

        drop(first);
        assert!(steps.begin(user, 2).is_some());
        drop(second);
        assert!(steps.lock().is_empty());
    }
}
