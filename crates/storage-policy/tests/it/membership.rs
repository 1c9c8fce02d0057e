//! Members and external ids of groups that an identity provider manages.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{GroupId, PageRequest, SideEffects, Timestamp, UserId};
use pia_policy::MembershipChange::{Add, Remove, Replace};
use pia_policy::{
    ExternalIdOutcome, GroupStore, MemberEffects, MemberFilter, MemberOrder, MembersChangeOutcome,
    MembershipChange,
};
use pia_storage::schema::{accounts, passkeys, sessions, totp_factors};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_policy::SqlGroups;

use crate::people::{
    DEFAULT, START, count_noted, create_account_at, create_group, create_person, group_of,
};

pia_testkit::contract! {
    members_are_paged_in_each_order,
    members_are_paged_by_role_and_status,
    a_page_after_a_deleted_account_begins_at_its_position,
    addresses_of_many_users_are_loaded_at_once,
    the_last_use_of_users_is_that_of_any_session,
    members_are_selected_by_role_state_and_factor,
    members_are_added_removed_and_replaced,
    changes_are_made_one_after_the_other_and_all_or_none,
    nobody_leaves_the_default_group_without_another,
    of_concurrent_changes_each_has_its_effect,
    a_thousand_members_are_moved_at_once,
    an_external_id_belongs_to_one_group,
}

const MOVED: MemberEffects =
    |user: UserId, _: GroupId, at: Timestamp| SideEffects::about(at, user, "moved");

async fn change(
    db: &Database,
    group: GroupId,
    changes: &[MembershipChange],
) -> MembersChangeOutcome {
    SqlGroups::new(db.clone()).change_members(group, changes, START, MOVED).await.unwrap()
}

async fn members(db: &Database, group: GroupId) -> Vec<UserId> {
    let members = SqlGroups::new(db.clone()).member_ids(group).await.unwrap();
    members.into_iter().map(|(user, _)| user).collect()
}

async fn members_are_paged_in_each_order(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let mut users = Vec::new();
    for second in [3, 1, 2] {
        let at = Timestamp::from_micros(second * 1_000_000);
        users.push(create_account_at(&db, UserId::generate(), at).await);
    }
    let page = async |order, after| {
        let filter = MemberFilter { order, ..MemberFilter::default() };
        groups.members(filter, PageRequest { after, limit: 2 }).await.unwrap()
    };

    for (order, expected) in [
        (MemberOrder::Newest, [0, 2, 1]),
        (MemberOrder::Oldest, [1, 2, 0]),
        // The addresses begin with the ids.
        (MemberOrder::Email, [0, 1, 2]),
        (MemberOrder::EmailDescending, [2, 1, 0]),
    ] {
        let first_page = page(order, None).await;
        let second = page(order, first_page.next).await;
        let all = first_page.items.iter().chain(&second.items).map(|it| it.user);

        assert_eq!(all.collect::<Vec<_>>(), expected.map(|it| users[it]), "{order:?}");
        assert_eq!(second.next, None, "{order:?}");
    }
}

async fn members_are_paged_by_role_and_status(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let users: [UserId; 5] = people(&db).await;
    let is_admin = diesel::update(accounts::table.find(DbUid(users[3].0)));
    let is_admin = is_admin.set(accounts::role.eq("admin"));
    let ids = [users[1], users[4]].map(|it| DbUid(it.0));
    let deactivated = diesel::update(accounts::table.filter(accounts::id.eq_any(ids)));
    let deactivated = deactivated.set(accounts::deactivated_at.eq(DbInstant(START)));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| {
        is_admin.execute(conn).await? + deactivated.execute(conn).await?
    });
    assert_eq!(result.unwrap(), 3);

    for (order, expected) in [
        (MemberOrder::Role, [3, 0, 1, 2, 4]),
        (MemberOrder::RoleDescending, [4, 2, 1, 0, 3]),
        (MemberOrder::Status, [0, 2, 3, 1, 4]),
        (MemberOrder::StatusDescending, [4, 1, 3, 2, 0]),
    ] {
        let mut listed_users = Vec::new();
        let mut after = None;
        for _ in 0..3 {
            let filter = MemberFilter { order, ..MemberFilter::default() };
            let page = groups.members(filter, PageRequest { after, limit: 2 }).await.unwrap();
            listed_users.extend(page.items.iter().map(|it| it.user));
            after = page.next;
        }

        assert_eq!(listed_users, expected.map(|it| users[it]), "{order:?}");
        assert_eq!(after, None, "{order:?}");
    }
}

async fn a_page_after_a_deleted_account_begins_at_its_position(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let mut users = Vec::new();
    for second in 0..4 {
        let at = Timestamp::from_micros(second * 1_000_000);
        users.push(create_account_at(&db, UserId::generate(), at).await);
    }
    let page = async |order, after, limit| {
        let filter = MemberFilter { order, ..MemberFilter::default() };
        groups.members(filter, PageRequest { after, limit }).await.unwrap()
    };
    // The addresses begin with the ids, so both orders have the same first account.
    let orders = [
        (MemberOrder::Oldest, [1, 2]),
        (MemberOrder::Email, [1, 2]),
        (MemberOrder::Newest, [2, 1]),
        (MemberOrder::EmailDescending, [2, 1]),
    ];
    let mut cursors = Vec::new();
    for (order, _) in orders {
        cursors.push(page(order, None, 1).await.next);
    }
    for user in [users[0], users[3]] {
        let account = accounts::table.find(DbUid(user.0));
        let result: Result<usize, DbError> =
            on_conn!(db.writer(), |conn| diesel::delete(account).execute(conn).await?);
        assert_eq!(result.unwrap(), 1);
    }

    for ((order, expected), cursor) in orders.into_iter().zip(cursors) {
        assert!(cursor.is_some(), "{order:?}");
        let next_page = page(order, cursor, 5).await;

        let listed_users: Vec<_> = next_page.items.iter().map(|it| it.user).collect();
        assert_eq!(listed_users, expected.map(|it| users[it]), "{order:?}");
    }
}

async fn addresses_of_many_users_are_loaded_at_once(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let mut users = Vec::new();
    for _ in 0..3 {
        users.push(create_person(&db).await);
    }
    let stranger = UserId::generate();

    let mut emails = groups.emails(vec![users[2], stranger, users[0]]).await.unwrap();
    emails.sort_unstable();

    let expected = [users[0], users[2]].map(|it| (it, format!("{it}@example.org")));
    assert_eq!(emails, expected);
    assert_eq!(groups.emails(Vec::new()).await.unwrap(), []);
}

async fn the_last_use_of_users_is_that_of_any_session(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let [ada, bob, eve, without_session] = people(&db).await;
    for (user, second) in [(ada, 5), (ada, 9), (ada, 7), (bob, 8), (eve, 6)] {
        add_session(&db, user, Timestamp::from_micros(second * 1_000_000)).await;
    }

    let mut last_uses = groups.last_uses(vec![bob, without_session, ada]).await.unwrap();
    last_uses.sort_unstable();

    let seconds = |it: i64| Timestamp::from_micros(it * 1_000_000);
    assert_eq!(last_uses, [(ada, seconds(9)), (bob, seconds(8))]);
}

/// Stores a session that was used last at this time.
async fn add_session(db: &Database, user: UserId, used_at: Timestamp) {
    let row = (
        sessions::id.eq(DbUid(UserId::generate().0)),
        sessions::user_id.eq(DbUid(user.0)),
        sessions::began_at.eq(DbInstant(START)),
        sessions::used_at.eq(DbInstant(used_at)),
        sessions::expires_at.eq(DbInstant(used_at)),
        sessions::method.eq("password"),
    );
    let insertion = diesel::insert_into(sessions::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);

    assert_eq!(result.unwrap(), 1);
}

async fn members_are_selected_by_role_state_and_factor(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let [admin, app, pending, passkey, provider, gone] = people(&db).await;
    enrol(&db, app, Some(DbInstant(START))).await;
    enrol(&db, pending, None).await;
    add_passkey(&db, passkey).await;
    let is_admin =
        diesel::update(accounts::table.find(DbUid(admin.0))).set(accounts::role.eq("admin"));
    let of_provider =
        diesel::update(accounts::table.find(DbUid(provider.0))).set(accounts::provider.eq("oidc"));
    let deactivated_at = accounts::deactivated_at.eq(DbInstant(START));
    let deactivated = diesel::update(accounts::table.find(DbUid(gone.0))).set(deactivated_at);
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| {
        is_admin.execute(conn).await?
            + of_provider.execute(conn).await?
            + deactivated.execute(conn).await?
    });
    assert_eq!(result.unwrap(), 3);

    let all = MemberFilter { order: MemberOrder::Email, ..MemberFilter::default() };
    let role = |it: &str| MemberFilter { role: Some(it.to_owned()), ..all.clone() };
    let active = |is_active| MemberFilter { is_active: Some(is_active), ..all.clone() };
    let without_factor = MemberFilter { is_without_factor: true, ..all.clone() };
    for (filter, expected) in [
        (role("admin"), vec![admin]),
        (role("user"), vec![app, pending, passkey, provider, gone]),
        (active(true), vec![admin, app, pending, passkey, provider]),
        (active(false), vec![gone]),
        (without_factor.clone(), vec![admin, pending, gone]),
        (MemberFilter { is_active: Some(true), ..without_factor }, vec![admin, pending]),
        (MemberFilter { is_without_factor: true, ..role("admin") }, vec![admin]),
    ] {
        let request = PageRequest { after: None, limit: 10 };
        let page = groups.members(filter.clone(), request).await.unwrap();

        let listed_users: Vec<_> = page.items.iter().map(|it| it.user).collect();
        assert_eq!(listed_users, expected, "{filter:?}");
    }
}

/// Stores an authenticator app.
async fn enrol(db: &Database, user: UserId, enabled_at: Option<DbInstant>) {
    let row = (
        totp_factors::user_id.eq(DbUid(user.0)),
        totp_factors::secret.eq(b"sealed".to_vec()),
        totp_factors::begun_at.eq(DbInstant(START)),
        totp_factors::enabled_at.eq(enabled_at),
        totp_factors::last_step.eq(0_i64),
    );
    let insertion = diesel::insert_into(totp_factors::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);

    assert_eq!(result.unwrap(), 1);
}

/// Stores a passkey of an account, as a second factor.
async fn add_passkey(db: &Database, user: UserId) {
    let row = (
        passkeys::id.eq(DbUid(user.0)),
        passkeys::user_id.eq(DbUid(user.0)),
        passkeys::credential_id.eq(b"id".to_vec()),
        passkeys::name.eq("Laptop"),
        passkeys::credential.eq("{}"),
        passkeys::counter.eq(0_i64),
        passkeys::created_at.eq(DbInstant(START)),
    );
    let insertion = diesel::insert_into(passkeys::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);

    assert_eq!(result.unwrap(), 1);
}

/// Stores accounts in the order of their addresses.
async fn people<const N: usize>(db: &Database) -> [UserId; N] {
    let mut users = [UserId::generate(); N];
    for user in &mut users {
        *user = create_person(db).await;
    }
    users
}

async fn members_are_added_removed_and_replaced(db: Database) {
    let sales = create_group(&db, "Sales").await;
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let eve = create_person(&db).await;

    assert_eq!(
        change(&db, sales, &[Add(vec![ada, bob])]).await,
        MembersChangeOutcome::Done(vec![ada, bob])
    );
    assert_eq!(change(&db, sales, &[Add(vec![ada])]).await, MembersChangeOutcome::Done(vec![]));
    assert_eq!(members(&db, sales).await, [ada, bob]);

    change(&db, sales, &[Remove(vec![ada, eve])]).await;
    assert_eq!(members(&db, sales).await, vec![bob]);
    assert_eq!(group_of(&db, ada).await, DEFAULT);

    change(&db, sales, &[Replace(vec![ada, eve])]).await;
    assert_eq!(members(&db, sales).await, vec![ada, eve]);
    assert_eq!(group_of(&db, bob).await, DEFAULT);
    change(&db, sales, &[Replace(vec![])]).await;

    assert_eq!(members(&db, sales).await, []);
    assert_eq!(count_noted(&db, "moved").await, 8);
}

async fn changes_are_made_one_after_the_other_and_all_or_none(db: Database) {
    let sales = create_group(&db, "Sales").await;
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let stranger = UserId::generate();

    change(&db, sales, &[Add(vec![ada, bob]), Remove(vec![ada])]).await;
    assert_eq!(members(&db, sales).await, [bob]);
    let refused_outcome = change(&db, sales, &[Remove(vec![bob]), Add(vec![ada, stranger])]).await;

    assert_eq!(refused_outcome, MembersChangeOutcome::UnknownAccount(stranger));
    assert_eq!(members(&db, sales).await, [bob]);
    let unknown_outcome = change(&db, GroupId::generate(), &[Add(vec![ada])]).await;
    assert_eq!(unknown_outcome, MembersChangeOutcome::UnknownGroup);
}

async fn nobody_leaves_the_default_group_without_another(db: Database) {
    let ada = create_person(&db).await;

    assert_eq!(
        change(&db, DEFAULT, &[Remove(vec![ada])]).await,
        MembersChangeOutcome::Done(vec![])
    );
    assert_eq!(change(&db, DEFAULT, &[Replace(vec![])]).await, MembersChangeOutcome::Done(vec![]));

    assert_eq!(members(&db, DEFAULT).await, [ada]);
}

async fn of_concurrent_changes_each_has_its_effect(db: Database) {
    let groups = [create_group(&db, "Sales").await, create_group(&db, "Support").await];
    let mut people = Vec::new();
    for _ in 0..16 {
        people.push(create_person(&db).await);
    }

    let all = people.iter().enumerate().map(|(n, it)| {
        let db = db.clone();
        let group = groups[n % 2];
        let user = *it;
        async move { change(&db, group, &[Add(vec![user])]).await }
    });
    join_all(all).await;

    let sales = members(&db, groups[0]).await;
    let support = members(&db, groups[1]).await;
    assert_eq!(sales.len(), 8);
    assert_eq!(support.len(), 8);
    assert_eq!(count_noted(&db, "moved").await, 16);
}

async fn a_thousand_members_are_moved_at_once(db: Database) {
    let sales = create_group(&db, "Sales").await;
    let mut people = Vec::new();
    for _ in 0..1_001 {
        people.push(create_person(&db).await);
    }

    let MembersChangeOutcome::Done(moved) = change(&db, sales, &[Replace(people)]).await else {
        panic!("refused")
    };

    assert_eq!(moved.len(), 1_001);
    assert_eq!(members(&db, sales).await.len(), 1_001);
    assert_eq!(count_noted(&db, "moved").await, 1_001);
}

async fn an_external_id_belongs_to_one_group(db: Database) {
    let sales = create_group(&db, "Sales").await;
    let support = create_group(&db, "Support").await;
    let groups = SqlGroups::new(db.clone());
    let set = |group, id: Option<&str>| {
        let groups = groups.clone();
        let id = id.map(str::to_owned);
        async move { groups.set_external_id(group, id, SideEffects::default()).await.unwrap() }
    };

    assert_eq!(set(sales, Some("g1")).await, ExternalIdOutcome::Done);
    assert_eq!(set(support, Some("g1")).await, ExternalIdOutcome::Taken);
    assert_eq!(set(GroupId::generate(), Some("g2")).await, ExternalIdOutcome::Unknown);
    let found_group = groups.find(sales).await.unwrap().unwrap();
    assert_eq!(found_group.group.external_id.as_deref(), Some("g1"));
    assert_eq!(set(sales, None).await, ExternalIdOutcome::Done);
    assert_eq!(set(support, Some("g1")).await, ExternalIdOutcome::Done);
}
