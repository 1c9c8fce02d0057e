//! Routes of stored chats, under the names of the clients and of the hosted
//! instance.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::{KIB, MIB};
use crate::chats;

/// Maximum size of one document, or of several together, in bytes.
const MAX_CHAT_BYTES: usize = 16 * MIB;

const NOT_STORED: &[(u16, &str)] = &[
    (
        403,
        "The account is end-to-end encrypted and the chat isn't: `e2ee_required`. Or the \
         licence or the account doesn't allow it.",
    ),
    (410, "The chat was deleted after this version was written: `chat_deleted`."),
];

pub(super) fn routes() -> Vec<Route> {
    vec![list(), get(), put(), delete(), conversations(), sync()]
}

fn list() -> Route {
    Route {
        method: Method::GET,
        path: "/api/v1/chats",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: Some(Feature::Sync),
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Sync),
        body_limit: 0,
        handler: |route| route.to(chats::list_chats),
        docs: Docs {
            tag: "chats",
            summary: "Lists the caller's chats with their messages, oldest change first.",
            request: None,
            answer: ResponseDoc::Part(wire::<chats::ChatsResponse>, chats::PARAMETERS),
            refusals: &[(304, "Nothing has changed since the version in `If-None-Match`.")],
        },
    }
}

fn get() -> Route {
    Route {
        path: "/api/v1/chats/{id}",
        handler: |route| route.to(chats::get_chat),
        docs: Docs {
            tag: "chats",
            summary: "Returns a chat with its messages.",
            request: None,
            answer: ResponseDoc::Json(wire::<chats::ChatDocument>),
            refusals: &[(404, "The caller has no such chat: `not_found`.")],
        },
        ..list()
    }
}

fn put() -> Route {
    Route {
        method: Method::PUT,
        licensing: Licensing::InForce,
        body_limit: MAX_CHAT_BYTES,
        handler: |route| route.to(chats::put_chat),
        docs: Docs {
            tag: "chats",
            summary: "Stores a chat, unless the stored one is newer.",
            request: Some(wire::<chats::ChatDocument>),
            answer: ResponseDoc::Stored(wire::<chats::ChatDocument>),
            refusals: NOT_STORED,
        },
        ..get()
    }
}

fn delete() -> Route {
    Route {
        method: Method::DELETE,
        // Not read: some clients send an empty object with every request.
        body_limit: KIB,
        handler: |route| route.to(chats::delete_chat),
        docs: Docs {
            tag: "chats",
            summary: "Deletes a chat. Succeeds if there is none.",
            request: None,
            answer: ResponseDoc::Nothing,
            refusals: &[],
        },
        ..put()
    }
}

fn conversations() -> Route {
    Route {
        path: "/api/conversations",
        handler: |route| route.to(chats::conversations),
        docs: Docs {
            tag: "chats",
            summary: "Lists the caller's chats with metadata, oldest change first.",
            request: None,
            answer: ResponseDoc::Part(wire::<chats::ConversationsResponse>, chats::PARAMETERS),
            refusals: &[(304, "Nothing has changed since the version in `If-None-Match`.")],
        },
        ..list()
    }
}

fn sync() -> Route {
    Route {
        method: Method::POST,
        path: "/api/conversations/sync",
        licensing: Licensing::InForce,
        body_limit: MAX_CHAT_BYTES,
        handler: |route| route.to(chats::sync_conversations),
        docs: Docs {
            tag: "chats",
            summary: "Stores and deletes several chats, each independently.",
            request: Some(wire::<chats::ConversationsRequest>),
            answer: ResponseDoc::Json(wire::<chats::SyncResponse>),
            refusals: &[],
        },
        ..list()
    }
}
