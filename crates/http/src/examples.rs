//! Examples of bodies, for the OpenAPI document. Next to this file there is a
//! JSON file for each area, by method and path.

use pia_web::Examples;

/// Returns all examples. Tests check them against the schemas and the routes.
pub fn examples() -> Result<Examples, serde_json::Error> {
    Examples::parse([
        include_str!("examples/admin.json"),
        include_str!("examples/ai.json"),
        include_str!("examples/assignments.json"),
        include_str!("examples/auth.json"),
        include_str!("examples/chats.json"),
        include_str!("examples/e2ee.json"),
        include_str!("examples/knowledge.json"),
        include_str!("examples/operations.json"),
        include_str!("examples/sync.json"),
    ])
}
