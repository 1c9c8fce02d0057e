//! Contract tests of addresses whose domains are written in two forms.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AccountCreationOutcome, AccountStore, InvitationStore, NewAccount, NewInvitation,
    PresentedInvitation, ProviderAccounts, Role, RoleStore, TokenHash, readable_email,
};
use pia_kernel::{InvitationId, SideEffects, UserId};
use pia_storage::schema::{accounts, invitations};
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{
    AddressesFolded, SqlAccounts, SqlAddresses, SqlInvitations, SqlProviderAccounts, SqlRoles,
};

use crate::people::{HOUR, START, create_person, newcomer, remove};

const TYPED: &str = "karl@bücher.example";
const SENT: &str = "karl@xn--bcher-kva.example";
const FOLDED: &str = SENT;

pia_testkit::contract! {
    both_forms_of_a_domain_are_equal,
    one_of_concurrent_registrations_in_both_forms_is_stored,
    an_address_stored_by_an_earlier_version_is_taken,
    older_addresses_are_folded_once_by_concurrent_instances,
    an_account_is_found_before_its_address_is_folded,
    colliding_accounts_keep_their_owners,
    colliding_accounts_are_distinguished_by_their_stored_addresses,
    the_folded_address_is_freed_when_its_account_is_deleted,
    an_older_invitation_is_valid_for_its_address,
}

/// Returns the result of each lookup: sign-in, emails of the gates, an operator's.
async fn found(db: &Database, email: &str) -> [Option<UserId>; 3] {
    let accounts = SqlAccounts::new(db.clone());
    let candidate = accounts.candidate(email, None, START).await.unwrap();
    let by_email = accounts.by_email(email).await.unwrap();
    let member = SqlRoles::new(db.clone()).member(email).await.unwrap();
    [
        candidate.map(|it| it.credentials.account.user),
        by_email.map(|it| it.account.user),
        member.map(|it| it.user),
    ]
}

/// Stores an account as earlier versions did.
async fn create_older_account(db: &Database, email: &str) -> UserId {
    let user = create_person(db, &format!("{}@example.org", UserId::generate())).await;
    let before = (accounts::email.eq(email), accounts::email_folded.eq(email.to_lowercase()));
    let update = diesel::update(accounts::table.find(DbUid(user.0))).set(before);
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
    user
}

#[derive(Debug, PartialEq, Queryable)]
struct StoredAddress {
    email: String,
    folded: String,
}

impl StoredAddress {
    fn new(email: &str, folded: &str) -> Self {
        Self { email: email.to_owned(), folded: folded.to_owned() }
    }
}

async fn load_address(db: &Database, user: UserId) -> StoredAddress {
    let row = accounts::table.find(DbUid(user.0)).select((accounts::email, accounts::email_folded));
    let result: Result<StoredAddress, DbError> =
        on_conn!(db.reader(), |conn| row.first(conn).await?);
    result.unwrap()
}

async fn both_forms_of_a_domain_are_equal(db: Database) {
    let user = create_person(&db, SENT).await;
    let providers = SqlProviderAccounts::new(db.clone());

    for email in [TYPED, SENT, "Karl@BÜCHER.example", " karl@XN--Bcher-KVA.EXAMPLE "] {
        assert_eq!(found(&db, email).await, [Some(user); 3], "{email}");
        assert!(providers.has_address(email).await.unwrap(), "{email}");
    }
    assert_eq!(found(&db, "karl@bucher.example").await, [None; 3]);
}

async fn one_of_concurrent_registrations_in_both_forms_is_stored(db: Database) {
    let accounts = SqlAccounts::new(db);

    let calls = [TYPED, SENT]
        .into_iter()
        .cycle()
        .take(32)
        .map(|it| accounts.register(newcomer(it), None, SideEffects::default()));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    let stored_count = outcomes.iter().filter(|it| **it == AccountCreationOutcome::Stored).count();
    let taken_count =
        outcomes.iter().filter(|it| **it == AccountCreationOutcome::EmailTaken).count();
    assert_eq!(stored_count, 1);
    assert_eq!(taken_count, 31);
}

async fn an_address_stored_by_an_earlier_version_is_taken(db: Database) {
    create_older_account(&db, TYPED).await;
    let accounts = SqlAccounts::new(db);

    for email in [TYPED, SENT] {
        let new = newcomer(&readable_email(email));
        let outcome = accounts.register(new, None, SideEffects::default()).await.unwrap();
        assert_eq!(outcome, AccountCreationOutcome::EmailTaken);
    }
}

async fn older_addresses_are_folded_once_by_concurrent_instances(db: Database) {
    let karl = create_older_account(&db, "Karl@Bücher.example").await;
    let page = create_older_account(&db, "ida@xn--mller-kva.example").await;
    let plain_user = create_older_account(&db, "Ada@Example.org").await;
    let umlaut = create_older_account(&db, "jürgen@example.org").await;
    let addresses = SqlAddresses::new(db.clone());

    let outcomes = join_all((0..8).map(|_| addresses.fold())).await;

    let results: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    assert_eq!(results.iter().map(|it| it.folded).sum::<u64>(), 2);
    assert!(results.iter().all(|it| it.shared.is_empty()));

    assert_eq!(load_address(&db, karl).await, StoredAddress::new("Karl@bücher.example", FOLDED));
    assert_eq!(
        load_address(&db, page).await,
        StoredAddress::new("ida@müller.example", "ida@xn--mller-kva.example")
    );
    assert_eq!(
        load_address(&db, plain_user).await,
        StoredAddress::new("Ada@Example.org", "ada@example.org")
    );
    assert_eq!(
        load_address(&db, umlaut).await,
        StoredAddress::new("jürgen@example.org", "jürgen@example.org")
    );
    assert_eq!(addresses.fold().await.unwrap(), AddressesFolded::default());
}

async fn an_account_is_found_before_its_address_is_folded(db: Database) {
    let user = create_older_account(&db, TYPED).await;

    assert_eq!(found(&db, "Karl@bücher.example").await, [Some(user); 3]);
}

async fn colliding_accounts_keep_their_owners(db: Database) {
    let typed = create_older_account(&db, TYPED).await;
    let sent_user = create_older_account(&db, SENT).await;
    let addresses = SqlAddresses::new(db.clone());

    let outcomes = join_all((0..8).map(|_| addresses.fold())).await;

    for result in outcomes.into_iter().map(Result::unwrap) {
        assert_eq!(result.shared, [typed]);
    }
    assert_eq!(found(&db, TYPED).await, [Some(typed); 3]);
    assert_eq!(found(&db, SENT).await, [Some(sent_user); 3]);

    // Nor is either found by the address that is stored for the other.
    for user in [typed, sent_user] {
        let address = load_address(&db, user).await;
        assert_eq!(found(&db, &address.email).await, [Some(user); 3]);
    }

    let again = SqlAccounts::new(db).register(newcomer(TYPED), None, SideEffects::default()).await;
    assert_eq!(again.unwrap(), AccountCreationOutcome::EmailTaken);
}

/// Simulates rows of an older version that runs beside this one.
async fn colliding_accounts_are_distinguished_by_their_stored_addresses(db: Database) {
    let sent_user = create_person(&db, &readable_email(SENT)).await;
    let typed = create_older_account(&db, TYPED).await;

    SqlAddresses::new(db.clone()).fold().await.unwrap();

    for (user, email) in [(typed, TYPED), (sent_user, SENT)] {
        assert_eq!(load_address(&db, user).await.email, email);
        assert_eq!(found(&db, email).await, [Some(user); 3]);
    }
}

async fn the_folded_address_is_freed_when_its_account_is_deleted(db: Database) {
    let typed = create_older_account(&db, TYPED).await;
    let sent_user = create_older_account(&db, SENT).await;
    let addresses = SqlAddresses::new(db.clone());
    addresses.fold().await.unwrap();

    remove(&db, sent_user).await;
    let fold_result = addresses.fold().await.unwrap();

    assert_eq!(fold_result, AddressesFolded { folded: 1, shared: Vec::new() });
    assert_eq!(found(&db, SENT).await, [Some(typed); 3]);
}

async fn an_older_invitation_is_valid_for_its_address(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let hash = TokenHash([7; 32]);
    let id = InvitationId::generate();
    let new = NewInvitation {
        id,
        hash,
        email: Some(TYPED.to_owned()),
        role: Role::User,
        group: None,
        by: None,
        at: START,
        expires_at: START + HOUR,
    };
    assert!(SqlInvitations::new(db.clone()).add(new, SideEffects::default()).await.unwrap());

    let update = diesel::update(invitations::table.find(DbUid(id.0)))
        .set(invitations::email_folded.eq(TYPED));
    let update_result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(update_result.unwrap(), 1);

    let result = SqlAddresses::new(db.clone()).fold().await.unwrap();

    assert_eq!(result, AddressesFolded { folded: 1, shared: Vec::new() });
    let invitation = Some(PresentedInvitation { hash, max_admins: None });
    let new = NewAccount { invitation, ..newcomer(SENT) };
    let outcome = accounts.register(new, None, SideEffects::default()).await.unwrap();
    assert_eq!(outcome, AccountCreationOutcome::Stored);
}
