//! Contract tests of webhooks.

use futures_util::future::join_all;
use pia_assignments::{
    AssignmentStore, ClaimedDelivery, EventKind, Operator, OperatorStore, RunStore, Webhook,
    WebhookDelivery, WebhookStore,
};
use pia_kernel::{OperatorId, Secret, SideEffects, UserId};
use pia_storage::Database;
use pia_storage_assignments::{SqlOperators, SqlWebhooks};
use serde_json::Value;

use crate::fixture::{
    at, brief, completion, create_person, execute, forced_end, open_store, queue_assignment,
    start_run,
};

pia_testkit::contract_with_roles! {
    an_assignment_that_has_ended_is_announced_once,
    an_operator_without_a_webhook_announces_nothing,
    concurrent_workers_claim_each_delivery_once,
    deliveries_of_excepted_operators_are_not_claimed,
    an_attempt_that_was_repeated_changes_nothing,
    a_removed_webhook_loses_its_deliveries,
    old_deliveries_are_deleted,
}

const URL: &str = "https://hooks.example/pia";
const SECRET: &str = "whsec_c2VjcmV0";

fn webhooks(db: &Database) -> SqlWebhooks {
    SqlWebhooks::new(db.unrestricted())
}

async fn put(db: &Database, operator: OperatorId, url: Option<&str>) -> bool {
    let secret = || Secret::new(SECRET.to_owned());
    let webhook = url.map(|url| Webhook { url: url.to_owned(), secret: secret() });
    webhooks(db).put(operator, webhook, SideEffects::default()).await.unwrap()
}

/// Stores an operator with the skill of the assignments, and a webhook.
async fn stored_operator(db: &Database) -> OperatorId {
    let operator = Operator {
        id: OperatorId::generate(),
        name: "Brief".to_owned(),
        skill: brief(),
        is_custom: false,
        is_active: true,
        groups: Vec::new(),
        webhook_url: None,
        updated_at: at(0),
    };
    let id = operator.id;
    SqlOperators::new(db.clone()).put_built_in(vec![operator]).await.unwrap();
    assert!(put(db, id, Some(URL)).await);
    id
}

async fn deliveries(db: &Database, operator: OperatorId) -> Vec<WebhookDelivery> {
    webhooks(db).deliveries(operator, 100).await.unwrap().unwrap()
}

async fn claim(db: &Database, seconds: i64) -> Option<ClaimedDelivery> {
    webhooks(db).claim(at(seconds), at(seconds + 60), &[]).await.unwrap()
}

async fn cancel_assignment(db: &Database, user: UserId) {
    let id = queue_assignment(db, user, 1).await;
    assert!(
        open_store(db).cancel(user, id, forced_end(EventKind::Cancelled, at(2))).await.unwrap()
    );
}

async fn an_assignment_that_has_ended_is_announced_once(db: Database) {
    let operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    let run = start_run(&db, user, 10).await;
    assert!(open_store(&db).change(run.claim, completion(at(20))).await.unwrap());
    let cancellation = forced_end(EventKind::Cancelled, at(21));
    assert!(!open_store(&db).cancel(user, run.claim.id, cancellation).await.unwrap());

    let [delivery] = deliveries(&db, operator).await.try_into().unwrap();
    let payload: Value = serde_json::from_str(&delivery.payload).unwrap();
    assert_eq!(payload["type"], "assignment.completed");
    assert_eq!(payload["data"]["status"], "Completed");
    assert_eq!(payload["data"]["assignmentId"], run.claim.id.to_string());
    assert_eq!(payload["data"]["operatorId"], operator.to_string());
    assert_eq!(payload["data"]["tokensSpent"], 5);
    assert!(!delivery.payload.contains("The brief."));

    let attempt = claim(&db, 20).await.unwrap();
    let webhook = attempt.webhook.unwrap();
    assert_eq!(webhook.url.as_str(), URL);
    assert_eq!(webhook.secret.expose().as_str(), SECRET);
    assert_eq!(attempt.delivery.id, delivery.id);
    assert_eq!(attempt.delivery.attempts, 1);

    let operators = SqlOperators::new(db.clone()).list().await.unwrap();
    assert_eq!(operators[0].webhook_url.as_deref(), Some(URL));
}

async fn an_operator_without_a_webhook_announces_nothing(db: Database) {
    let operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    assert!(put(&db, operator, None).await);

    cancel_assignment(&db, user).await;

    assert!(deliveries(&db, operator).await.is_empty());
    assert!(!put(&db, OperatorId::generate(), Some(URL)).await);
    assert!(webhooks(&db).deliveries(OperatorId::generate(), 1).await.unwrap().is_none());
}

async fn concurrent_workers_claim_each_delivery_once(db: Database) {
    let _operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    for _ in 0..20 {
        cancel_assignment(&db, user).await;
    }

    let claims = (0..8).map(|_| async {
        let mut ids = Vec::new();
        while let Some(it) = claim(&db, 2).await {
            ids.push(it.delivery.id);
        }
        ids
    });

    let mut claimed_ids: Vec<_> = join_all(claims).await.concat();
    // Those that lost every race looked again too early.
    while let Some(it) = claim(&db, 2).await {
        claimed_ids.push(it.delivery.id);
    }

    assert_eq!(claimed_ids.len(), 20);
    claimed_ids.sort_unstable();
    claimed_ids.dedup();
    assert_eq!(claimed_ids.len(), 20);
}

async fn deliveries_of_excepted_operators_are_not_claimed(db: Database) {
    let operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    cancel_assignment(&db, user).await;
    let claim = async |except: &[OperatorId]| {
        webhooks(&db).claim(at(2), at(62), except).await.unwrap().map(|it| it.operator)
    };

    assert_eq!(claim(&[OperatorId::generate(), operator]).await, None);
    assert_eq!(claim(&[OperatorId::generate()]).await, Some(operator));
    assert_eq!(claim(&[]).await, None);
}

async fn an_attempt_that_was_repeated_changes_nothing(db: Database) {
    let operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    cancel_assignment(&db, user).await;
    let slow_attempt = claim(&db, 2).await.unwrap().delivery;
    assert!(claim(&db, 61).await.is_none());
    let second_attempt = claim(&db, 62).await.unwrap().delivery;

    let slow_failure =
        WebhookDelivery { next_at: None, failure: Some("late".to_owned()), ..slow_attempt };
    webhooks(&db).finish(slow_failure).await.unwrap();
    assert_eq!(deliveries(&db, operator).await, std::slice::from_ref(&second_attempt));

    let second_failure = WebhookDelivery {
        next_at: Some(at(90)),
        failure: Some("status 500".to_owned()),
        ..second_attempt
    };
    webhooks(&db).finish(second_failure.clone()).await.unwrap();
    assert_eq!(deliveries(&db, operator).await, [second_failure]);

    assert!(claim(&db, 89).await.is_none());
    let third_attempt = claim(&db, 90).await.unwrap().delivery;
    assert_eq!(third_attempt.attempts, 3);
    assert_eq!(third_attempt.failure.as_deref(), Some("status 500"));

    let success = WebhookDelivery {
        next_at: None,
        delivered_at: Some(at(91)),
        failure: None,
        ..third_attempt
    };
    webhooks(&db).finish(success.clone()).await.unwrap();
    assert_eq!(deliveries(&db, operator).await, [success]);
    assert!(claim(&db, 10_000).await.is_none());
}

async fn a_removed_webhook_loses_its_deliveries(db: Database) {
    let operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    cancel_assignment(&db, user).await;

    assert!(put(&db, operator, Some("https://elsewhere.example/")).await);
    assert_eq!(deliveries(&db, operator).await.len(), 1);

    assert!(put(&db, operator, None).await);
    assert!(deliveries(&db, operator).await.is_empty());
}

async fn old_deliveries_are_deleted(db: Database) {
    let operator = stored_operator(&db).await;
    let user = create_person(&db).await;
    cancel_assignment(&db, user).await;

    webhooks(&db).sweep(at(2)).await.unwrap();
    execute(&db, "UPDATE operators SET webhook_secret = NULL").await;
    let attempt = claim(&db, 2).await.unwrap();
    assert!(attempt.webhook.is_none());

    webhooks(&db).sweep(at(3)).await.unwrap();
    assert!(deliveries(&db, operator).await.is_empty());
}
