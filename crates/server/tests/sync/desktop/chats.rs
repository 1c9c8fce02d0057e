//! Chats, which are synchronised apart from other rows.

use pia_server_testkit::client::TestResponse;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::device::Device;
use super::moment::Moment;
use super::read::{blobs, etag, guid, moment, no_nulls, object, text};

/// Outcome of storing a chat.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Created,
    Replaced,
    /// Stored after a merge with the messages of the server's version.
    Merged,
    /// Status of the last attempt.
    Dropped(u16),
}

const ENTITY: &str = "assistant_chat";
/// Keys inside the ciphertext.
const HIDDEN: [&str; 3] = ["title", "providerId", "messages"];
const MAX_PAGES: usize = 100;

fn day(at: Moment) -> String {
    let text = at.to_string();
    let (day, _) = text.split_once('T').expect("a date");
    format!("{day}T00:00:00Z")
}

impl Device {
    /// Returns whether the server stores chats; requested once.
    pub(crate) async fn probe(&mut self) -> bool {
        if let Some(is_supported) = self.chats_supported {
            return is_supported;
        }
        let answer = self.get_json("/api/capabilities").await;
        let body = object(&answer, "capabilities");
        let version = body.get("chatsSchemaVersion");
        assert!(version.is_none_or(Value::is_i64), "not a version: {version:?}");

        let is_supported = answer.status == 200 && body.get("chats") == Some(&json!(true));
        self.chats_supported = Some(is_supported);
        is_supported
    }

    /// Starts a chat, with keys that no server knows.
    pub(crate) fn start_chat(&mut self, words: &str) -> String {
        let id = Uuid::now_v7().to_string();
        let at = self.now();
        let chat = json!({
            "id": id,
            "schemaVersion": 1,
            "title": format!("title of {words}"),
            "createdAt": at.to_string(),
            "updatedAt": at.to_string(),
            "lastAccessedAt": day(at),
            "windowMode": "Assistant",
            "providerId": "6f9619ff-8b86-4d01-b42d-00c04fc964ff",
            "workingDirectory": null,
            "agentContextMode": null,
            "isFavorite": false,
            "messages": [],
            "keyOfTomorrow": { "deep": ["ä + <🎈>", 1.5, true] },
        });
        self.chats.insert(id.clone(), chat);
        self.write(&id, words);
        id
    }

    /// Adds a message of the user.
    pub(crate) fn write(&mut self, id: &str, words: &str) {
        let at = self.now().to_string();
        let message = json!({
            "id": Uuid::now_v7().to_string(),
            "role": "user",
            "content": words,
            "thinkingContent": null,
            "timestamp": at,
            "tokens": 7,
            "modelName": "a-model",
            "isProtectedRoute": false,
            "attachedFiles": [{ "fileName": "a.txt", "relativePath": null }],
            "messageKeyOfTomorrow": "kept",
        });
        let chat = self.chats.get_mut(id).expect("a chat");
        chat["messages"].as_array_mut().expect("messages").push(message);
        chat["updatedAt"] = json!(at);
    }

    /// Returns the texts of a chat's messages.
    pub(crate) fn words(&self, id: &str) -> Vec<String> {
        let messages = self.chats.get(id).and_then(|it| it["messages"].as_array());
        messages
            .into_iter()
            .flatten()
            .map(|it| it["content"].as_str())
            .map(|it| it.unwrap_or_default().to_owned())
            .collect()
    }

    /// Stores a chat. If the server has a newer one, merges its messages and
    /// tries once more.
    pub(crate) async fn put(&mut self, id: &str) -> Stored {
        let answer = self.put_once(id).await;
        match answer.status {
            201 => return Stored::Created,
            200 => return Stored::Replaced,
            409 => {}
            other => {
                assert_ne!(other, 404, "a PUT is never answered 404");
                self.note_encryption(&answer);
                return Stored::Dropped(other);
            }
        }
        // Without a chat in the answer the client has nothing to merge.
        let theirs = answer.body.get("id").and_then(|_| self.decode_chat(&answer.body));
        let Some(theirs) = theirs else { return Stored::Dropped(409) };
        let chat = merged(theirs, &self.chats[id], self.now());
        self.chats.insert(id.to_owned(), chat);
        match self.put_once(id).await.status {
            200 | 201 => Stored::Merged,
            other => Stored::Dropped(other),
        }
    }

    async fn put_once(&mut self, id: &str) -> TestResponse {
        let body = self.chat_on_wire(id);
        self.send_packed("PUT", &format!("/api/v1/chats/{id}"), &body).await
    }

    /// Serializes a chat with nulls, except for the two blobs.
    fn chat_on_wire(&self, id: &str) -> Value {
        let mut chat = self.chats[id].clone();
        let Some(sealer) = self.sealer() else { return chat };

        let fields = chat.as_object_mut().expect("a chat");
        let mut hidden = Map::new();
        for name in HIDDEN {
            let blank = if name == "messages" { json!([]) } else { Value::Null };
            let value = fields.insert(name.to_owned(), blank);
            hidden.extend(value.map(|it| (name.to_owned(), it)));
        }
        // Unknown keys are encrypted too by this client.
        hidden.extend(fields.remove("keyOfTomorrow").map(|it| ("keyOfTomorrow".to_owned(), it)));

        let sealed = sealer.seal(ENTITY, id, Value::Object(hidden).to_string().as_bytes());
        fields.insert("encryptedPayload".to_owned(), json!(sealed.payload));
        fields.insert("wrappedDek".to_owned(), json!(sealed.dek));
        chat
    }

    pub(crate) async fn delete_chat(&mut self, id: &str) {
        self.chats.remove(id);
        let answer = self.call("DELETE", &format!("/api/v1/chats/{id}"), &[], &[]).await;
        assert_eq!(answer.status, 204, "a deletion, also of an absent chat: {}", answer.text());
    }

    /// Stores all its chats, once after a sign-in.
    pub(crate) async fn backfill(&mut self) {
        let ids: Vec<_> = self.chats.keys().cloned().collect();
        for id in ids {
            let stored = self.put(&id).await;
            assert!(!matches!(stored, Stored::Dropped(_)), "a chat was not stored: {stored:?}");
        }
    }

    /// Pulls the chats of other devices. Returns false if nothing is new.
    pub(crate) async fn list_chats(&mut self) -> bool {
        let since = self
            .chats
            .values()
            .map(|it| moment(it.get("updatedAt"), "a chat"))
            .max()
            .map(|it| format!("&since={}", escaped(&it.exact())));
        let first = format!("/api/v1/chats?includeDeleted=true{}", since.unwrap_or_default());
        let mut path = first.clone();
        let mut tag = None;
        for page in 1..=MAX_PAGES {
            let known_tag = if page == 1 { self.chats_etag.clone() } else { None };
            let headers: Vec<(&str, &str)> =
                known_tag.iter().map(|it| ("If-None-Match", it.as_str())).collect();
            let answer = self.call("GET", &path, &headers, &[]).await;
            if answer.status == 304 {
                assert!(known_tag.is_some(), "304 to an unconditional request");
                return false;
            }
            assert_eq!(answer.status, 200, "the list of chats: {}", answer.text());
            if page == 1 {
                tag = etag(&answer);
            }
            let Some(next) = self.apply_chats(&answer) else {
                self.chats_etag = tag;
                return true;
            };
            path = format!("{first}&cursor={}", escaped(&next));
        }
        panic!("more than {MAX_PAGES} pages of chats");
    }

    /// Applies a page, and returns the cursor of the next one.
    fn apply_chats(&mut self, answer: &TestResponse) -> Option<String> {
        let body = object(answer, "the list of chats");
        let chats = body.get("chats").and_then(Value::as_array);
        for chat in chats.expect("without `chats` the client stops silently") {
            // Unreadable chats are skipped.
            let Some(mut chat) = self.decode_chat(chat) else { continue };
            let id = guid(chat.get("id"), "id of a chat");
            let accessed =
                |it: &Value| moment(it.get("lastAccessedAt"), "lastAccessedAt of a chat");
            if let Some(local_chat) = self.chats.get(&id)
                && accessed(local_chat) > accessed(&chat)
            {
                chat["lastAccessedAt"] = local_chat["lastAccessedAt"].clone();
            }
            self.chats.insert(id, chat);
        }
        for id in body.get("deleted").and_then(Value::as_array).into_iter().flatten() {
            self.chats.remove(&guid(Some(id), "id of a deleted chat"));
        }

        let more = body.get("hasMore") == Some(&json!(true));
        let next = body.get("nextCursor").and_then(Value::as_str);
        assert_eq!(more, next.is_some(), "hasMore and nextCursor go together");
        next.filter(|it| more && !it.is_empty()).map(str::to_owned)
    }

    /// Decodes a received chat into plaintext.
    fn decode_chat(&self, chat: &Value) -> Option<Value> {
        no_nulls(chat, "a chat");
        let id = guid(chat.get("id"), "id of a chat");
        for name in ["createdAt", "updatedAt", "lastAccessedAt"] {
            moment(chat.get(name), name);
        }
        text(chat.get("windowMode"), "windowMode of a chat");
        assert!(chat["schemaVersion"].is_i64(), "schemaVersion is an integer: {chat}");

        let messages = chat["messages"].as_array();
        for message in messages.expect("messages are an array") {
            guid(message.get("id"), "id of a message");
            text(message.get("role"), "role of a message");
            moment(message.get("timestamp"), "timestamp of a message");
        }
        let Some(sealed) = blobs(chat, "a chat") else { return Some(chat.clone()) };
        let has_no_text = messages.is_none_or(Vec::is_empty) && chat.get("title").is_none();
        assert!(has_no_text, "an encrypted chat has no plaintext: {chat}");

        let json = self.sealer()?.unseal(ENTITY, &id, &sealed)?;
        let hidden: Map<String, Value> = serde_json::from_slice(&json).expect("our own JSON");
        let mut chat = chat.clone();
        let fields = chat.as_object_mut()?;
        fields.remove("encryptedPayload");
        fields.remove("wrappedDek");
        fields.extend(hidden);
        Some(chat)
    }
}

/// Returns the server's version, with our messages that it lacks.
fn merged(mut theirs: Value, ours: &Value, now: Moment) -> Value {
    let messages_of = |it: &Value| it["messages"].as_array().cloned().unwrap_or_default();
    let mut messages = messages_of(&theirs);
    let their_ids: Vec<_> = messages.iter().map(|it| it["id"].clone()).collect();
    let missing_messages =
        messages_of(ours).into_iter().filter(|it| !their_ids.contains(&it["id"]));
    messages.extend(missing_messages);
    theirs["messages"] = json!(messages);
    theirs["updatedAt"] = json!(now.to_string());
    theirs
}

fn escaped(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
