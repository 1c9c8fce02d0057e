//! Walk through the server, as a client.
//!
//! `every_step` lists the steps; each prints what it does and fails if the response is
//! not as expected. `cargo xtask demo` runs it.

#![expect(clippy::indexing_slicing, reason = "a JSON value lacks a key as null, not by a panic")]

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::dev_folder::random_hex;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::streamed::Streamed;

/// Maximum time of a step.
const STEP_TIMEOUT: Duration = Duration::from_mins(2);

/// Progress of a walk: the server, and the current tokens.
pub(crate) struct Walk<'a> {
    interrupt: &'a Interrupt,
    agent: Agent,
    url: String,
    access_token: String,
    refresh_token: String,
    steps: u32,
}

impl<'a> Walk<'a> {
    /// Runs every step in turn; the first failure ends the walk.
    pub(crate) fn through(url: &str, interrupt: &'a Interrupt) -> Outcome {
        let config = Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(STEP_TIMEOUT)).build().into();
        let url = url.to_owned();
        let mut walk = Self {
            interrupt,
            agent,
            url,
            access_token: String::new(),
            refresh_token: String::new(),
            steps: 0,
        };

        let email = format!("demo-{}@example.com", random_hex::<6>()?);
        let account = json!({ "email": email, "password": random_hex::<12>()? });
        walk.every_step(&account, &email)
            .map_err(|err| format!("step {} is not as it should be: {err}", walk.steps))?;
        println!("\nAll {} steps were as they should be.", walk.steps);
        Ok(())
    }

    fn every_step(&mut self, account: &Value, email: &str) -> Outcome {
        self.register(account)?;
        self.sign_in(account)?;
        self.me(email)?;
        self.optimise()?;
        self.chat()?;
        self.search_documents()?;
        self.renew()?;
        self.sign_out()
    }

    fn register(&mut self, account: &Value) -> Outcome {
        self.begin("Register", "POST /auth/register")?;
        let response = self.post("/auth/register", account, 200)?;
        expect(response["success"] == true, "success is not true", &response)?;
        println!("   {} has an account", account["email"]);
        Ok(())
    }

    fn sign_in(&mut self, account: &Value) -> Outcome {
        self.begin("Sign in", "POST /auth/login/local")?;
        let response = self.post("/auth/login/local", account, 200)?;
        expect(response["user"]["email"] == account["email"], "another user", &response)?;
        self.take_tokens(&response)?;
        println!("   an access token for {} s and a refresh token", response["expiresIn"]);
        Ok(())
    }

    fn me(&mut self, email: &str) -> Outcome {
        self.begin("Who am I?", "GET /auth/me")?;
        let url = format!("{}/auth/me", self.url);
        let request = self.agent.get(url).header("authorization", self.bearer());
        let response = read(request.call()?, 200)?;
        expect(response["email"] == email, "another user", &response)?;
        println!("   {response}");
        Ok(())
    }

    fn optimise(&mut self) -> Outcome {
        self.begin("Optimise a text", "POST /api/ai/optimize")?;
        let text = "me and him was going too the shop";
        let response = self.post("/api/ai/optimize", &json!({ "text": text }), 200)?;
        let optimised = response["optimizedText"].as_str().unwrap_or_default();
        expect(!optimised.is_empty(), "there is no text", &response)?;
        println!("   before: {text}\n   after:  {optimised}");
        println!("   {} tokens in, {} out", response["inputTokens"], response["outputTokens"]);
        Ok(())
    }

    fn chat(&mut self) -> Outcome {
        self.begin("Chat, streamed", "POST /api/ai/chat")?;
        let message = "Good morning! Tell me in one sentence what you do.";
        let question = json!({
            "messages": [{ "role": "user", "content": message }],
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        let stream = self.send("/api/ai/chat", &question)?;
        if stream.status() != 200 {
            return read(stream, 200).map(drop);
        }

        println!("   > {message}");
        print!("   < ");
        let streamed = Streamed::read(stream, self.interrupt)?;
        println!("\n   {} chunks, usage {}", streamed.chunks, streamed.usage);
        expect(streamed.chunks > 1, "it came in one piece", &Value::Null)?;
        expect(streamed.is_done, "it did not end with [DONE]", &Value::Null)?;

        expect(streamed.usage.is_object(), "it told no usage", &Value::Null)
    }

    fn search_documents(&mut self) -> Outcome {
        self.begin("Search the documents, as an MCP client", "POST /mcp")?;
        let query = "How do I back up the server?";
        let arguments = json!({ "name": "search", "arguments": { "query": query } });
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments,
        });
        println!("   > {query}");
        let started = Instant::now();

        loop {
            let response = self.post("/mcp", &call, 200)?;
            let result = &response["result"];
            if result["isError"] == true {
                println!("   {}", result["content"][0]["text"]);
                return Ok(());
            }

            let results = result["structuredContent"]["results"].as_array();
            if let Some(documents) = results.filter(|it| !it.is_empty()) {
                for document in documents {
                    println!("   < {} {}", document["title"], document["url"]);
                }
                return Ok(());
            }

            // A server that was just started is still ingesting the documents.
            expect(started.elapsed() < STEP_TIMEOUT, "nothing was found", &response)?;
            sleep(Duration::from_millis(500));
        }
    }

    fn renew(&mut self) -> Outcome {
        self.begin("Refresh", "POST /auth/refresh")?;
        let old_token = self.refresh_token.clone();
        let response = self.post("/auth/refresh", &json!({ "refreshToken": old_token }), 200)?;
        self.take_tokens(&response)?;
        expect(
            self.refresh_token != old_token,
            "the refresh token is still the old one",
            &Value::Null,
        )?;
        println!("   a new access token and a new refresh token");
        Ok(())
    }

    fn sign_out(&mut self) -> Outcome {
        self.begin("Sign out", "POST /auth/logout")?;
        let token = json!({ "refreshToken": self.refresh_token });
        let status = self.send("/auth/logout", &token)?.status();
        expect(status.is_success(), "it was refused", &json!(status.as_u16()))?;
        println!("   done");
        self.begin("Refresh again, which must fail", "POST /auth/refresh")?;
        let response = self.post("/auth/refresh", &token, 401)?;
        expect(response["error"] == "invalid_refresh_token", "another error", &response)?;
        println!("   refused as it should be: {response}");

        Ok(())
    }

    fn begin(&mut self, title: &str, call: &str) -> Outcome {
        self.interrupt.check()?;
        self.steps += 1;
        println!("\n{}. {title}  ({call})", self.steps);
        Ok(())
    }

    fn take_tokens(&mut self, response: &Value) -> Outcome {
        let token = |name: &str| {
            response[name].as_str().map(str::to_owned).ok_or(format!("the answer has no {name}"))
        };
        self.access_token = token("accessToken")?;
        self.refresh_token = token("refreshToken")?;
        Ok(())
    }

    fn post(&self, path: &str, body: &Value, status: u16) -> Outcome<Value> {
        read(self.send(path, body)?, status)
    }

    fn send(&self, path: &str, body: &Value) -> Outcome<Response<Body>> {
        let mut request = self
            .agent
            .post(format!("{}{path}", self.url))
            .content_type("application/json")
            .header("accept", "application/json, text/event-stream");
        if path.starts_with("/api/") || path == "/mcp" {
            request = request.header("authorization", self.bearer());
        }
        Ok(request.send(body.to_string())?)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.access_token)
    }
}

/// Returns the body of a response after checking its status.
fn read(mut response: Response<Body>, status: u16) -> Outcome<Value> {
    let actual = response.status().as_u16();
    let text = response.body_mut().read_to_string()?;
    if actual != status {
        return Err(format!("answered {actual} instead of {status}: {text}").into());
    }
    if text.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&text).map_err(|err| format!("no JSON ({err}): {text}").into())
}

/// Returns an error with the response unless `condition` is true.
pub(crate) fn expect(condition: bool, failure: &str, response: &Value) -> Outcome {
    if condition {
        return Ok(());
    }
    match response {
        Value::Null => Err(failure.into()),
        response => Err(format!("{failure}: {response}").into()),
    }
}
