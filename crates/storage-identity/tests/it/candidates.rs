//! Tests of the facts that sign-in needs about an account.

use std::time::Duration;

use pia_identity::{
    AccountStore, Candidate, FactorStore, FailedSignIn, Network, NewSession, SessionStore,
    SignInDevice, SignInLog, SignInMethod, SignInOutcome, TokenHash,
};
use pia_kernel::{SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlFactors, SqlSessions, SqlSignIns};

use crate::factors::enable;
use crate::people::{START, create_person, deactivate, device, epoch, new_session, nothing};

pia_testkit::contract! {
    a_candidate_is_the_active_account_with_the_address,
    a_network_is_known_after_a_sign_in,
    addresses_in_one_ipv6_network_are_known_together,
    a_caller_without_an_address_is_never_known,
    an_enabled_factor_is_read_with_its_epoch,
}

fn before() -> Timestamp {
    START - Duration::from_secs(1)
}

fn network(address: &str) -> Option<Network> {
    address.parse().ok().map(Network::from_address)
}

async fn candidate(db: &Database, email: &str, from: &str, since: Timestamp) -> Option<Candidate> {
    SqlAccounts::new(db.clone()).candidate(email, network(from), since).await.unwrap()
}

async fn is_known_network(db: &Database, email: &str, from: &str, since: Timestamp) -> bool {
    candidate(db, email, from, since).await.unwrap().was_there_before
}

async fn sign_in_from(db: &Database, user: UserId, token: u8, address: &str) {
    let device = SignInDevice { address: address.parse().ok(), ..device() };
    let new = NewSession { device, ..new_session(user, TokenHash([token; 32]), START) };
    SqlSessions::new(db.clone()).begin(new, 10, SideEffects::default(), nothing()).await.unwrap();
}

async fn a_candidate_is_the_active_account_with_the_address(db: Database) {
    let ada = create_person(&db, "Ada@example.org").await;
    create_person(&db, "bob@example.org").await;

    let found_candidate = candidate(&db, " aDA@example.org ", "192.0.2.1", before()).await.unwrap();
    let unknown_candidate = candidate(&db, "eve@example.org", "192.0.2.1", before()).await;
    deactivate(&db, ada).await;
    let deleted_candidate = candidate(&db, "ada@example.org", "192.0.2.1", before()).await;

    assert_eq!(found_candidate.credentials.account.user, ada);
    assert_eq!(found_candidate.credentials.password_hash.unwrap().expose(), "first");
    assert!(!found_candidate.was_there_before && !found_candidate.has_factor);
    assert!(unknown_candidate.is_none() && deleted_candidate.is_none());
}

async fn a_network_is_known_after_a_sign_in(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    create_person(&db, "bob@example.org").await;
    sign_in_from(&db, ada, 1, "192.0.2.1").await;
    let failed_sign_in = FailedSignIn {
        user: Some(ada),
        at: START,
        outcome: SignInOutcome::WrongPassword,
        method: SignInMethod::Password,
        device: SignInDevice { address: "192.0.2.2".parse().ok(), ..device() },
    };
    SqlSignIns::new(db.clone())
        .record_failure(failed_sign_in, |_, _| SideEffects::default())
        .await
        .unwrap();
    let ada = "ada@example.org";
    let bob = "bob@example.org";

    assert!(is_known_network(&db, ada, "192.0.2.1", before()).await);
    assert!(is_known_network(&db, ada, "::ffff:192.0.2.1", before()).await);
    assert!(!is_known_network(&db, ada, "192.0.2.1", START).await, "that is too long ago");
    assert!(!is_known_network(&db, ada, "192.0.2.2", before()).await, "nobody came in from there");
    assert!(!is_known_network(&db, bob, "192.0.2.1", before()).await, "that was somebody else");
}

async fn addresses_in_one_ipv6_network_are_known_together(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    sign_in_from(&db, ada, 1, "2001:db8:1:2::1").await;

    let next_door =
        is_known_network(&db, "ada@example.org", "2001:db8:1:2:ffff::9", before()).await;
    let elsewhere = is_known_network(&db, "ada@example.org", "2001:db8:1:3::1", before()).await;

    assert!(next_door);
    assert!(!elsewhere);
}

async fn a_caller_without_an_address_is_never_known(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    sign_in_from(&db, ada, 1, "nowhere").await;

    assert!(!is_known_network(&db, "ada@example.org", "nowhere", before()).await);
}

async fn an_enabled_factor_is_read_with_its_epoch(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    SqlFactors::new(db.clone()).begin(bob, b"sealed", START).await.unwrap();
    let without = epoch(&db, ada).await;
    enable(&db, ada).await;

    let adas = candidate(&db, "ada@example.org", "192.0.2.1", before()).await.unwrap();
    let bobs = candidate(&db, "bob@example.org", "192.0.2.1", before()).await.unwrap();

    assert!(adas.has_factor);
    assert!(!bobs.has_factor);
    assert_ne!(adas.credentials.account.epoch, without);
    assert_eq!(adas.credentials.account.epoch, epoch(&db, ada).await);
}
