//! Tests of webhooks.

use std::sync::Mutex;

use pia_kernel::{AssignmentId, WebhookDeliveryId};

use super::*;
use crate::fakes::{NOW, clock, settings};
use crate::{Assignment, AssignmentStatus, MockWebhookSender, MockWebhookStore};

fn webhooks_with(store: MockWebhookStore, sender: MockWebhookSender) -> Webhooks {
    Webhooks {
        store: Arc::new(store),
        sender: Arc::new(sender),
        settings: settings(),
        clock: clock(),
    }
}

fn delivery(attempts: u32) -> WebhookDelivery {
    WebhookDelivery {
        id: WebhookDeliveryId::generate(),
        payload: "{}".to_owned(),
        created_at: NOW,
        attempts,
        next_at: Some(NOW + CLAIM_DURATION),
        delivered_at: None,
        failure: Some("status 502".to_owned()),
    }
}

/// Attempts a delivery with this result, and returns the stored delivery.
async fn attempt(attempts: u32, result: Result<(), WebhookError>) -> WebhookDelivery {
    let mut store = MockWebhookStore::new();
    let mut sender = MockWebhookSender::new();
    let operator = OperatorId::generate();
    store.expect_claim().once().returning(move |now, until, except| {
        assert_eq!(now, NOW);
        assert_eq!(until, NOW + CLAIM_DURATION);
        assert!(except.is_empty());
        let url = "https://hooks.example/".to_owned();
        let webhook = Some(Webhook { url, secret: Secret::new("whsec_AAAA".to_owned()) });
        Ok(Some(ClaimedDelivery { operator, delivery: delivery(attempts), webhook }))
    });
    sender.expect_send().once().returning(move |_, _, _, _| result.clone());
    let stored_delivery = Arc::new(Mutex::new(None));
    let recorder = Arc::clone(&stored_delivery);
    store.expect_finish().once().returning(move |it| {
        *recorder.lock().unwrap() = Some(it);
        Ok(())
    });
    let webhooks = webhooks_with(store, sender);

    let claimed = webhooks.claim(&[]).await.unwrap().unwrap();
    webhooks.attempt(claimed).await.unwrap();

    let delivery = stored_delivery.lock().unwrap().take();
    delivery.unwrap()
}

#[tokio::test]
async fn a_delivery_is_repeated_until_it_succeeds_or_is_abandoned() {
    let busy = || Err(WebhookError::Later("status 500".to_owned()));
    let first = attempt(1, busy()).await;
    assert_eq!(first.next_at, Some(NOW + Duration::from_secs(5)));
    assert_eq!(first.failure.as_deref(), Some("status 500"));
    assert_eq!(attempt(9, busy()).await.next_at, Some(NOW + Duration::from_hours(24)));
    let last = attempt(10, busy()).await;
    assert_eq!(last.next_at, None);
    assert_eq!(last.delivered_at, None);

    let delivered = attempt(3, Ok(())).await;
    assert_eq!(delivered.next_at, None);
    assert_eq!(delivered.delivered_at, Some(NOW));
    assert_eq!(delivered.failure, None);

    let gone = attempt(1, Err(WebhookError::Gone)).await;
    assert_eq!(gone.next_at, None);
    assert_eq!(gone.delivered_at, None);
}

#[tokio::test]
async fn only_permitted_urls_are_accepted() {
    let mut sender = MockWebhookSender::new();
    sender.expect_permits().returning(|url| url.starts_with("https://"));
    let mut store = MockWebhookStore::new();
    store.expect_put().once().returning(|_, webhook, effects| {
        assert_eq!(webhook.unwrap().url, "https://hooks.example:8443/secret?token=1");
        let changes = format!("{:?}", effects.audit[0].changes);
        assert!(changes.contains("hooks.example:8443") && !changes.contains("secret"));
        Ok(true)
    });
    let webhooks = webhooks_with(store, sender);
    let id = OperatorId::generate();

    for url in [
        "http://10.0.0.1/".to_owned(),
        "https://hooks.example/a\0".to_owned(),
        format!("https://{}", "a".repeat(2_000)),
    ] {
        let put = webhooks.put(None, id, url).await;
        assert!(matches!(put, Err(OperatorError::Invalid(OperatorField::WebhookUrl, _))));
    }
    let url = "https://hooks.example:8443/secret?token=1".to_owned();
    let secret = webhooks.put(None, id, url).await.unwrap();
    let key = secret.expose().strip_prefix("whsec_").unwrap();
    assert_eq!(STANDARD.decode(key).unwrap().len(), 32);
}

#[test]
fn unfinished_assignments_are_not_announced() {
    let assignment = |status, completed_at| Assignment {
        id: AssignmentId::generate(),
        user: UserId::generate(),
        skill: "brief".to_owned(),
        mode: "Assistant".to_owned(),
        status,
        step_count: 3,
        tokens_spent: 12,
        tokens_abandoned: 1,
        created_at: NOW,
        updated_at: NOW,
        started_at: None,
        completed_at,
        error_code: Some("operator_terminated".to_owned()),
        error_message: Some("Confidential.".to_owned()),
    };
    let id = OperatorId::generate();
    let open = assignment(AssignmentStatus::Running, None);
    assert_eq!(WebhookDelivery::of_ended(id, &open), None);
    let failed = assignment(AssignmentStatus::Failed, Some(NOW));
    let delivery = WebhookDelivery::of_ended(id, &failed).unwrap();
    assert!(delivery.payload.contains("\"type\":\"assignment.failed\""));
    assert!(delivery.payload.contains("operator_terminated"));
    assert!(!delivery.payload.contains("Confidential") && !delivery.payload.contains("startedAt"));
}
