//! Tests of invitations.

use pia_testkit::FixedClock;

use super::*;
use crate::ports::MockInvitationStore;

const DAY: Duration = Duration::from_hours(24);

fn invitations(store: MockInvitationStore) -> Invitations {
    let url = "https://pia.example.com/pia".to_owned();
    Invitations::new(Arc::new(store), url, Arc::new(FixedClock(Timestamp::UNIX_EPOCH)))
}

fn to(email: Option<&str>) -> Invitation {
    let email = email.map(str::to_owned);
    Invitation { email, role: Role::KbManager, group: None, lifetime: DAY }
}

#[tokio::test]
async fn the_link_holds_what_is_stored_as_a_hash_alone() {
    let stored = Arc::new(std::sync::Mutex::new(None));
    let mut store = MockInvitationStore::new();
    let add = Arc::clone(&stored);
    store.expect_add().once().returning(move |new, effects| {
        *add.lock().unwrap() = Some((new, effects));
        Ok(true)
    });

    let made = invitations(store).create(None, to(Some(" Ada@Example.org "))).await.unwrap();

    let (new, effects) = stored.lock().unwrap().take().unwrap();
    let beginning = "https://pia.example.com/pia/auth/register.html?invitation=";
    let token = made.link.expose().strip_prefix(beginning).unwrap();
    assert_eq!(hash(&Secret::new(token.to_owned())), Some(new.hash));
    assert_eq!(new.email.as_deref(), Some("Ada@Example.org"));
    assert_eq!((new.role, new.expires_at), (Role::KbManager, Timestamp::UNIX_EPOCH + DAY));
    let letter = QueuedEmail::new("invitation").with("link", made.link.expose().clone());
    assert_eq!(effects.mail, [letter.to_address(Timestamp::UNIX_EPOCH, "Ada@Example.org")]);
    assert_eq!(effects.audit[0].object, Some(format!("invitation:{}", made.id)));
    assert!(!format!("{made:?}").contains(token));
}

#[tokio::test]
async fn one_for_nobody_in_particular_is_mailed_to_nobody() {
    let mut store = MockInvitationStore::new();
    store
        .expect_add()
        .withf(|new, effects| new.email.is_none() && effects.mail.is_empty())
        .once()
        .returning(|_, _| Ok(true));

    invitations(store).create(None, to(None)).await.unwrap();
}

#[tokio::test]
async fn nobody_is_invited_to_what_is_not_there() {
    let mut store = MockInvitationStore::new();
    store.expect_add().once().returning(|_, _| Ok(false));
    let invitations = invitations(store);

    let nowhere = invitations.create(None, to(Some("ada@example.org"))).await;
    let nobody = invitations.create(None, to(Some("ada@\r\nexample.org"))).await;

    assert!(matches!(nowhere, Err(InviteError::NoSuchGroup)), "{nowhere:?}");
    assert!(matches!(nobody, Err(InviteError::Invalid(_))), "{nobody:?}");
}

#[test]
fn what_cannot_be_a_token_has_no_hash() {
    for text in [String::new(), "x".repeat(129)] {
        assert_eq!(hash(&Secret::new(text)), None);
    }
}
