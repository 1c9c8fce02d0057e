//! Routes with which administrators manage connectors and see pods.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{Docs, ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{self, admin_docs, proved, read};
use super::personas::IDS_BODY;
use crate::admin::personas::EntryGroupsRequest;
use crate::admin::{connectors, pods};
use crate::auth;

/// Maximum size of a body with the arguments of a tool.
const TEST_CALL_BODY: usize = 72 * KIB;

type Handler = fn(actix_web::Route) -> actix_web::Route;

const CONNECTORS: &str = "/api/admin/connectors";
const UNKNOWN: (u16, &str) = (404, "There is no such connector: `not_found`.");
const CONFLICT: (u16, &str) = (
    409,
    "The name of the connector, or of the skill, is in use: `name_taken` or `skill_name_taken`.",
);

pub(super) fn routes() -> Vec<Route> {
    let list = ResponseDoc::List(wire::<connectors::ConnectorResponse>);
    let connected = ResponseDoc::List(wire::<pods::ConnectedPodResponse>);
    vec![
        read(
            CONNECTORS,
            admin_docs("Lists the connectors with their groups.", None, list, &[]),
            |route| route.to(connectors::list),
        ),
        create(),
        read(
            "/api/admin/connectors/pods",
            admin_docs("Lists the pods that are connected to any instance.", None, connected, &[]),
            |route| route.to(pods::list),
        ),
        delete(),
        grant(),
        issue_token(),
        revoke_tokens(),
        revoke_token(),
        drain(),
        tools(),
        test_call(),
    ]
}

/// Returns a row that changes connectors, for which the licence must include the AI
/// proxy.
fn write(
    method: Method,
    path: &'static str,
    docs: Docs,
    body_limit: usize,
    handler: Handler,
) -> Route {
    let feature = Some(Feature::AiProxy);
    Route { feature, ..client_policies::write(method, path, docs, body_limit, handler) }
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates a connector with a token, and an operator if its pods run a skill.",
        Some(wire::<connectors::ConnectorRequest>),
        ResponseDoc::Created(wire::<connectors::ConnectorCreatedResponse>),
        &[CONFLICT],
    );
    proved(write(Method::POST, CONNECTORS, docs, IDS_BODY, |route| route.to(connectors::create)))
}

fn delete() -> Route {
    let docs = admin_docs(
        "Deletes a connector with its tokens and its operator. Its pods are disconnected.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/connectors/{id}";
    proved(write(Method::DELETE, path, docs, KIB, |route| route.to(connectors::delete)))
}

fn grant() -> Route {
    let docs = admin_docs(
        "Replaces the groups that a connector, and its operator, are granted to.",
        Some(wire::<EntryGroupsRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/connectors/{id}/groups";
    write(Method::PUT, path, docs, IDS_BODY, |route| route.to(connectors::grant))
}

fn issue_token() -> Route {
    let docs = admin_docs(
        "Creates a further token of a connector.",
        None,
        ResponseDoc::Created(wire::<connectors::ConnectorCreatedResponse>),
        &[UNKNOWN],
    );
    let path = "/api/admin/connectors/{id}/tokens";
    proved(write(Method::POST, path, docs, KIB, |route| route.to(connectors::issue_token)))
}

fn revoke_tokens() -> Route {
    let docs = admin_docs(
        "Revokes all tokens of a connector. Its pods are disconnected within five seconds.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/connectors/{id}/tokens";
    proved(write(Method::DELETE, path, docs, KIB, |route| route.to(connectors::revoke_tokens)))
}

fn revoke_token() -> Route {
    let docs = admin_docs(
        "Revokes a token of a connector. The pods that connected with it are disconnected within \
         five seconds.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/connectors/{id}/tokens/{tokenId}";
    proved(write(Method::DELETE, path, docs, KIB, |route| route.to(connectors::revoke_token)))
}

fn drain() -> Route {
    let docs = admin_docs(
        "Ends a pod: it gets no further calls, and is disconnected once those in progress have \
         ended.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[(404, "There is no such pod: `not_found`.")],
    );
    let path = "/api/admin/connectors/pods/{id}/drain";
    write(Method::POST, path, docs, KIB, |route| route.to(pods::drain))
}

fn tools() -> Route {
    let docs = admin_docs(
        "Lists the tools that the connected pods of a connector bring, by name.",
        None,
        ResponseDoc::List(wire::<pods::ConnectorToolResponse>),
        &[UNKNOWN],
    );
    read("/api/admin/connectors/{id}/tools", docs, |route| route.to(pods::tools))
}

fn test_call() -> Route {
    let docs = admin_docs(
        "Calls a tool of a connector to try it, also one that is dangerous or granted to nobody.",
        Some(wire::<pods::TestCallRequest>),
        ResponseDoc::Json(wire::<pods::TestCallResponse>),
        &[UNKNOWN],
    );
    let path = "/api/admin/connectors/{id}/test-call";
    proved(write(Method::POST, path, docs, TEST_CALL_BODY, |route| route.to(pods::test_call)))
}
