//! MCP server over streamable HTTP, which answers with JSON.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
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
        let tools = Arc::new(Tools { text: text.to_owned(), called: sender });
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(serve(socket, Arc::clone(&tools)));
            }
        });
        Self { url: endpoint.replace("/v1", "/mcp"), called, _serving: serving }
    }
}

/// Answers the requests of a connection until it ends.
async fn serve(mut socket: TcpStream, tools: Arc<Tools>) {
    while let Some(request) = read(&mut socket).await {
        let reply = answer(&request, &tools);
        if socket.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Tools of the server.
struct Tools {
    text: String,
    called: watch::Sender<Value>,
}

impl Tools {
    /// Returns the result of a request; `None` for notifications and unknown methods.
    fn result(&self, message: &Value) -> Option<Value> {
        let text = &self.text;
        match message["method"].as_str()? {
            "initialize" => Some(json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "files", "version": "1" },
            })),
            "tools/list" => Some(json!({ "tools": [
                { "name": "read_file", "description": text, "inputSchema": {
                    "type": "object", "required": ["path"],
                    "properties": { "path": { "type": "string" } },
                } },
                { "name": "recursive", "inputSchema": {
                    "type": "object", "properties": { "child": { "$ref": "#" } },
                } },
            ] })),
            "tools/call" => {
                self.called.send_replace(message["params"].clone());
                Some(json!({ "content": [{ "type": "text", "text": text }] }))
            }
            _ => None,
        }
    }
}

/// Answers a request of a client.
fn answer(request: &Request, tools: &Tools) -> String {
    const JSON: &str = "content-type: application/json\r\n";

    if !request.head.contains(&format!("Bearer {MCP_TOKEN}")) {
        return response("401 Unauthorized", JSON, "{}");
    }
    let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
        return response("405 Method Not Allowed", "", "");
    };
    let Some(result) = tools.result(&message) else { return response("202 Accepted", "", "") };

    let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    response("200 OK", JSON, &reply.to_string())
}
