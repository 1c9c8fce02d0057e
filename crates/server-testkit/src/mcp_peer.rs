//! MCP server over streamable HTTP, which answers with JSON.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::ai_peer::{Peer, Request, read, response};

/// Token that the server requires.
pub const MCP_TOKEN: &str = "mcp-s3cret";

/// MCP server with two tools.
pub struct McpPeer {
    /// URL of its transport.
    pub url: String,
    /// Name of the last tool that was called, with its arguments.
    pub called: watch::Receiver<Value>,
    _serving: JoinSet<()>,
}

impl McpPeer {
    /// Starts a server whose tool `read_file` has this text as its description and
    /// returns it.
    pub async fn start(text: &str) -> Self {
        let Peer { listener, endpoint } = Peer::start().await;
        let (sender, called) = watch::channel(Value::Null);
        let text = Arc::<str>::from(text);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let sender = sender.clone();
                let text = Arc::clone(&text);
                connections.spawn(async move {
                    while let Some(request) = read(&mut socket).await {
                        let reply = answer(&request, &text, &sender);
                        if socket.write_all(reply.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { url: endpoint.replace("/v1", "/mcp"), called, _serving: serving }
    }
}

/// Answers a request of a client.
fn answer(request: &Request, text: &str, called: &watch::Sender<Value>) -> String {
    let json = "content-type: application/json\r\n";
    if !request.head.contains(&format!("Bearer {MCP_TOKEN}")) {
        return response("401 Unauthorized", json, "{}");
    }
    let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
        return response("405 Method Not Allowed", "", "");
    };
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "files", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [
            { "name": "read_file", "description": text, "inputSchema": {
                "type": "object", "required": ["path"],
                "properties": { "path": { "type": "string" } },
            } },
            { "name": "recursive", "inputSchema": {
                "type": "object", "properties": { "child": { "$ref": "#" } },
            } },
        ] }),
        Some("tools/call") => {
            called.send_replace(message["params"].clone());
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => return response("202 Accepted", "", ""),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    response("200 OK", json, &answer.to_string())
}
