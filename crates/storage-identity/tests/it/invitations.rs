//! Contract tests of invitations, and of registrations with them.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{
    AccountCreationOutcome, AccountStore, DEFAULT_GROUP, InvitationFilter, InvitationStore,
    NewAccount, NewInvitation, PresentedInvitation, Role, RoleStore, TokenHash,
};
use pia_kernel::{GroupId, InvitationId, PageRequest, SideEffects, TimeOrder, Timestamp};
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlInvitations, SqlRoles};

use crate::people::{HOUR, START, count_audited, create_person, newcomer};

pia_testkit::contract! {
    an_invited_account_has_the_role_and_group_of_its_invitation,
    one_of_concurrent_uses_of_an_invitation_creates_an_account,
    an_invitation_for_an_address_is_invalid_for_others,
    an_invitation_expires,
    a_failed_registration_does_not_use_up_the_invitation,
    an_invalid_invitation_reveals_neither_accounts_nor_seats,
    concurrent_invited_administrators_respect_the_limit,
    a_concurrent_use_and_revocation_exclude_each_other,
    valid_invitations_are_listed_in_pages,
    invitations_are_searched_by_address,
    an_invitation_into_a_missing_group_is_rejected,
    expired_invitations_are_swept,
}

const TOKEN: TokenHash = TokenHash([7; 32]);

fn invitation(hash: TokenHash, email: Option<&str>) -> NewInvitation {
    NewInvitation {
        id: InvitationId::generate(),
        hash,
        email: email.map(str::to_owned),
        role: Role::KbManager,
        group: Some(DEFAULT_GROUP),
        by: None,
        at: START,
        expires_at: START + HOUR,
    }
}

async fn invite(db: &Database, new: NewInvitation) -> InvitationId {
    let id = new.id;
    assert!(SqlInvitations::new(db.clone()).add(new, SideEffects::default()).await.unwrap());
    id
}

/// Creates an account that presents an invitation.
fn account_with_invitation(email: &str, hash: TokenHash) -> NewAccount {
    let invitation = Some(PresentedInvitation { hash, max_admins: Some(1) });
    NewAccount { invitation, ..newcomer(email) }
}

async fn register(db: &Database, new: NewAccount, seats: Option<u32>) -> AccountCreationOutcome {
    let effects = SideEffects::audit(START, new.account.user, "made");
    SqlAccounts::new(db.clone()).register(new, seats, effects).await.unwrap()
}

async fn all(db: &Database, now: Timestamp) -> Vec<InvitationId> {
    let page = PageRequest { limit: 200, after: None };
    let entries = SqlInvitations::new(db.clone())
        .page(now, &InvitationFilter::default(), page)
        .await
        .unwrap();
    entries.into_iter().map(|it| it.id).collect()
}

async fn an_invited_account_has_the_role_and_group_of_its_invitation(db: Database) {
    let by = create_person(&db, "root@example.org").await;
    invite(&db, NewInvitation { by: Some(by), ..invitation(TOKEN, Some("Ada@Example.org")) }).await;
    let new = account_with_invitation(" ADA@example.org ", TOKEN);
    let user = new.account.user;

    let outcome = register(&db, new, Some(2)).await;

    let account = SqlAccounts::new(db.clone()).find(user).await.unwrap().unwrap();
    assert_eq!(outcome, AccountCreationOutcome::Stored);
    assert_eq!(account.role, Role::KbManager);
    assert_eq!(account.group, DEFAULT_GROUP);
    assert_eq!(count_audited(&db, user, "made").await, 1);
    assert!(all(&db, START).await.is_empty());
}

async fn one_of_concurrent_uses_of_an_invitation_creates_an_account(db: Database) {
    invite(&db, invitation(TOKEN, None)).await;

    let calls = (0..16)
        .map(|n| register(&db, account_with_invitation(&format!("{n}@example.org"), TOKEN), None));
    let outcomes = join_all(calls).await;

    let stored_count = outcomes.iter().filter(|it| **it == AccountCreationOutcome::Stored).count();
    let late_count =
        outcomes.iter().filter(|it| **it == AccountCreationOutcome::NotInvited).count();
    assert_eq!(stored_count, 1);
    assert_eq!(late_count, 15);
}

async fn an_invitation_for_an_address_is_invalid_for_others(db: Database) {
    invite(&db, invitation(TOKEN, Some("ada@example.org"))).await;

    let other_outcome =
        register(&db, account_with_invitation("eve@example.org", TOKEN), None).await;
    let unknown_outcome =
        register(&db, account_with_invitation("ada@example.org", TokenHash([8; 32])), None).await;
    let correct_outcome =
        register(&db, account_with_invitation("ada@example.org", TOKEN), None).await;

    assert_eq!(other_outcome, AccountCreationOutcome::NotInvited);
    assert_eq!(unknown_outcome, AccountCreationOutcome::NotInvited);
    assert_eq!(correct_outcome, AccountCreationOutcome::Stored);
}

async fn an_invitation_expires(db: Database) {
    invite(&db, invitation(TOKEN, None)).await;
    let mut late = account_with_invitation("ada@example.org", TOKEN);
    late.account.created_at = START + HOUR;
    let mut early = account_with_invitation("ada@example.org", TOKEN);
    early.account.created_at = START + HOUR - Duration::from_micros(1);
    let refused_user = late.account.user;

    let late = register(&db, late, None).await;
    let early = register(&db, early, None).await;

    assert_eq!(late, AccountCreationOutcome::NotInvited);
    assert_eq!(early, AccountCreationOutcome::Stored);
    assert_eq!(count_audited(&db, refused_user, "made").await, 0);
}

async fn a_failed_registration_does_not_use_up_the_invitation(db: Database) {
    invite(&db, invitation(TOKEN, None)).await;
    create_person(&db, "ada@example.org").await;

    let conflict_outcome =
        register(&db, account_with_invitation("ADA@example.org", TOKEN), None).await;
    let full_outcome =
        register(&db, account_with_invitation("b@example.org", TOKEN), Some(1)).await;
    let outcome = register(&db, account_with_invitation("b@example.org", TOKEN), Some(2)).await;

    assert_eq!(conflict_outcome, AccountCreationOutcome::EmailTaken);
    assert_eq!(full_outcome, AccountCreationOutcome::SeatsTaken);
    assert_eq!(outcome, AccountCreationOutcome::Stored);
}

async fn an_invalid_invitation_reveals_neither_accounts_nor_seats(db: Database) {
    create_person(&db, "ada@example.org").await;

    let known_outcome =
        register(&db, account_with_invitation("ada@example.org", TOKEN), Some(1)).await;
    let unknown_outcome =
        register(&db, account_with_invitation("b@example.org", TOKEN), None).await;

    assert_eq!(known_outcome, AccountCreationOutcome::NotInvited);
    assert_eq!(unknown_outcome, AccountCreationOutcome::NotInvited);
}

async fn concurrent_invited_administrators_respect_the_limit(db: Database) {
    for n in 0..8 {
        let admin = NewInvitation { role: Role::Admin, ..invitation(TokenHash([n; 32]), None) };
        invite(&db, admin).await;
    }

    let calls = (0..8).map(|n| {
        register(
            &db,
            account_with_invitation(&format!("{n}@example.org"), TokenHash([n; 32])),
            None,
        )
    });
    let outcomes = join_all(calls).await;

    let stored_count = outcomes.iter().filter(|it| **it == AccountCreationOutcome::Stored).count();
    let admins = SqlRoles::new(db.clone()).admins().await.unwrap();
    assert_eq!(stored_count, 1);
    assert_eq!(admins.len(), 1);
    assert_eq!(all(&db, START).await.len(), 7);
}

async fn a_concurrent_use_and_revocation_exclude_each_other(db: Database) {
    let store = SqlInvitations::new(db.clone());
    for n in 0..8 {
        let hash = TokenHash([n; 32]);
        let id = invite(&db, invitation(hash, None)).await;
        let new = account_with_invitation(&format!("{n}@example.org"), hash);
        let user = new.account.user;

        let revoke = store.revoke(id, SideEffects::about(START, user, "revoked"));
        let (registered, revocation) = futures_util::join!(register(&db, new, None), revoke);

        let is_revoked = revocation.unwrap();
        let expected = if is_revoked {
            AccountCreationOutcome::NotInvited
        } else {
            AccountCreationOutcome::Stored
        };
        assert_eq!(registered, expected);
        assert_eq!(count_audited(&db, user, "revoked").await, i64::from(is_revoked));
    }
    assert!(!store.revoke(InvitationId::generate(), SideEffects::default()).await.unwrap());
}

async fn valid_invitations_are_listed_in_pages(db: Database) {
    let store = SqlInvitations::new(db.clone());
    let mut invitation_ids = Vec::new();
    for n in 0..5_u8 {
        let at = START + Duration::from_secs(u64::from(n / 2));
        // The first ones are valid for longest.
        let expires_at = START + HOUR - Duration::from_secs(u64::from(n / 2));
        let invitation = invitation(TokenHash([n; 32]), Some("Ada@Example.org"));
        invitation_ids.push(invite(&db, NewInvitation { at, expires_at, ..invitation }).await);
    }
    invite(&db, NewInvitation { expires_at: START, ..invitation(TOKEN, None) }).await;
    let by_expiry = [
        invitation_ids[4],
        invitation_ids[2],
        invitation_ids[3],
        invitation_ids[0],
        invitation_ids[1],
    ];

    for (is_by_expiry, expected) in [(false, &invitation_ids[..]), (true, &by_expiry[..])] {
        for order in [TimeOrder::Oldest, TimeOrder::Newest] {
            let filter = InvitationFilter { is_by_expiry, order, ..InvitationFilter::default() };
            let page = async |after| {
                store.page(START, &filter, PageRequest { limit: 3, after }).await.unwrap()
            };
            let first = page(None).await;
            let second = page(first.last().map(|it| filter.cursor(it))).await;
            let mut listed_ids: Vec<_> = first.iter().chain(&second).map(|it| it.id).collect();
            if order == TimeOrder::Newest {
                listed_ids.reverse();
            }

            assert_eq!(listed_ids, expected, "{filter:?}");
            assert_eq!(first[0].email.as_deref(), Some("ada@example.org"));
            assert_eq!(first[0].role, Role::KbManager);
            assert_eq!(first[0].group, Some(DEFAULT_GROUP));
        }
    }
}

async fn invitations_are_searched_by_address(db: Database) {
    let ada = invite(&db, invitation(TokenHash([1; 32]), Some("Ada@Example.org"))).await;
    let bob = invite(&db, invitation(TokenHash([2; 32]), Some("bob@example.org"))).await;
    let anyone = invite(&db, invitation(TokenHash([3; 32]), None)).await;
    let cyd = invite(&db, invitation(TokenHash([4; 32]), Some("cyd@bücher.example"))).await;
    let store = SqlInvitations::new(db.clone());

    for (search, expected) in [
        ("ADA", &[ada][..]),
        ("example.org", &[bob, ada]),
        ("cyd@BÜCHER.example", &[cyd]),
        ("xn--bcher", &[cyd]),
        ("%", &[]),
        ("", &[cyd, anyone, bob, ada]),
    ] {
        let filter = InvitationFilter { search: search.to_owned(), ..InvitationFilter::default() };
        let request = PageRequest { limit: 9, after: None };
        let invitations = store.page(START, &filter, request).await.unwrap();
        let ids: Vec<_> = invitations.iter().map(|it| it.id).collect();
        assert_eq!(ids, expected, "{search}");
    }
}

async fn an_invitation_into_a_missing_group_is_rejected(db: Database) {
    let new = NewInvitation { group: Some(GroupId::generate()), ..invitation(TOKEN, None) };

    let added = SqlInvitations::new(db.clone()).add(new, SideEffects::default()).await.unwrap();

    assert!(!added);
    assert!(all(&db, START).await.is_empty());
}

async fn expired_invitations_are_swept(db: Database) {
    let store = SqlInvitations::new(db.clone());
    invite(&db, invitation(TOKEN, None)).await;
    let longer =
        NewInvitation { expires_at: START + HOUR * 2, ..invitation(TokenHash([8; 32]), None) };
    let valid_id = invite(&db, longer).await;

    let swept = store.sweep(START + HOUR).await.unwrap();

    assert_eq!(swept, 1);
    assert_eq!(all(&db, START).await, [valid_id]);
}
