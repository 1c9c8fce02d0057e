//! The administrator's browser.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::answer::Response;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::installation::{PASSWORD, address};

/// Address of the administrator's account.
pub(super) static ADMIN: LazyLock<String> = LazyLock::new(|| address(0));

/// Browser that is signed in to the console.
pub(super) struct Browser {
    server: SocketAddr,
    cookie: String,
    csrf_token: String,
}

impl Browser {
    /// Signs in with the password alone.
    pub(super) fn sign_in(server: SocketAddr) -> Outcome<Self> {
        let body = json!({ "email": *ADMIN, "password": PASSWORD }).to_string();
        let mut stream = TcpStream::connect(server)?;
        write!(
            stream,
            "POST /admin/login HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no response to the sign-in")?;
        let cookie = head
            .lines()
            .find_map(|it| it.strip_prefix("set-cookie: "))
            .and_then(|it| it.split(';').next())
            .ok_or_else(|| format!("the sign-in was refused: {answer}"))?;
        let session: Value = serde_json::from_str(body)?;
        let csrf_token = session.get("csrfToken").and_then(Value::as_str).ok_or("no CSRF token")?;

        Ok(Self { server, cookie: cookie.to_owned(), csrf_token: csrf_token.to_owned() })
    }

    pub(super) fn connect(&self) -> Outcome<Connection> {
        Ok(Connection::open(self.server)?)
    }

    /// Sends a `GET`, whose response must have status 200.
    pub(super) fn get(&self, connection: &mut Connection, path: &str) -> Outcome<Response> {
        let to = self.server;
        let cookie = &self.cookie;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {to}\r\ncookie: {cookie}\r\n\r\n");
        expect_ok(path, connection.exchange(request.as_bytes())?)
    }

    /// Sends a `PUT`, whose response must have status 200.
    pub(super) fn put(&self, connection: &mut Connection, path: &str, body: &Value) -> Outcome<()> {
        let Self { server, cookie, csrf_token } = self;
        let body = body.to_string();
        let request = format!(
            "PUT {path} HTTP/1.1\r\nhost: {server}\r\ncookie: {cookie}\r\nx-csrf-token: {csrf_token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        expect_ok(path, connection.exchange(request.as_bytes())?).map(drop)
    }
}

/// Returns a response with status 200, and an error for any other.
fn expect_ok(path: &str, answer: Response) -> Outcome<Response> {
    if answer.status == 200 {
        return Ok(answer);
    }
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    Err(format!("{path}: status {}: {body}", answer.status).into())
}
