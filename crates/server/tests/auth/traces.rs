//! Tests that a deleted account leaves nothing: all its texts are searched for in
//! every table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::program::{Invocation, ServerProcess};
use pia_storage::{Conn, Database, DatabaseKind, DatabaseOptions};
use pia_storage_lifecycle::{ErasurePolicy, inventory};
use pia_testkit::databases::TestDatabase;
use uuid::Uuid;

use super::*;

on_both_databases!(a_deleted_account_leaves_nothing);

/// Description of a column in either database.
#[derive(QueryableByName, Debug, Clone)]
struct Column {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    #[diesel(column_name = "column_name")]
    name: String,
    #[diesel(sql_type = Text)]
    kind: String,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Text)]
    found: String,
}

const SQLITE_COLUMNS: &str = "
    SELECT m.name AS table_name, c.name AS column_name, lower(c.type) AS kind
    FROM sqlite_master m JOIN pragma_table_info(m.name) c
    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid";
const POSTGRES_COLUMNS: &str = "
    SELECT table_name::text, column_name::text, data_type::text AS kind
    FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_generated = 'NEVER'
    ORDER BY table_name, ordinal_position";

/// Tables that are filled first, as other rows refer to theirs.
const FIRST: [&str; 4] = ["app_passwords", "sessions", "audit_entries", "assignments"];

/// Operator that every database has.
const BUILT_IN_OPERATOR: Uuid = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0101);

/// Owner of rows, with a name that their canaries contain.
struct Person {
    name: &'static str,
    client: Client,
}

impl Person {
    fn id(&self) -> Uuid {
        self.client.user.as_deref().and_then(|it| it.parse().ok()).expect("an id")
    }

    fn email(&self) -> String {
        format!("{}-canary@example.org", self.name)
    }

    fn canary(&self, table: &str, column: &str) -> String {
        format!("{}-{table}-{column}-canary", self.name)
    }

    /// Returns the id of the row in a table.
    fn row(&self, table: &str) -> Uuid {
        let mut bytes = [0; 16];
        let name = format!("{}{table}", self.name);
        for (index, byte) in name.bytes().enumerate() {
            bytes[index % 16] = u8::wrapping_mul(bytes[index % 16], 31).wrapping_add(byte);
        }
        Uuid::from_bytes(bytes)
    }
}

struct StoredData {
    db: Database,
    columns: Vec<Column>,
}

impl StoredData {
    async fn open(database: &TestDatabase) -> Self {
        let db =
            Database::open(&database.target(), DatabaseOptions::default()).expect("a database");
        let columns = match db.reader().await.expect("a connection") {
            Conn::Sqlite(mut conn) => {
                diesel::sql_query(SQLITE_COLUMNS).load(&mut *conn).await.expect("columns")
            }
            Conn::Postgres(mut conn) => {
                diesel::sql_query(POSTGRES_COLUMNS).load(&mut *conn).await.expect("columns")
            }
        };
        Self { db, columns }
    }

    fn is_postgres(&self) -> bool {
        self.db.provider() == DatabaseKind::Postgres
    }

    fn of(&self, table: &str) -> Vec<Column> {
        self.columns.iter().filter(|it| it.table_name == table).cloned().collect()
    }

    async fn execute(&self, sql: &str) {
        let result = match self.db.writer().await.expect("a connection") {
            Conn::Sqlite(mut conn) => conn.batch_execute(sql).await,
            Conn::Postgres(mut conn) => conn.batch_execute(sql).await,
        };
        result.unwrap_or_else(|err| panic!("{sql}: {err}"));
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        let query = diesel::sql_query(sql);
        let rows: QueryResult<Vec<Found>> = match self.db.reader().await.expect("a connection") {
            Conn::Sqlite(mut conn) => query.load(&mut *conn).await,
            Conn::Postgres(mut conn) => query.load(&mut *conn).await,
        };
        rows.unwrap_or_else(|err| panic!("{sql}: {err}")).into_iter().map(|it| it.found).collect()
    }

    fn bytes(&self, bytes: &[u8]) -> String {
        if self.is_postgres() {
            format!("'\\x{}'::bytea", to_hex(bytes))
        } else {
            format!("X'{}'", to_hex(bytes))
        }
    }

    fn uuid(&self, id: Uuid) -> String {
        if self.is_postgres() { format!("'{id}'::uuid") } else { self.bytes(id.as_bytes()) }
    }

    /// Inserts a row of a person, with a canary in each text and blob.
    async fn plant(&self, person: &Person, table: &str) {
        let columns = self.of(table);
        let names = columns.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        let values = columns.iter().map(|it| self.value(person, it)).collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO {table} ({names}) VALUES ({values})");
        self.execute(&format!("{insert} ON CONFLICT DO NOTHING")).await;
    }

    fn value(&self, person: &Person, column: &Column) -> String {
        let Column { table_name, name, kind } = column;
        let canary = person.canary(table_name, name);
        match (name.as_str(), kind.as_str()) {
            ("user_id" | "owner_id" | "written_by" | "updated_by" | "created_by", _) => {
                self.uuid(person.id())
            }
            ("id" | "message_id" | "chat_id", _) => self.uuid(person.row(table_name)),
            ("policy_id", _) => self.uuid(person.row("client_policies")),
            ("assignment_id" | "last_assignment_id", _) => self.uuid(person.row("assignments")),
            ("operator_id", _) => self.uuid(BUILT_IN_OPERATOR),
            ("session_id", _) => self.uuid(person.row("sessions")),
            ("app_password_id", _) => self.uuid(person.row("app_passwords")),
            ("entry_id", "blob" | "uuid") => self.uuid(person.row("audit_entries")),
            ("group_id" | "invited_by" | "api_key_id" | "position" | "worker_id", _) => {
                "NULL".to_owned()
            }
            ("instance_id", _) => self.uuid(person.row("credit_instances")),
            ("window_key", _) => format!("'{}:{canary}'", person.id()),
            ("email_folded", _) => format!("'{}'", person.email()),
            ("who", _) => format!("'factor:{}:{canary}'", person.id()),
            // Rows that outlive the account contain no personal data.
            (_, "text") if !is_erased(table_name) => "'a word'".to_owned(),
            (_, "blob" | "bytea") if !is_erased(table_name) => self.bytes(b"a commitment"),
            (_, "text") => format!("'{canary}'"),
            (_, "blob" | "bytea") => self.bytes(canary.as_bytes()),
            (_, "boolean") => "FALSE".to_owned(),
            (_, "timestamp with time zone") => "'2100-01-01T00:00:00Z'".to_owned(),
            (name, "integer")
                if name.ends_with("_at") || name == "at" || name.ends_with("_until") =>
            {
                "4102444800000000".to_owned()
            }
            (_, "integer" | "bigint" | "smallint") => "0".to_owned(),
            (name, kind) => panic!("what is {table_name}.{name} of type {kind}?"),
        }
    }

    /// Returns every text and blob in a person's rows.
    async fn collect(&self, person: &Person) -> BTreeSet<Vec<u8>> {
        let mut all = BTreeSet::new();
        for table in inventory().filter(|it| it.erasure == ErasurePolicy::Delete) {
            for column in self.of(table.name) {
                let blob = ["blob", "bytea"].contains(&column.kind.as_str());
                let id = column.name == "id" || column.name.ends_with("_id");
                let id = id && blob && column.name != "credential_id";
                if id || !(blob || column.kind == "text") {
                    continue;
                }
                let name = &column.name;
                let hex = match (self.is_postgres(), blob) {
                    (true, true) => format!("encode({name}, 'hex')"),
                    (true, false) => format!("encode(convert_to({name}, 'UTF8'), 'hex')"),
                    (false, _) => format!("hex({name})"),
                };
                let condition = self.condition(person, table.name);
                let sql = format!(
                    "SELECT {hex} AS found FROM {} WHERE {name} IS NOT NULL AND {condition}",
                    table.name
                );
                all.extend(self.texts(&sql).await.iter().map(|it| unhex(it)));
            }
        }
        all.retain(|it| it.len() >= 8);
        all
    }

    /// Returns the SQL condition for the rows of a person.
    fn condition(&self, person: &Person, table: &str) -> String {
        let user = self.uuid(person.id());
        match table {
            "accounts" => format!("id = {user}"),
            "refresh_tokens" => {
                format!("session_id IN (SELECT id FROM sessions WHERE user_id = {user})")
            }
            "assignment_events" => {
                format!("assignment_id IN (SELECT id FROM assignments WHERE user_id = {user})")
            }
            "attempts" | "guesses" => format!("who LIKE '%{}%'", person.id()),
            "credit_reservations" => format!("window_key LIKE '%{}%'", person.id()),
            "invitations" => format!("email_folded = '{}'", person.email()),
            _ => format!("user_id = {user}"),
        }
    }

    /// Returns all rows, or the files of SQLite, with the files of the server.
    async fn dump(&self, call: &Invocation, database: &TestDatabase) -> Vec<u8> {
        let mut dump = Vec::new();
        if self.is_postgres() {
            let tables: BTreeSet<_> = self.columns.iter().map(|it| &it.table_name).collect();
            for table in tables {
                let rows = self.texts(&format!("SELECT t::text AS found FROM {table} t")).await;
                dump.extend(rows.join("\n").into_bytes());
            }
        } else {
            let file = database.url.strip_prefix("sqlite://").expect("a file");
            let folder = std::path::Path::new(file).parent().expect("a folder");
            files(folder, &mut dump);
        }
        files(call.dir(), &mut dump);
        dump
    }
}

fn is_erased(table: &str) -> bool {
    inventory().any(|it| it.name == table && it.erasure == ErasurePolicy::Delete)
}

fn files(folder: &std::path::Path, dump: &mut Vec<u8>) {
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, dump);
        } else {
            dump.extend(std::fs::read(path).expect("a file"));
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|it| std::str::from_utf8(it).expect("digits"))
        .map(|it| u8::from_str_radix(it, 16).expect("a byte"))
        .collect()
}

/// Returns the encodings of a canary.
fn forms(canary: &[u8]) -> Vec<Vec<u8>> {
    let hex = to_hex(canary);
    let mut forms = vec![canary.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()];
    for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        forms.push(engine.encode(canary).into_bytes());
    }
    forms
}

fn user_forms(user: Uuid) -> Vec<Vec<u8>> {
    let mut canaries = forms(user.as_bytes());
    canaries.push(user.to_string().into_bytes());
    canaries
}

fn contains(dump: &[u8], forms: &[Vec<u8>]) -> bool {
    forms.iter().any(|form| memchr::memmem::find(dump, form).is_some())
}

fn display(canary: &[u8]) -> String {
    String::from_utf8_lossy(canary).into_owned()
}

/// Registers an account that has signed in several times, once with a wrong
/// password, from a device with all headers, and has started to set up a second
/// factor.
async fn register(program: &ServerProcess, name: &'static str) -> Person {
    let stranger = program.anonymous();
    let email = format!("{name}-canary@example.org");
    let registration = json!({
        "email": email,
        "password": PASSWORD,
        "displayName": format!("{name}-display-canary"),
        "companyName": format!("{name}-company-canary"),
        "customerType": 1,
    });
    let registration_response = stranger.post("/auth/register", &registration).await;
    assert_eq!(registration_response.status, 200, "{}", registration_response.text());

    let canary = |field: &str| format!("{name}-{field}-canary");
    let agent = canary("agent");
    let id = canary("device");
    let app = canary("app");
    let system = canary("system");
    let device = [
        ("content-type", "application/json"),
        ("user-agent", &*agent),
        ("x-pia-device-id", &*id),
        ("x-pia-app-version", &*app),
        ("x-pia-os-version", &*system),
    ];
    let mut signed_in = Value::Null;
    for password in ["a wrong password", PASSWORD, PASSWORD] {
        let body = json!({ "email": email, "password": password }).to_string();
        signed_in = stranger.send("POST", "/auth/login/local", &device, body.as_bytes()).await.body;
    }
    let client = stranger.with_tokens(&signed_in);
    let proof = json!({ "password": PASSWORD }).to_string();
    let setup = client.send("POST", "/auth/mfa/totp/begin", &device, proof.as_bytes()).await;
    assert_eq!(setup.status, 200, "{}", setup.text());
    Person { name, client }
}

/// Returns the tables with rows of people except their accounts, those first that others
/// refer to.
fn personal_tables() -> Vec<&'static str> {
    let mut tables: Vec<_> = inventory()
        .filter(|it| !matches!(it.erasure, ErasurePolicy::NotPersonal(_)))
        .map(|it| it.name)
        .filter(|it| *it != "accounts")
        .collect();
    tables.sort_by_key(|it| FIRST.iter().position(|first| first == it).unwrap_or(FIRST.len()));
    tables
}

async fn a_deleted_account_leaves_nothing(database: TestDatabase) {
    let call = Invocation::new()
        .licensed()
        .with("Database__Provider", database.provider().name())
        .with("Database__ConnectionString", &database.url);
    let program = call.start().await;
    let ada = register(&program, "ada").await;
    let bob = register(&program, "bob").await;
    let stored_data = StoredData::open(&database).await;
    let tables = personal_tables();
    for person in [&ada, &bob] {
        // Other rows refer to these. Reservations of unknown instances are deleted.
        for table in ["client_policies", "credit_instances"] {
            stored_data.plant(person, table).await;
        }
        for table in &tables {
            stored_data.plant(person, table).await;
        }
    }
    let mut hers = stored_data.collect(&ada).await;
    let mut his = stored_data.collect(&bob).await;
    let shared: Vec<_> = hers.intersection(&his).cloned().collect();
    for canary in &shared {
        hers.remove(canary);
        his.remove(canary);
    }
    let previous_dump = stored_data.dump(&call, &database).await;
    for canary in hers.iter().chain(&his) {
        assert!(
            contains(&previous_dump, &forms(canary)),
            "{} is not found at all",
            display(canary)
        );
    }
    for table in tables.iter().filter(|it| is_erased(it)) {
        let marked = format!("ada-{table}-");
        let planted = hers.iter().any(|it| memchr::memmem::find(it, marked.as_bytes()).is_some());
        let texts =
            stored_data.of(table).iter().any(|it| ["text", "blob", "bytea"].contains(&&*it.kind));
        let by_route = ["person_salts", "totp_factors", "provider_identities"].contains(table);
        assert!(planted || by_route || !texts || *table == "invitations", "{table} has no canary");
    }

    let confirmation = json!({ "confirm": "DELETE", "password": PASSWORD });
    let response = ada.client.post("/auth/account/delete", &confirmation).await;

    assert_eq!(response.status, 200, "{}", response.text());
    let later_dump = stored_data.dump(&call, &database).await;
    for canary in &hers {
        assert!(!contains(&later_dump, &forms(canary)), "{} is left", display(canary));
    }
    assert!(!contains(&later_dump, &user_forms(ada.id())), "her id is left");
    for canary in &his {
        assert!(contains(&later_dump, &forms(canary)), "{} is gone", display(canary));
    }
    assert!(contains(&later_dump, &user_forms(bob.id())), "his id is gone");
    assert_eq!(bob.client.get("/auth/me").await.status, 200);

    let log = program.log().into_bytes();
    for canary in hers.iter().chain(&his) {
        assert!(!contains(&log, &forms(canary)), "{} was logged", display(canary));
    }
}
