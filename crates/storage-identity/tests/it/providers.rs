//! Contract tests of pending sign-ins at providers, and of provider accounts.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    Account, AccountCreationOutcome, AccountStore, CodeChallenge, KnownAccount, NewAccount,
    NewProviderFlow, Provider, ProviderAccounts, ProviderFlow, ProviderFlows, ProviderIdentity,
    RedirectTarget, TokenHash,
};
use pia_kernel::{Secret, SideEffects, UserId};
use pia_storage::schema::provider_flows;
use pia_storage::{Database, DbError, on_conn};
use pia_storage_identity::{SqlAccounts, SqlProviderAccounts, SqlProviderFlows};

use crate::people::{START, create_person, deactivate, remove};

pia_testkit::contract! {
    a_sign_in_continues_with_its_stored_state,
    one_of_concurrent_calls_takes_a_sign_in,
    another_browser_neither_takes_nor_deletes_a_sign_in,
    an_expired_sign_in_is_not_taken_and_is_swept,
    a_sign_in_is_stored_encrypted,
    an_account_is_found_by_provider_issuer_and_subject,
    an_address_is_taken_in_any_case_even_by_a_deactivated_account,
    one_of_concurrent_accounts_of_one_identity_is_stored,
    an_identity_is_deleted_with_its_account,
}

const STATE: TokenHash = TokenHash([1; 32]);
const BROWSER: TokenHash = TokenHash([2; 32]);
const LIFETIME: Duration = Duration::from_mins(10);

fn flow() -> ProviderFlow {
    ProviderFlow {
        provider: Provider::EntraId,
        destination: RedirectTarget::Program {
            url: "http://localhost:1/".to_owned(),
            challenge: CodeChallenge([7; 32]),
        },
        state: Some("canary-of-the-client".to_owned()),
        nonce: Secret::new("canary-nonce".to_owned()),
        verifier: Secret::new("canary-verifier".to_owned()),
    }
}

async fn put(db: &Database, hash: TokenHash) -> SqlProviderFlows {
    let flows = SqlProviderFlows::new(db.clone());
    let expires_at = START + LIFETIME;
    let new = NewProviderFlow { hash, browser: BROWSER, flow: flow(), expires_at };
    flows.put(new).await.unwrap();
    flows
}

async fn a_sign_in_continues_with_its_stored_state(db: Database) {
    let flows = put(&db, STATE).await;

    let taken = flows.take(STATE, BROWSER, START).await.unwrap().unwrap();

    let expected = flow();
    assert_eq!(taken.provider, expected.provider);
    assert_eq!(taken.destination, expected.destination);
    assert_eq!(taken.state, expected.state);
    assert!(taken.nonce.ct_eq("canary-nonce") && taken.verifier.ct_eq("canary-verifier"));

    for destination in [RedirectTarget::Browser, RedirectTarget::Page { path: "/admin".to_owned() }]
    {
        let flow = ProviderFlow { destination: destination.clone(), state: None, ..flow() };
        let new =
            NewProviderFlow { hash: STATE, browser: BROWSER, flow, expires_at: START + LIFETIME };
        flows.put(new).await.unwrap();

        let taken = flows.take(STATE, BROWSER, START).await.unwrap().unwrap();

        assert_eq!(taken.destination, destination);
        assert_eq!(taken.state, None);
    }
}

async fn one_of_concurrent_calls_takes_a_sign_in(db: Database) {
    let flows = put(&db, STATE).await;

    let outcomes = join_all((0..64).map(|_| flows.take(STATE, BROWSER, START))).await;

    assert_eq!(outcomes.into_iter().filter(|it| it.as_ref().unwrap().is_some()).count(), 1);
}

async fn another_browser_neither_takes_nor_deletes_a_sign_in(db: Database) {
    let flows = put(&db, STATE).await;

    let flow_of_other_browser = flows.take(STATE, TokenHash([3; 32]), START).await.unwrap();
    let unknown_flow = flows.take(BROWSER, STATE, START).await.unwrap();

    assert!(flow_of_other_browser.is_none() && unknown_flow.is_none());
    assert!(flows.take(STATE, BROWSER, START).await.unwrap().is_some());
}

async fn an_expired_sign_in_is_not_taken_and_is_swept(db: Database) {
    let flows = put(&db, STATE).await;

    let late_flow = flows.take(STATE, BROWSER, START + LIFETIME).await.unwrap();

    assert!(late_flow.is_none());
    assert_eq!(flows.sweep(START + LIFETIME - Duration::from_micros(1)).await.unwrap(), 0);
    assert_eq!(flows.sweep(START + LIFETIME).await.unwrap(), 1);
}

async fn a_sign_in_is_stored_encrypted(db: Database) {
    let first_state = STATE;
    let second_state = TokenHash([9; 32]);
    put(&db, first_state).await;
    put(&db, second_state).await;

    let rows = provider_flows::table.select(provider_flows::sealed);
    let result: Result<Vec<Vec<u8>>, DbError> =
        on_conn!(db.reader(), |conn| rows.load(conn).await?);
    let sealed_flows = result.unwrap();

    assert_eq!(sealed_flows.len(), 2);
    assert!(!sealed_flows.concat().windows(6).any(|it| it == b"canary"));
    // A sealed value that is moved to another row cannot be opened there.
    let stolen = sealed_flows[0].clone();
    let update = diesel::update(provider_flows::table).set(provider_flows::sealed.eq(stolen));
    let update_result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(update_result.unwrap(), 2);

    let flows = SqlProviderFlows::new(db);
    let take_outcomes = [
        flows.take(first_state, BROWSER, START).await.unwrap().is_some(),
        flows.take(second_state, BROWSER, START).await.unwrap().is_some(),
    ];
    assert_eq!(take_outcomes.into_iter().filter(|it| *it).count(), 1);
}

fn identity(issuer: &str, subject: &str) -> ProviderIdentity {
    ProviderIdentity { issuer: issuer.to_owned(), subject: subject.to_owned() }
}

fn newcomer(email: &str, identity: ProviderIdentity) -> NewAccount {
    let account = Account::local(UserId::generate(), email.to_owned(), START);
    let account = Account {
        provider: Provider::Google.name().to_owned(),
        email_verified_at: Some(START),
        ..account
    };
    NewAccount {
        account,
        password_hash: None,
        identity: Some(identity),
        verification: None,
        invitation: None,
    }
}

/// Registers an account of a provider.
async fn register_account(db: &Database) -> (Account, SqlProviderAccounts) {
    let new = newcomer("ada@example.org", identity("https://issuer", "ada"));
    let account = new.account.clone();
    let accounts = SqlAccounts::new(db.clone());
    let storage_outcome = accounts.register(new, None, SideEffects::default()).await.unwrap();
    assert_eq!(storage_outcome, AccountCreationOutcome::Stored);
    (account, SqlProviderAccounts::new(db.clone()))
}

async fn an_account_is_found_by_provider_issuer_and_subject(db: Database) {
    let (account, accounts) = register_account(&db).await;
    let find = async |provider, issuer, subject| {
        accounts.find(provider, &identity(issuer, subject)).await.unwrap()
    };

    let found_account = find(Provider::Google, "https://issuer", "ada").await;
    let other_accounts = [
        find(Provider::Oidc, "https://issuer", "ada").await,
        find(Provider::Google, "https://other", "ada").await,
        find(Provider::Google, "https://issuer", "Ada").await,
        find(Provider::Google, "https://issuer", "ada ").await,
    ];
    deactivate(&db, account.user).await;
    let later_account = find(Provider::Google, "https://issuer", "ada").await;

    assert_eq!(found_account, Some(KnownAccount::Active(account)));
    assert_eq!(other_accounts, [None, None, None, None]);
    assert_eq!(later_account, Some(KnownAccount::Deactivated));
}

async fn an_address_is_taken_in_any_case_even_by_a_deactivated_account(db: Database) {
    let (_, accounts) = register_account(&db).await;
    let former_user = create_person(&db, "gone@example.org").await;
    deactivate(&db, former_user).await;

    assert!(accounts.has_address(" ADA@Example.org").await.unwrap());
    assert!(accounts.has_address("Gone@example.org").await.unwrap());
    assert!(!accounts.has_address("bob@example.org").await.unwrap());
}

async fn one_of_concurrent_accounts_of_one_identity_is_stored(db: Database) {
    let accounts = SqlAccounts::new(db);

    let calls = (0..32).map(|_| {
        let new = newcomer("ada@example.org", identity("https://issuer", "ada"));
        accounts.register(new, None, SideEffects::default())
    });
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    assert_eq!(outcomes.iter().filter(|it| **it == AccountCreationOutcome::Stored).count(), 1);
    assert_eq!(outcomes.iter().filter(|it| **it == AccountCreationOutcome::EmailTaken).count(), 31);
}

async fn an_identity_is_deleted_with_its_account(db: Database) {
    let (account, accounts) = register_account(&db).await;

    remove(&db, account.user).await;

    let found_account = accounts.find(Provider::Google, &identity("https://issuer", "ada")).await;
    assert_eq!(found_account.unwrap(), None);
}
