//! Changes of a group's members, many at once.
//!
//! The changes are first reduced to two sets, users who join and users who leave
//! (`Moves`). Groups are locked before accounts. Users who leave move to the default
//! group, since every account has a group.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{GroupId, SideEffects, Timestamp, UserId};
use pia_policy::{MemberEffects, MembersChangeOutcome, MembershipChange};
use pia_storage::schema::{accounts, user_groups};
use pia_storage::{Database, DbError, DbUid, WriteEffects, connection_trait, in_tx, lock_row};
use serde_json::json;
use uuid::Uuid;

/// Number of accounts in one statement.
const BATCH: usize = 500;

/// Users who join or leave a group.
#[derive(Default)]
struct Moves {
    /// Users who become members, whichever group they are in.
    joining: BTreeSet<Uuid>,
    /// Users who leave the group, if they are members.
    leaving: BTreeSet<Uuid>,
}

/// Applies changes of a group's members: see
/// [`GroupStore::change_members`](pia_policy::GroupStore::change_members).
pub(crate) async fn change(
    db: &Database,
    group: GroupId,
    changes: &[MembershipChange],
    at: Timestamp,
    effects: MemberEffects,
) -> Result<MembersChangeOutcome, DbError> {
    let id = DbUid(group.0);
    in_tx!(db, async |conn| -> Result<MembersChangeOutcome, DbError> {
        let Some(default) = conn.lock_groups(id).await? else {
            return Ok(MembersChangeOutcome::UnknownGroup);
        };

        let members: Vec<DbUid> = accounts::table
            .filter(accounts::group_id.eq(id))
            .select(accounts::id)
            .load(conn)
            .await?;
        let moves = Moves::of(changes, &members, default == id);

        let old_groups = conn.lock_accounts(&moves.user_ids()).await?;
        if let Some(unknown) = moves.joining.iter().find(|it| !old_groups.contains_key(it)) {
            return Ok(MembersChangeOutcome::UnknownAccount(UserId(*unknown)));
        }

        let mut moved_users = Vec::new();
        for (users, to) in [(&moves.joining, id), (&moves.leaving, default)] {
            let users = users_to_move(users, &old_groups, id, to);
            for batch in users.chunks(BATCH) {
                diesel::update(accounts::table.filter(accounts::id.eq_any(batch)))
                    .set(accounts::group_id.eq(to))
                    .execute(conn)
                    .await?;
                let side_effects = effects_of_moves(batch, &old_groups, to, at, effects);
                conn.write_effects(db, &side_effects).await?;
            }
            moved_users.extend(users.into_iter().map(|it| UserId(it.0)));
        }
        Ok(MembersChangeOutcome::Done(moved_users))
    })
}

connection_trait! {
    /// Locks of a change of members. Call each method inside its transaction.
    trait LockMembers {
        /// Locks a group and the default group until the commit, so that neither is
        /// deleted. Call it before any account is locked. Returns the default group, or
        /// `None` if there is no such group.
        async fn lock_groups(&mut self, group: DbUid) -> Result<Option<DbUid>, DbError> {
            let is_involved = user_groups::id.eq(group).or(user_groups::is_default);
            // In the order of their ids, so that two changes do not wait for each other.
            let groups: Vec<(DbUid, bool)> = user_groups::table
                .filter(is_involved)
                .order(user_groups::id)
                .select((user_groups::id, user_groups::is_default))
                .load(self)
                .await?;
            for (id, _) in &groups {
                lock_row!(self, user_groups::table.find(*id), user_groups::name);
            }

            if !groups.iter().any(|(id, _)| *id == group) {
                return Ok(None);
            }

            let default_group = groups.iter().find(|(_, is_default)| *is_default);
            Ok(Some(default_group.map_or(group, |(id, _)| *id)))
        }

        /// Locks accounts until the commit. Returns the group of each that exists.
        async fn lock_accounts(
            &mut self,
            users: &[DbUid],
        ) -> Result<BTreeMap<Uuid, DbUid>, DbError> {
            let mut groups = BTreeMap::new();
            for batch in users.chunks(BATCH) {
                let batch_accounts = accounts::table.filter(accounts::id.eq_any(batch));
                // As `lock_row!` does, for many rows at once.
                let rows: Vec<(DbUid, DbUid)> = diesel::update(batch_accounts)
                    .set(accounts::group_id.eq(accounts::group_id))
                    .returning((accounts::id, accounts::group_id))
                    .get_results(self)
                    .await?;
                groups.extend(rows.into_iter().map(|(user, group)| (user.0, group)));
            }
            Ok(groups)
        }
    }
}

/// Returns those of the users who join `group`, or leave it for another one, with a
/// move into `to`.
fn users_to_move(
    users: &BTreeSet<Uuid>,
    old_groups: &BTreeMap<Uuid, DbUid>,
    group: DbUid,
    to: DbUid,
) -> Vec<DbUid> {
    users
        .iter()
        .filter(|it| {
            let old_group = old_groups.get(it);
            old_group != Some(&to) && (to == group || old_group == Some(&group))
        })
        .map(|it| DbUid(*it))
        .collect()
}

/// Returns the side effects of moving users from their old groups into another
/// one.
fn effects_of_moves(
    users: &[DbUid],
    old_groups: &BTreeMap<Uuid, DbUid>,
    to: DbUid,
    at: Timestamp,
    effects: MemberEffects,
) -> SideEffects {
    let after = json!({ "groupId": to.0 });
    users.iter().fold(SideEffects::default(), |all, user| {
        let before = json!({ "groupId": old_groups.get(&user.0).map(|it| it.0) });
        let user_effects = effects(UserId(user.0), GroupId(to.0), at);
        all.and(user_effects.with_changes(Some(&before), Some(&after)))
    })
}

impl Moves {
    /// Returns the moves that result from all changes in their order.
    fn of(changes: &[MembershipChange], members: &[DbUid], is_default: bool) -> Self {
        let mut moves = Self::default();
        // A replacement makes changes before it irrelevant.
        let is_replacement = |it: &MembershipChange| matches!(it, MembershipChange::Replace(_));
        let first_relevant = changes.iter().rposition(is_replacement).unwrap_or(0);
        for change in changes.iter().skip(first_relevant) {
            match change {
                MembershipChange::Add(users) => moves.join_all(users),
                MembershipChange::Remove(users) => {
                    for user in users {
                        moves.leave(*user);
                    }
                }
                MembershipChange::Replace(users) => {
                    for member in members {
                        moves.leave(UserId(member.0));
                    }
                    moves.join_all(users);
                }
            }
        }

        if is_default {
            moves.leaving.clear();
        }

        moves
    }

    fn user_ids(&self) -> Vec<DbUid> {
        self.joining.iter().chain(&self.leaving).map(|it| DbUid(*it)).collect()
    }

    fn join_all(&mut self, users: &[UserId]) {
        for UserId(user) in users {
            self.leaving.remove(user);
            self.joining.insert(*user);
        }
    }

    fn leave(&mut self, user: UserId) {
        self.joining.remove(&user.0);
        self.leaving.insert(user.0);
    }
}
