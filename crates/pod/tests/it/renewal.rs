//! Tests of the renewal of tokens.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pia_kernel::Secret;
use pia_pod::{PodError, TokenStore};
use pia_signalr::Reconnect;
use serde_json::json;
use tokio::time::sleep;

use crate::hub::{Event, Hub, HubOptions, RENEWED, TOKEN};
use crate::hub_connection::Command;
use crate::running_pod::{RunningPod, pod};

const DAY: Duration = Duration::from_hours(24);

/// Store that can fail.
#[derive(Clone, Default)]
struct Store {
    is_broken: Arc<Mutex<bool>>,
    tokens: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl TokenStore for Store {
    async fn store(&self, token: &Secret<String>) -> Result<(), Box<dyn Error + Send + Sync>> {
        if *self.is_broken.lock() {
            return Err(io::Error::other("it is read-only").into());
        }
        self.tokens.lock().push(token.expose().clone());
        Ok(())
    }
}

fn hub_with(token_lifetime: Duration) -> Hub {
    Hub::with(HubOptions { token_lifetime: Some(token_lifetime), ..HubOptions::default() })
}

/// Cuts the connection, and waits for the next one.
async fn reconnect(hub: &mut Hub) {
    hub.command(Command::Cut);
    assert_eq!(hub.next().await, Event::Gone);
    hub.hello().await;
}

#[actix_web::test]
async fn a_token_that_ends_soon_is_renewed() {
    let mut hub = hub_with(29 * DAY);
    let store = Store::default();
    let _pod = RunningPod::start(pod(&hub).with_token_store(store.clone()));
    hub.hello().await;

    assert_eq!(hub.next().await, Event::Rotate);
    // Processed behind the response.
    hub.call("call-1", "fly", &json!({}));
    assert_eq!(hub.result().await["isError"], true);
    assert_eq!(*store.tokens.lock(), [RENEWED]);
    assert_eq!(hub.token(), TOKEN);
    reconnect(&mut hub).await;
    assert_eq!(hub.token(), RENEWED);
}

#[actix_web::test]
async fn the_end_of_a_token_that_was_renewed_does_not_end_the_pod() {
    for is_broken in [false, true] {
        let mut hub = hub_with(DAY);
        let store = Store::default();
        *store.is_broken.lock() = is_broken;
        let _pod = RunningPod::start(pod(&hub).with_token_store(store));
        hub.hello().await;
        assert_eq!(hub.next().await, Event::Rotate);

        hub.end_token(TOKEN);
        hub.command(Command::Expel);

        assert_eq!(hub.next().await, Event::Gone);
        hub.hello().await;
        assert_eq!(hub.token(), RENEWED);
    }
}

#[actix_web::test]
async fn a_pod_that_an_administrator_ends_does_not_come_back_with_its_new_token() {
    for is_broken in [false, true] {
        let mut hub = hub_with(DAY);
        let store = Store::default();
        *store.is_broken.lock() = is_broken;
        let running = RunningPod::start(pod(&hub).with_token_store(store));
        hub.hello().await;
        assert_eq!(hub.next().await, Event::Rotate);
        // Answered after the renewal.
        hub.call("call-1", "fly", &json!({}));
        hub.result().await;

        hub.command(Command::Close(Reconnect::Denied));

        assert!(matches!(running.ended().await, Err(PodError::Expelled(_))));
    }
}

#[actix_web::test]
async fn other_tokens_are_not_renewed() {
    for (lifetime, store) in [(31 * DAY, Some(Store::default())), (29 * DAY, None)] {
        let mut hub = hub_with(lifetime);
        let pod = pod(&hub);
        let running = RunningPod::start(match store {
            Some(store) => pod.with_token_store(store),
            None => pod,
        });
        hub.hello().await;

        hub.call("call-1", "fly", &json!({}));
        assert_eq!(hub.result().await["isError"], true);
        running.stop();
        assert_eq!(hub.next().await, Event::Drain);
    }
}

#[actix_web::test]
async fn a_token_that_cannot_be_stored_is_stored_later() {
    let mut hub = hub_with(DAY);
    let store = Store::default();
    *store.is_broken.lock() = true;
    let _pod = RunningPod::start(pod(&hub).with_token_store(store.clone()));
    hub.hello().await;
    assert_eq!(hub.next().await, Event::Rotate);

    hub.call("call-1", "fly", &json!({}));
    assert_eq!(hub.result().await["isError"], true);

    *store.is_broken.lock() = false;
    reconnect(&mut hub).await;

    assert_eq!(hub.token(), TOKEN);
    while store.tokens.lock().is_empty() {
        sleep(Duration::from_millis(20)).await;
    }
    // No other token was requested.
    assert_eq!(*store.tokens.lock(), [RENEWED]);
    reconnect(&mut hub).await;
    assert_eq!(hub.token(), RENEWED);
}

#[actix_web::test]
async fn a_token_that_cannot_be_stored_is_used_when_the_previous_one_has_ended() {
    let mut hub = hub_with(DAY);
    let store = Store::default();
    *store.is_broken.lock() = true;
    let _pod = RunningPod::start(pod(&hub).with_token_store(store));
    hub.hello().await;
    assert_eq!(hub.next().await, Event::Rotate);
    hub.call("call-1", "fly", &json!({}));
    assert_eq!(hub.result().await["isError"], true);

    hub.end_token(TOKEN);

    reconnect(&mut hub).await;
    assert_eq!(hub.token(), RENEWED);
}

#[actix_web::test]
async fn a_pod_that_stops_waits_for_its_new_token() {
    let mut hub = hub_with(DAY);
    let store = Store::default();
    let running = RunningPod::start(pod(&hub).with_token_store(store.clone()));
    hub.hello().await;
    assert_eq!(hub.next().await, Event::Rotate);

    running.stop();

    running.ended().await.expect("an end without an error");
    assert_eq!(*store.tokens.lock(), [RENEWED]);
}
