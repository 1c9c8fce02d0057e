//! Schema of a chat, for the OpenAPI document.

use utoipa::ToSchema;

/// Chat. Unknown keys are stored and returned unchanged, unless the chat is encrypted:
/// then they are removed, as `title`, `providerId` and `workingDirectory` are, and
/// `messages` is empty. Keys that begin with `server_` are reserved for the server.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "id": "0199f0e0-0000-7000-8000-00000000000a",
    "schemaVersion": 1,
    "title": "Plans for the garden",
    "createdAt": "2026-08-01T09:00:00Z",
    "updatedAt": "2026-08-01T09:14:02.1837744Z",
    "lastAccessedAt": "2026-08-01T00:00:00Z",
    "windowMode": "Assistant",
    "messages": [{
        "id": "0199f0e0-0000-7000-8000-00000000000c",
        "role": "user",
        "content": "What grows in the shade?",
        "timestamp": "2026-08-01T09:14:02.1837744Z",
        "isProtectedRoute": false,
    }],
}))]
#[expect(dead_code, reason = "documentation")]
pub(crate) struct ChatDocument {
    /// GUID chosen by the device; must be the one in the path.
    id: String,
    /// 1 if absent.
    schema_version: Option<i32>,
    title: Option<String>,
    /// Creation time; that of the first stored version counts. `updatedAt` if absent.
    #[schema(format = DateTime)]
    created_at: Option<String>,
    /// Time of the change, in UTC. Of two versions the later one wins, and of equal
    /// ones the one that was received last.
    #[schema(format = DateTime)]
    updated_at: String,
    /// Always returned; `updatedAt` if never set.
    #[schema(format = DateTime)]
    last_accessed_at: Option<String>,
    window_mode: Option<String>,
    /// A GUID.
    provider_id: Option<String>,
    working_directory: Option<String>,
    /// Messages, oldest first. Known keys of a message are validated; unknown ones are
    /// stored and returned unchanged.
    messages: Option<Vec<serde_json::Value>>,
    /// Base64 of nonce, ciphertext and tag; requires `wrappedDek`.
    encrypted_payload: Option<String>,
    /// Base64 of 60 bytes.
    wrapped_dek: Option<String>,
}
