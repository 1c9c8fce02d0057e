//! Server that a test writes line by line.

use pia_mcp_client::{McpClient, McpError};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};

/// Server's side of a connection.
pub(crate) struct Script {
    input: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Script {
    /// Connects a client with a script that initializes as it should.
    pub(crate) async fn initialized() -> (McpClient, Self) {
        let (near, mut script) = Self::new();
        let (input, output) = split(near);
        let (client, script) = tokio::join!(McpClient::over(input, output), async move {
            let request = script.receive().await;
            let result = json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "script", "version": "1" },
            });
            script.respond(&request, &result).await;
            assert_eq!(script.receive().await["method"], "notifications/initialized");
            script
        });
        (client.expect("a client"), script)
    }

    /// Connects a client that is being initialized.
    pub(crate) fn connecting() -> (impl Future<Output = Result<McpClient, McpError>>, Self) {
        let (near, script) = Self::new();
        let (input, output) = split(near);
        (McpClient::over(input, output), script)
    }

    fn new() -> (DuplexStream, Self) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (input, output) = split(far);
        (near, Self { input: BufReader::new(input).lines(), output })
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = self.input.next_line().await.expect("a line").expect("a client");
        serde_json::from_str(&line).expect("JSON")
    }

    pub(crate) async fn respond(&mut self, request: &Value, result: &Value) {
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.send(&response.to_string()).await;
    }

    /// Sends a line, which need not be a message.
    pub(crate) async fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.output.write_all(line.as_bytes()).await.expect("a client");
    }
}
