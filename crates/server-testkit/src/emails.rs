//! Emails in the outbox.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::MailId;
use pia_sealing::{MasterKeys, ServerSeal};
use pia_storage::schema::mails;
use pia_storage::{Database, DbError, DbUid, StoredEmail, on_conn};

use crate::client::{Client, TestResponse};
use crate::harness::TestApp;

/// Id and sealed text of an email.
type Row = (DbUid, Option<Vec<u8>>);

/// Opens the database of a server, as another program would.
pub fn open(app: &TestApp) -> Database {
    let startup = app.config.latest().database.startup.clone();
    Database::open(&startup.target, startup.options).expect("a database")
}

/// Returns the unsent emails to an address, the oldest first.
pub async fn emails_to(app: &TestApp, address: &str) -> Vec<StoredEmail> {
    let query = mails::table.order(mails::id).select((mails::id, mails::sealed));
    let db = open(app);
    let seal = server_seal(app);
    let rows: Result<Vec<Row>, DbError> = on_conn!(db.reader(), |conn| query.load(conn).await?);
    rows.expect("emails")
        .into_iter()
        .map(|(id, sealed)| {
            let sealed = sealed.expect("an unsent email");
            StoredEmail::open(&seal, MailId(id.0), &sealed).expect("an email")
        })
        .filter(|it| it.to == address)
        .collect()
}

/// Returns the names of the emails to an address, the oldest first.
pub async fn names_to(app: &TestApp, address: &str) -> Vec<String> {
    emails_to(app, address).await.into_iter().map(|it| it.template).collect()
}

/// Returns the link in the last email to an address.
pub async fn link_to(app: &TestApp, address: &str) -> String {
    let emails = emails_to(app, address).await;
    emails.last().expect("an email").fields["link"].clone()
}

/// Returns the target of a link: path and query.
pub fn target<'a>(app: &TestApp, link: &'a str) -> &'a str {
    let config = app.config.latest();
    link.strip_prefix(config.server.public_url.as_str()).expect("a link to this server")
}

/// Follows a link as a client that accepts JSON.
pub async fn redeem(client: &Client, path: &str) -> TestResponse {
    client.send("GET", path, &[("accept", "application/json")], b"").await
}

/// Returns the token in a link.
pub fn token(link: &str) -> &str {
    link.rsplit_once("token=").expect("a token").1
}

fn server_seal(app: &TestApp) -> ServerSeal {
    let current = app.config.latest().encryption.master_key.clone();
    ServerSeal::new(MasterKeys { current, previous: None })
}
