//! Changes of a group's members, many at once.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{GroupId, SideEffects, Timestamp, UserId};
use pia_policy::{MemberEffects, MembersChangeOutcome, MembershipChange};
use pia_storage::schema::{accounts, user_groups};
use pia_storage::{Database, DbError, DbUid, WriteEffects, in_tx};
use serde_json::json;
use uuid::Uuid;

/// Number of accounts in one statement.
const BATCH: usize = 500;

/// Group that each user is moved into.
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
    (at, effects): (Timestamp, MemberEffects),
) -> Result<MembersChangeOutcome, DbError> {
    let id = DbUid(group.0);
    in_tx!(db, async |conn| -> Result<MembersChangeOutcome, DbError> {
        // Both groups before any account, so that they are there until the
        // commit; in the order of their ids.
        let is_involved = user_groups::id.eq(id).or(user_groups::is_default);
        let query = user_groups::table
            .filter(is_involved)
            .order(user_groups::id)
            .select((user_groups::id, user_groups::is_default));
        let involved: Vec<(DbUid, bool)> = query.load(conn).await?;
        for (involved_id, _) in &involved {
            let row = diesel::update(user_groups::table.find(*involved_id));
            row.set(user_groups::name.eq(user_groups::name)).execute(conn).await?;
        }
        if !involved.iter().any(|(involved_id, _)| *involved_id == id) {
            return Ok(MembersChangeOutcome::UnknownGroup);
        }
        let default = involved.iter().find(|(_, is_default)| *is_default);
        let default = default.map_or(id, |(default_id, _)| *default_id);
        let members = accounts::table.filter(accounts::group_id.eq(id)).select(accounts::id);
        let members: Vec<DbUid> = members.load(conn).await?;
        let moves = Moves::of(changes, &members, default == id);

        let mut before = BTreeMap::new();
        let all: Vec<DbUid> =
            moves.joining.iter().chain(&moves.leaving).map(|it| DbUid(*it)).collect();
        for batch in all.chunks(BATCH) {
            let rows = diesel::update(accounts::table.filter(accounts::id.eq_any(batch)));
            let rows = rows.set(accounts::group_id.eq(accounts::group_id));
            let rows = rows.returning((accounts::id, accounts::group_id));
            let rows: Vec<(DbUid, DbUid)> = rows.get_results(conn).await?;
            before.extend(rows.into_iter().map(|(user, group)| (user.0, group)));
        }
        if let Some(unknown) = moves.joining.iter().find(|it| !before.contains_key(it)) {
            return Ok(MembersChangeOutcome::UnknownAccount(UserId(*unknown)));
        }
        let mut moved = Vec::new();
        for (users, to) in [(&moves.joining, id), (&moves.leaving, default)] {
            let leaves = |it: &Uuid| to == id || before.get(it) == Some(&id);
            let users = users.iter().filter(|it| before.get(it) != Some(&to) && leaves(it));
            let users: Vec<DbUid> = users.map(|it| DbUid(*it)).collect();
            for batch in users.chunks(BATCH) {
                let rows = diesel::update(accounts::table.filter(accounts::id.eq_any(batch)));
                rows.set(accounts::group_id.eq(to)).execute(conn).await?;
                let entries = batch.iter().fold(SideEffects::default(), |all, user| {
                    let changed = |id: Option<&DbUid>| json!({ "groupId": id.map(|it| it.0) });
                    let one = effects(UserId(user.0), GroupId(to.0), at);
                    let from = changed(before.get(&user.0));
                    all.and(one.with_changes(Some(&from), Some(&changed(Some(&to)))))
                });
                conn.write_effects(db, &entries).await?;
            }
            moved.extend(users.into_iter().map(|it| UserId(it.0)));
        }
        Ok(MembersChangeOutcome::Done(moved))
    })
}

impl Moves {
    /// Returns what changes come to, one after the other.
    fn of(changes: &[MembershipChange], members: &[DbUid], is_default: bool) -> Self {
        let mut moves = Self::default();
        // A replacement makes changes before it irrelevant.
        let is_replacement = |it: &MembershipChange| matches!(it, MembershipChange::Replace(_));
        let first = changes.iter().rposition(is_replacement).unwrap_or(0);
        for change in changes.iter().skip(first) {
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
