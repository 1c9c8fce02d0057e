//! Tests of invitations.

use pia_testkit::FixedClock;

use super::*;
use crate::ports::MockInvitationStore;

fn invitations(store: MockInvitationStore) -> Invitations {
    let url = "https://pia.example.com/pia".to_owned();
    Invitations::new(Arc::new(store), url, Arc::new(FixedClock(Timestamp::UNIX_EPOCH)))
}

fn to(email: Option<&str>) -> Invitation {
    let email = email.map(str::to_owned);
    Invitation { email, role: Role::KbManager, group: None, days: 1 }
}

#[tokio::test]
async fn only_a_hash_of_the_links_token_is_stored() {
    let stored_row = Arc::new(std::sync::Mutex::new(None));
    let mut store = MockInvitationStore::new();
    let added = Arc::clone(&stored_row);
    store.expect_add().once().returning(move |new, effects| {
        *added.lock().unwrap() = Some((new, effects));
        Ok(true)
    });

    let invitation = invitations(store).create(None, to(Some(" Ada@Example.org "))).await.unwrap();

    let (new, effects) = stored_row.lock().unwrap().take().unwrap();
    let prefix = "https://pia.example.com/pia/auth/register.html?invitation=";
    let token = invitation.link.expose().strip_prefix(prefix).unwrap();
    assert_eq!(hash(&Secret::new(token.to_owned())), Some(new.hash));
    assert_eq!(new.email.as_deref(), Some("Ada@Example.org"));
    assert_eq!(new.role, Role::KbManager);
    assert_eq!(new.expires_at, Timestamp::UNIX_EPOCH + DAY);
    let mail = QueuedEmail::new("invitation").with("link", invitation.link.expose().clone());
    assert_eq!(effects.mail, [mail.to_address(Timestamp::UNIX_EPOCH, "Ada@Example.org")]);
    assert_eq!(effects.audit[0].object, Some(format!("invitation:{}", invitation.id)));
    assert!(!format!("{invitation:?}").contains(token));
}

#[tokio::test]
async fn an_invitation_without_an_address_is_not_emailed() {
    let mut store = MockInvitationStore::new();
    store
        .expect_add()
        .withf(|new, effects| new.email.is_none() && effects.mail.is_empty())
        .once()
        .returning(|_, _| Ok(true));

    invitations(store).create(None, to(None)).await.unwrap();
}

#[tokio::test]
async fn unknown_groups_and_invalid_addresses_are_refused() {
    let mut store = MockInvitationStore::new();
    store.expect_add().once().returning(|_, _| Ok(false));
    let invitations = invitations(store);

    let unknown_group = invitations.create(None, to(Some("ada@example.org"))).await;
    let invalid = invitations.create(None, to(Some("ada@\r\nexample.org"))).await;

    assert!(matches!(unknown_group, Err(InviteError::NoSuchGroup)), "{unknown_group:?}");
    assert!(matches!(invalid, Err(InviteError::Invalid(_))), "{invalid:?}");
}

#[tokio::test]
async fn an_invitation_is_valid_for_a_day_to_a_year() {
    let mut store = MockInvitationStore::new();
    store.expect_add().times(2).returning(|_, _| Ok(true));
    let invitations = invitations(store);
    let create = async |days| invitations.create(None, Invitation { days, ..to(None) }).await;

    for days in [1, 365] {
        let invitation = create(days).await.unwrap();
        assert_eq!(invitation.expires_at, Timestamp::UNIX_EPOCH + DAY * u32::from(days));
    }
    for days in [0, 366] {
        let refusal = create(days).await;
        let Err(InviteError::Invalid(violation)) = &refusal else { panic!("{days}: {refusal:?}") };
        assert_eq!((violation.field, violation.code), ("days", "out_of_range"));
    }
}

#[test]
fn malformed_tokens_have_no_hash() {
    for text in [String::new(), "x".repeat(129)] {
        assert_eq!(hash(&Secret::new(text)), None);
    }
}
