//! Schema of a chat, for the OpenAPI document.

use utoipa::ToSchema;

/// A chat. Keys that are not listed are stored and reported as they came, unless
/// the chat is encrypted: then they go, like `title`, `providerId` and
/// `workingDirectory`, and `messages` is empty. Keys that begin with `server_`
/// are the server's.
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
    /// A GUID that the device made; the one in the path.
    id: String,
    /// 1 if absent.
    schema_version: Option<i32>,
    title: Option<String>,
    /// The first version's counts. `updatedAt` if absent.
    #[schema(format = DateTime)]
    created_at: Option<String>,
    /// Time that decides between two versions: the later wins, and of equal
    /// ones the last that came. In UTC.
    #[schema(format = DateTime)]
    updated_at: String,
    /// Always reported; `updatedAt` if nobody said.
    #[schema(format = DateTime)]
    last_accessed_at: Option<String>,
    window_mode: Option<String>,
    /// A GUID.
    provider_id: Option<String>,
    working_directory: Option<String>,
    /// Oldest first. Known keys of a message must be what clients read there;
    /// all else in it is stored and reported as it came.
    messages: Option<Vec<serde_json::Value>>,
    /// Base64 of nonce, ciphertext and tag; with `wrappedDek` or not at all.
    encrypted_payload: Option<String>,
    /// Base64 of 60 bytes.
    wrapped_dek: Option<String>,
}
