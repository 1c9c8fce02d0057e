//! Contract tests of roles, deactivation and reactivation.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AccountStore, ChallengeStore, CredentialsEpoch, DeactivationOutcome, NewChallenge,
    PresentedToken, ReactivationOutcome, Role, RoleChangeOutcome, RoleStore, RotationOutcome,
    SeatLimits, SessionStartOutcome, SessionStore, TokenHash,
};
use pia_kernel::{QueuedEmail, SideEffects, UserId};
use pia_storage::schema::{mailed_tokens, passkey_challenges, sign_in_codes};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_identity::{SqlAccounts, SqlChallenges, SqlRoles, SqlSessions};

use crate::people::{HOUR, START, count_audited, create_person, device, new_session, only};

pia_testkit::contract! {
    a_role_is_granted_once_with_its_effects,
    concurrent_grants_respect_the_limit_of_administrators,
    the_last_active_administrator_stays_one,
    one_of_two_concurrently_demoted_administrators_stays,
    one_of_two_concurrently_deactivated_administrators_stays,
    one_of_a_demoted_and_a_deactivated_administrator_stays,
    a_missing_account_is_reported_without_effects,
    deactivation_ends_sessions_and_challenges,
    deactivation_deletes_pending_links_codes_and_challenges,
    no_concurrently_started_session_outlives_a_deactivation,
    reactivating_needs_a_seat,
    an_administrator_is_reactivated_within_the_limit_of_administrators,
    a_deactivated_account_is_found_by_its_address_and_among_administrators,
}

fn nothing() -> SideEffects {
    SideEffects::default()
}

/// Creates accounts with this role.
async fn create_people(db: &Database, role: Role, many: usize) -> Vec<UserId> {
    let mut people = Vec::new();
    for n in 0..many {
        let user = create_person(db, &format!("{n}@{}.org", role.name())).await;
        let grant_outcome =
            SqlRoles::new(db.clone()).set_role(user, role, None, nothing()).await.unwrap();
        assert_eq!(grant_outcome, RoleChangeOutcome::Done);
        people.push(user);
    }
    people
}

async fn role_of(db: &Database, user: UserId) -> Role {
    SqlAccounts::new(db.clone()).find(user).await.unwrap().unwrap().role
}

async fn active_admins(db: &Database) -> usize {
    let admins = SqlRoles::new(db.clone()).admins().await.unwrap();
    admins.iter().filter(|it| it.is_active_admin()).count()
}

async fn deactivate(db: &Database, user: UserId) -> DeactivationOutcome {
    SqlRoles::new(db.clone()).deactivate(user, START, nothing()).await.unwrap()
}

async fn a_role_is_granted_once_with_its_effects(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;

    for _ in 0..2 {
        let effects = SideEffects::about(START, user, "granted");
        let change = roles.set_role(user, Role::OrgManager, Some(0), effects).await.unwrap();
        assert_eq!(change, RoleChangeOutcome::Done);
    }

    assert_eq!(role_of(&db, user).await, Role::OrgManager);
    assert_eq!(count_audited(&db, user, "granted").await, 1);
}

async fn concurrent_grants_respect_the_limit_of_administrators(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let users = create_people(&db, Role::User, 16).await;

    let calls = users.iter().map(|it| roles.set_role(*it, Role::Admin, Some(1), nothing()));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    let full_count = outcomes.iter().filter(|it| **it == RoleChangeOutcome::AdminsTaken).count();
    assert_eq!(full_count, 15);
    assert_eq!(active_admins(&db).await, 1);
}

async fn the_last_active_administrator_stays_one(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let admins = create_people(&db, Role::Admin, 2).await;
    assert_eq!(deactivate(&db, admins[0]).await, DeactivationOutcome::Done);
    let last_admin = admins[1];

    let effects = || SideEffects::about(START, last_admin, "tried");
    let demoted = roles.set_role(last_admin, Role::User, None, effects()).await.unwrap();
    let deactivated = roles.deactivate(last_admin, START, effects()).await.unwrap();

    assert_eq!(demoted, RoleChangeOutcome::LastAdmin);
    assert_eq!(deactivated, DeactivationOutcome::LastAdmin);
    assert_eq!(role_of(&db, last_admin).await, Role::Admin);
    assert_eq!(count_audited(&db, last_admin, "tried").await, 0);
}

async fn one_of_two_concurrently_demoted_administrators_stays(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let admins = create_people(&db, Role::Admin, 2).await;

    let calls = admins.iter().map(|it| roles.set_role(*it, Role::User, None, nothing()));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    assert!(
        outcomes.contains(&RoleChangeOutcome::Done)
            && outcomes.contains(&RoleChangeOutcome::LastAdmin)
    );
    assert_eq!(active_admins(&db).await, 1);
}

async fn one_of_two_concurrently_deactivated_administrators_stays(db: Database) {
    let admins = create_people(&db, Role::Admin, 2).await;

    let outcomes = join_all(admins.iter().map(|it| deactivate(&db, *it))).await;

    assert!(
        outcomes.contains(&DeactivationOutcome::Done)
            && outcomes.contains(&DeactivationOutcome::LastAdmin)
    );
    assert_eq!(active_admins(&db).await, 1);
}

async fn one_of_a_demoted_and_a_deactivated_administrator_stays(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let admins = create_people(&db, Role::Admin, 2).await;

    let demote = roles.set_role(admins[0], Role::User, None, nothing());
    let (demoted, deactivated) = futures_util::join!(demote, deactivate(&db, admins[1]));

    let refused = (
        demoted.unwrap() == RoleChangeOutcome::LastAdmin,
        deactivated == DeactivationOutcome::LastAdmin,
    );
    assert!(refused == (true, false) || refused == (false, true), "{refused:?}");
    assert_eq!(active_admins(&db).await, 1);
}

async fn a_missing_account_is_reported_without_effects(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let missing_user = UserId::generate();
    let effects = || SideEffects::about(START, missing_user, "tried");

    let grant_outcome = roles.set_role(missing_user, Role::Admin, None, effects()).await.unwrap();
    let deactivated = roles.deactivate(missing_user, START, effects()).await.unwrap();
    let reactivated =
        roles.reactivate(missing_user, SeatLimits::default(), effects()).await.unwrap();
    let found_member = roles.member("nobody@example.org").await.unwrap();

    assert_eq!(grant_outcome, RoleChangeOutcome::Unknown);
    assert_eq!(deactivated, DeactivationOutcome::Unknown);
    assert_eq!(reactivated, ReactivationOutcome::Unknown);
    assert_eq!(found_member, None);
    assert_eq!(count_audited(&db, missing_user, "tried").await, 0);
}

async fn deactivation_ends_sessions_and_challenges(db: Database) {
    let sessions = SqlSessions::new(db.clone());
    let challenges = SqlChallenges::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    let session = new_session(user, TokenHash([1; 32]), START);
    let id = session.session;
    sessions.begin(session, 10, nothing(), only(|_, _| nothing())).await.unwrap();
    let hash = TokenHash([2; 32]);
    let epoch = CredentialsEpoch::default();
    let challenge = NewChallenge { hash, user, epoch, expires_at: START + HOUR };
    challenges.open(challenge).await.unwrap();

    let effects = SideEffects::about(START, user, "shut out")
        .and_mail(QueuedEmail::new("account-deactivated").to_user(START, user));
    let roles = SqlRoles::new(db.clone());
    roles.deactivate(user, START, effects).await.unwrap();
    roles.reactivate(user, SeatLimits::default(), nothing()).await.unwrap();

    let presented_token = PresentedToken {
        hash: TokenHash([1; 32]),
        successor: TokenHash([3; 32]),
        at: START,
        grace: HOUR,
        lifetime: HOUR,
        device: device(),
    };
    let rotation_outcome = sessions.rotate(presented_token, |_, _| nothing()).await.unwrap();
    let state = SqlAccounts::new(db.clone()).caller_state(user, id, START).await.unwrap();
    let owner = challenges.owner(TokenHash([2; 32]), 5, START).await.unwrap();

    assert_eq!(rotation_outcome, RotationOutcome::Refused);
    assert_eq!(state, None);
    assert_eq!(owner, None);
    assert_eq!(count_audited(&db, user, "shut out").await, 1);
}

/// Inserts a row of each kind that can be redeemed to sign in.
async fn insert_pending(db: &Database, user: UserId, hash: u8) {
    let hash = vec![hash; 32];
    let user_id = DbUid(user.0);
    let end = DbInstant(START + HOUR);
    let link = diesel::insert_into(mailed_tokens::table).values((
        mailed_tokens::hash.eq(hash.clone()),
        mailed_tokens::user_id.eq(user_id),
        mailed_tokens::purpose.eq("password_reset"),
        mailed_tokens::expires_at.eq(end),
    ));
    let challenge = diesel::insert_into(passkey_challenges::table).values((
        passkey_challenges::hash.eq(hash.clone()),
        passkey_challenges::user_id.eq(user_id),
        passkey_challenges::state.eq("{}"),
        passkey_challenges::expires_at.eq(end),
    ));
    let code = diesel::insert_into(sign_in_codes::table).values((
        sign_in_codes::hash.eq(hash.clone()),
        sign_in_codes::user_id.eq(user_id),
        sign_in_codes::challenge.eq(hash),
        sign_in_codes::expires_at.eq(end),
    ));
    let result: Result<(), DbError> = on_conn!(db.writer(), |conn| {
        link.execute(conn).await?;
        challenge.execute(conn).await?;
        code.execute(conn).await?;
    });
    result.unwrap();
}

/// Returns the number of links, challenges and codes.
async fn pending(db: &Database) -> [i64; 3] {
    let result: Result<[i64; 3], DbError> = on_conn!(db.reader(), |conn| {
        [
            mailed_tokens::table.count().get_result(conn).await?,
            passkey_challenges::table.count().get_result(conn).await?,
            sign_in_codes::table.count().get_result(conn).await?,
        ]
    });
    result.unwrap()
}

async fn deactivation_deletes_pending_links_codes_and_challenges(db: Database) {
    let ada = create_person(&db, "ada@b.org").await;
    let bob = create_person(&db, "bob@b.org").await;
    insert_pending(&db, ada, 1).await;
    insert_pending(&db, bob, 2).await;
    assert_eq!(pending(&db).await, [2, 2, 2]);

    deactivate(&db, ada).await;

    assert_eq!(pending(&db).await, [1, 1, 1]);
}

async fn no_concurrently_started_session_outlives_a_deactivation(db: Database) {
    let sessions = SqlSessions::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;

    let begin = (0..16).map(|n| {
        let session = new_session(user, TokenHash([n; 32]), START);
        sessions.begin(session, 100, nothing(), only(|_, _| nothing()))
    });
    let (started, deactivated) = futures_util::join!(join_all(begin), deactivate(&db, user));
    let late = new_session(user, TokenHash([99; 32]), START);
    let late = sessions.begin(late, 100, nothing(), only(|_, _| nothing())).await;

    assert_eq!(deactivated, DeactivationOutcome::Done);
    assert!(started.iter().all(Result::is_ok));
    assert_eq!(late.unwrap(), SessionStartOutcome::Stale);
    for n in 0..16 {
        assert_eq!(sessions.session_of(TokenHash([n; 32])).await.unwrap(), None);
    }
}

async fn reactivating_needs_a_seat(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let users = create_people(&db, Role::User, 16).await;
    for user in &users {
        deactivate(&db, *user).await;
    }
    let limits = SeatLimits { accounts: Some(3), admins: None };

    let calls = users.iter().map(|it| roles.reactivate(*it, limits, nothing()));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    let active_count = outcomes.iter().filter(|it| **it == ReactivationOutcome::Done).count();
    let full_count = outcomes.iter().filter(|it| **it == ReactivationOutcome::SeatsTaken).count();
    assert_eq!(active_count, 3);
    assert_eq!(full_count, 13);
}

async fn an_administrator_is_reactivated_within_the_limit_of_administrators(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let admins = create_people(&db, Role::Admin, 2).await;
    deactivate(&db, admins[0]).await;
    let limits = |admins| SeatLimits { accounts: None, admins: Some(admins) };

    let full_outcome = roles.reactivate(admins[0], limits(1), nothing()).await.unwrap();
    let active_outcome = roles.reactivate(admins[0], limits(2), nothing()).await.unwrap();
    let repeated_outcome = roles.reactivate(admins[0], limits(0), nothing()).await.unwrap();

    assert_eq!(full_outcome, ReactivationOutcome::AdminsTaken);
    assert_eq!(active_outcome, ReactivationOutcome::Done);
    assert_eq!(repeated_outcome, ReactivationOutcome::Done);
}

async fn a_deactivated_account_is_found_by_its_address_and_among_administrators(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let admins = create_people(&db, Role::Admin, 2).await;
    deactivate(&db, admins[0]).await;

    let found_member = roles.member(" 0@ADMIN.org ").await.unwrap().unwrap();
    let all_admins = roles.admins().await.unwrap();

    assert_eq!(found_member.user, admins[0]);
    assert_eq!(found_member.deactivated_at, Some(START));
    assert!(!found_member.is_active_admin());
    assert_eq!(all_admins.iter().map(|it| it.user).collect::<Vec<_>>(), admins);
}
