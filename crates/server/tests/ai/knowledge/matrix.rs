//! Tests of the documents that each caller gets, on each route and of each base.
//!
//! Each base has one document with a word of its own, its canary. The bases that a
//! caller may search are computed from one rule; exactly their canaries must appear.

use std::collections::BTreeMap;

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::{CHAT, chat_request};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{PASSWORD, TestApp};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{JSON, create_base, ingest, knowing};

on_both_databases!(each_caller_gets_the_permitted_documents_on_each_route);

const QUESTION: &str = "Which class may I book for a railway journey?";
const ADMIN: &str = "ada@example.org";

struct Persona {
    name: &'static str,
    group: &'static str,
    is_active: bool,
}

struct Base {
    name: &'static str,
    owner: &'static str,
    shared_with: Option<&'static str>,
    personas: &'static [&'static str],
}

struct Caller {
    email: &'static str,
    group: &'static str,
    role: Option<&'static str>,
}

const PERSONAS: [Persona; 3] = [
    Persona { name: "Host", group: "Sales", is_active: true },
    Persona { name: "Stray", group: "default", is_active: true },
    Persona { name: "Idle", group: "Sales", is_active: false },
];

const BASES: [Base; 5] = [
    Base { name: "Own", owner: "Sales", shared_with: None, personas: &[] },
    Base { name: "Shared", owner: "Law", shared_with: Some("Sales"), personas: &[] },
    Base { name: "Bound", owner: "Law", shared_with: None, personas: &["Host"] },
    Base { name: "Loose", owner: "Law", shared_with: None, personas: &["Stray", "Idle"] },
    Base { name: "Foreign", owner: "default", shared_with: None, personas: &[] },
];

const CALLERS: [Caller; 6] = [
    Caller { email: ADMIN, group: "default", role: Some("admin") },
    Caller { email: "bob@example.org", group: "Sales", role: Some("kb_manager") },
    Caller { email: "cyd@example.org", group: "Sales", role: None },
    Caller { email: "dan@example.org", group: "Law", role: Some("kb_manager") },
    Caller { email: "eve@example.org", group: "Law", role: None },
    Caller { email: "fay@example.org", group: "Sales", role: Some("org_manager") },
];

impl Caller {
    fn is_manager(&self) -> bool {
        matches!(self.role, Some("admin" | "kb_manager"))
    }

    fn manages(&self, base: &Base) -> bool {
        self.is_manager() && base.owner == self.group
    }

    /// Returns whether the caller's searches include a base: one of the own group or
    /// shared with it, or of the conversation's persona if that is active and assigned
    /// to the group.
    fn searches(&self, base: &Base, persona: Option<&Persona>) -> bool {
        let is_bound = |it: &Persona| {
            it.is_active && it.group == self.group && base.personas.contains(&it.name)
        };
        base.owner == self.group
            || base.shared_with == Some(self.group)
            || persona.is_some_and(is_bound)
    }

    /// Returns whether the caller may read the documents of a base. No conversation is
    /// needed for that, so that any persona counts.
    fn reads(&self, base: &Base) -> bool {
        self.searches(base, None) || PERSONAS.iter().any(|it| self.searches(base, Some(it)))
    }
}

fn named(is_permitted: impl Fn(&Base) -> bool) -> Vec<&'static str> {
    BASES.iter().filter(|it| is_permitted(it)).map(|it| it.name).collect()
}

/// Returns the bases whose canaries a text has.
fn canaries(text: &str) -> Vec<&'static str> {
    named(|it| text.contains(&canary(it)))
}

fn canary(base: &Base) -> String {
    format!("CANARY-{}", base.name)
}

struct World {
    app: TestApp,
    demo: Demo,
    console: Console,
    /// Ids of each base and its document, by name.
    bases: BTreeMap<&'static str, (String, String)>,
    /// Ids of personas, by name.
    personas: BTreeMap<&'static str, String>,
    clients: Vec<(&'static Caller, Client)>,
}

impl World {
    async fn start(database: TestDatabase) -> Self {
        let demo = Demo::start(0).expect("a demo upstream");
        let app = knowing(database)
            .with_upstream(&demo.endpoint())
            .with("Admin:RequireSecondFactor", false)
            .start()
            .await;
        for group in ["Sales", "Law"] {
            app.admin(&format!("group create {group}")).await.expect("a group");
        }
        let mut clients = Vec::new();
        for caller in &CALLERS {
            let Caller { email, group, role } = caller;
            clients.push((caller, app.sign_up(email).await));
            app.admin(&format!("group add {email} {group}")).await.expect("a member");
            if let Some(role) = role {
                app.admin(&format!("grant {email} --role {role}")).await.expect("a role");
            }
        }
        let console = Console::open(&app, ADMIN).await;
        let bases = BTreeMap::new();
        let personas = BTreeMap::new();
        let mut world = Self { app, demo, console, bases, personas, clients };
        world.add_bases().await;
        world.add_personas().await;
        world
    }

    async fn add_bases(&mut self) {
        for it in &BASES {
            let id = create_base(&self.app, it.name, it.owner).await;
            let text = format!("{QUESTION} {}.", canary(it));
            let document = ingest(&self.app, &id, it.name, &text).await;
            if let Some(group) = it.shared_with {
                let share = format!("kb share {} {group}", it.name);
                self.app.admin(&share).await.expect("a share");
            }
            self.bases.insert(it.name, (id, document));
        }
    }

    async fn add_personas(&mut self) {
        let groups = self.app.admin("group list").await.expect("groups");
        for it in &PERSONAS {
            let draft = json!({ "name": it.name, "systemPrompt": "Be kind." });
            let created_body = self.write("POST", "", draft.clone()).await.body;
            let id = created_body["id"].as_str().expect("an id").to_owned();
            let line = groups.lines().find(|line| line.contains(it.group)).expect("a group");
            let group = line.split(' ').next().expect("an id");
            self.write("PUT", &format!("/{id}/groups"), json!({ "groupIds": [group] })).await;
            let bound: Vec<&str> = BASES
                .iter()
                .filter(|base| base.personas.contains(&it.name))
                .map(|base| &*self.bases[base.name].0)
                .collect();
            let body = json!({ "knowledgeBaseIds": bound });
            self.write("PUT", &format!("/{id}/knowledge-bases"), body).await;
            let mut content = draft;
            content["isActive"] = json!(it.is_active);
            self.write("PUT", &format!("/{id}"), content).await;
            self.personas.insert(it.name, id);
        }
    }

    async fn write(&self, method: &str, path: &str, body: Value) -> TestResponse {
        let path = format!("/api/admin/managed-personas{path}");
        let answer = self.console.write(method, &path, body).await;
        assert!(answer.status < 300, "{path} {}", answer.text());
        answer
    }
}

async fn each_caller_gets_the_permitted_documents_on_each_route(database: TestDatabase) {
    let world = World::start(database).await;

    for (caller, client) in &world.clients {
        check_manager_routes(&world, caller, client).await;
        check_console(&world, caller, client).await;
        check_links(&world, caller, client).await;
        check_mcp(&world, caller, client).await;
        check_chats(&world, caller, client).await;
    }
    let stranger = world.app.anonymous();
    let (id, document) = &world.bases["Own"];
    for (method, path) in [
        ("GET", format!("/api/kb/{id}/documents")),
        ("POST", format!("/api/kb/{id}/documents")),
        ("DELETE", format!("/api/kb/{id}/documents/{document}")),
    ] {
        let headers = [JSON, ("x-service-key", "kb-0000000000000000")];
        let answer = stranger.send(method, &path, &headers, b"").await;
        assert_eq!(answer.refusal(), (401, "unauthorized"), "{method} {path}");
    }
    for path in [
        "/api/kb-manager/knowledge-bases".to_owned(),
        "/api/admin/knowledge-bases".to_owned(),
        format!("/api/admin/knowledge-bases/{id}/documents"),
        format!("/kb/{document}"),
    ] {
        assert_eq!(stranger.get(&path).await.refusal(), (401, "unauthorized"), "{path}");
    }
    for path in ["/mcp", CHAT] {
        let answer = stranger.post(path, &chat_request(QUESTION)).await;
        assert_eq!(answer.status, 401, "{path}");
    }
}

/// Asserts that a response has this canary, or is this refusal without one.
fn assert_canary(answer: &TestResponse, base: &Base, refusal: Option<(u16, &str)>, about: &str) {
    match refusal {
        None => {
            assert_eq!(answer.status, 200, "{about}");
            assert_eq!(canaries(&answer.text()), [base.name], "{about}");
        }
        Some(refusal) => {
            assert_eq!(answer.refusal(), refusal, "{about}");
            assert!(canaries(&answer.text()).is_empty(), "{about}");
        }
    }
}

async fn check_manager_routes(world: &World, caller: &Caller, client: &Client) {
    const ROOT: &str = "/api/kb-manager/knowledge-bases";
    let listed_response = client.get(ROOT).await;
    if caller.is_manager() {
        let items = listed_response.body.as_array().expect("a list");
        let names: Vec<_> = items.iter().filter_map(|it| it["name"].as_str()).collect();
        let mut expected = named(|it| caller.manages(it));
        expected.sort_unstable();
        assert_eq!(names, expected, "{}", caller.email);
    } else {
        assert_eq!(listed_response.refusal(), (403, "not_a_kb_manager"), "{}", caller.email);
    }
    for base in &BASES {
        let (id, document) = &world.bases[base.name];
        let refusal = match () {
            () if caller.manages(base) => None,
            () if caller.is_manager() => Some((404, "not_found")),
            () => Some((403, "not_a_kb_manager")),
        };
        let about = format!("{} {}", caller.email, base.name);
        let content = client.get(&format!("{ROOT}/{id}/documents/{document}/content")).await;
        assert_canary(&content, base, refusal, &about);
        for path in ["stats", "prompt", "documents"] {
            let answer = client.get(&format!("{ROOT}/{id}/{path}")).await;
            match refusal {
                None => assert_eq!(answer.status, 200, "{about} {path}"),
                Some(refusal) => assert_eq!(answer.refusal(), refusal, "{about} {path}"),
            }
        }
        if let Some(refusal) = refusal {
            check_writes(client, &format!("{ROOT}/{id}"), document, refusal).await;
        }
    }

    let questions = client.get("/api/kb-manager/unanswered-questions").await;
    let expected = if caller.is_manager() { 200 } else { 403 };
    assert_eq!(questions.status, expected, "{}", caller.email);
}

/// Asserts that each change of a base and its document gets this refusal.
async fn check_writes(client: &Client, base: &str, document: &str, refusal: (u16, &str)) {
    let document = format!("{base}/documents/{document}");
    let text = json!({ "title": "New", "contentType": "text/plain", "content": "New." });
    for (method, path, body) in [
        ("POST", format!("{base}/documents"), text.clone()),
        ("PUT", format!("{document}/content"), text),
        ("PUT", format!("{base}/prompt"), json!({ "prompt": "New." })),
        ("POST", format!("{document}/retry"), Value::Null),
        ("DELETE", document, Value::Null),
    ] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = client.send(method, &path, &[JSON], body.as_bytes()).await;
        assert_eq!(answer.refusal(), refusal, "{method} {path}");
    }
}

/// Administrators see all bases, with the cookie of the console alone.
async fn check_console(world: &World, caller: &Caller, client: &Client) {
    const ROOT: &str = "/api/admin/knowledge-bases";
    let mut paths = vec![ROOT.to_owned()];
    for (id, _) in world.bases.values() {
        paths.extend(["", "/stats", "/documents"].map(|it| format!("{ROOT}/{id}{it}")));
    }
    let credentials = json!({ "email": caller.email, "password": PASSWORD });
    let entered = world.app.anonymous().post("/admin/login", &credentials).await;
    let console = caller.role.map(|_| Console::from_answer(&world.app, &entered));
    assert_eq!(entered.status == 200, console.is_some(), "{}", entered.text());
    for path in &paths {
        assert_eq!(client.get(path).await.refusal(), (401, "unauthorized"), "{path}");
        let Some(console) = &console else { continue };
        let answer = console.get(path).await;
        match caller.role {
            Some("admin") => assert_eq!(answer.status, 200, "{path}"),
            _ => assert_eq!(answer.refusal(), (403, "forbidden"), "{} {path}", caller.email),
        }
    }
}

async fn check_links(world: &World, caller: &Caller, client: &Client) {
    for base in &BASES {
        let answer = client.get(&format!("/kb/{}", world.bases[base.name].1)).await;
        let refusal = (!caller.reads(base)).then_some((404, "not_found"));
        assert_canary(&answer, base, refusal, &format!("{} {}", caller.email, base.name));
    }
}

async fn check_mcp(world: &World, caller: &Caller, client: &Client) {
    let call = async |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = [JSON, ("accept", "application/json, text/event-stream")];
        // No persona of the request's changes what is found.
        let persona = ("x-service-persona", world.personas["Host"].as_str());
        let headers = [&headers[..], &[persona]].concat();
        let answer = client.send("POST", "/mcp", &headers, message.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    };
    let response = call("search", json!({ "query": QUESTION })).await;
    assert_eq!(
        canaries(&response.text()),
        named(|it| caller.searches(it, None)),
        "{}",
        caller.email
    );
    for base in &BASES {
        let fetched = call("fetch", json!({ "id": world.bases[base.name].1 })).await;
        let expected: &[&str] = if caller.reads(base) { &[base.name] } else { &[] };
        assert_eq!(canaries(&fetched.text()), expected, "{} {}", caller.email, base.name);
        assert_eq!(fetched.body["result"]["isError"], expected.is_empty(), "{}", fetched.text());
    }
}

/// Each chat searches up front, and again with the tool that the model calls;
/// its answer is streamed or not.
async fn check_chats(world: &World, caller: &Caller, client: &Client) {
    let mut request = chat_request(&format!("use the tool pia_search_knowledge {QUESTION}"));
    let personas = PERSONAS.iter().map(Some).chain([None]);
    for (persona, stream) in personas.flat_map(|it| [(it, false), (it, true)]) {
        let id = persona.map_or("none", |it| world.personas[it.name].as_str());
        let headers = [JSON, ("x-service-persona", id)];
        request["stream"] = json!(stream);
        let answer = client.send("POST", CHAT, &headers, request.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());

        let sent_body = world.demo.last().body;
        let messages = sent_body["messages"].as_array().expect("messages");
        let expected = named(|it| caller.searches(it, persona));
        for role in ["system", "tool"] {
            let text: String =
                messages.iter().filter(|it| it["role"] == role).map(Value::to_string).collect();
            let name = persona.map(|it| it.name);
            let about = format!("{} {name:?} {role}, streamed: {stream}", caller.email);
            assert_eq!(canaries(&text), expected, "{about}: {text}");
        }
    }
}
