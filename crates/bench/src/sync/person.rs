//! Device of a user, which pushes and pulls.
//!
//! Walks and full pulls check the number of rows, so that a fast but incomplete
//! answer fails the benchmark instead of improving it.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::Value;

use super::items;
use crate::call::{Call, Expectation, Post};
use crate::connection::Connection;
use crate::failure::Outcome;

/// Timestamp before every change.
pub(super) const BEGINNING: &str = "0001-01-01T00:00:00Z";
const PUSH: &str = "/api/sync/push";
/// Maximum number of items in a page, as devices request it.
const MAX_PAGE_ITEMS: usize = 500;

/// Device with one connection.
pub(super) struct Device {
    to: SocketAddr,
    token: String,
    connection: Connection,
}

/// Result of a pull, and the time it took.
#[derive(Debug)]
pub(super) struct Pulled {
    pub(super) milliseconds: f64,
    pub(super) rows: usize,
    /// Cursor of the next pull.
    pub(super) at: String,
    pub(super) has_more: bool,
    pub(super) catalogue: i64,
    /// `ETag` of the response.
    pub(super) tag: String,
}

impl Device {
    pub(super) fn open(to: SocketAddr, token: String) -> Outcome<Self> {
        Ok(Self { to, token, connection: Connection::open(to)? })
    }

    /// Creates the request that pushes these items.
    pub(super) fn push_request(&self, items: &[Value], last_seen: Option<&str>) -> Call {
        let body = items::push(items, last_seen);
        let post = Post { to: self.to, path: PUSH, token: Some(&self.token), body: &body };
        Call::post(&post, Expectation::Holds(b"\"conflicts\":[]".to_vec()))
    }

    /// Sends the push and returns the stamp of its last change.
    pub(super) fn push(&mut self, push: &Call) -> Outcome<String> {
        let response = self.connection.exchange(&push.request)?;
        push.check(&response).map_err(|err| format!("pushing: {err}"))?;
        text(&serde_json::from_slice(&response.body)?, "serverTimestamp")
    }

    /// Creates the request for a page that ends at this stamp.
    pub(super) fn page_request(&self, since: &str, catalogue: i64, at: &str) -> Call {
        let expectation = Expectation::Holds(format!("\"serverTimestamp\":\"{at}\"").into_bytes());
        Call::get_as(self.to, &page_path(since, catalogue), &self.token, expectation)
    }

    /// Creates the conditional request for a page that the device already has.
    pub(super) fn unchanged_request(&self, since: &str, pulled: &Pulled) -> Call {
        Call::get_unless(self.to, &page_path(since, pulled.catalogue), &self.token, &pulled.tag)
    }

    /// Pulls a page. The catalogue version is 0 if the device has none.
    pub(super) fn pull(&mut self, since: &str, catalogue: i64) -> Outcome<Pulled> {
        self.send_pull(&page_path(since, catalogue))
    }

    /// Pulls without a limit, like devices without support for pages, and
    /// returns the milliseconds. Fails if there are not this many rows.
    pub(super) fn pull_all(&mut self, since: &str, catalogue: i64, rows: usize) -> Outcome<f64> {
        let Pulled { rows: actual, has_more, milliseconds, .. } =
            self.send_pull(&full_path(since, catalogue))?;
        let is_complete = actual == rows && !has_more;
        if is_complete { Ok(milliseconds) } else { Err(wrong_count(actual, rows).into()) }
    }

    fn send_pull(&mut self, path: &str) -> Outcome<Pulled> {
        let expectation = Expectation::Holds(b"\"serverTimestamp\":\"".to_vec());
        let call = Call::get_as(self.to, path, &self.token, expectation);
        let start = Instant::now();
        let response = self.connection.exchange(&call.request)?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        call.check(&response).map_err(|err| format!("pulling: {err}"))?;

        let body: Value = serde_json::from_slice(&response.body)?;
        let rows = body.pointer("/todos/upserted").and_then(Value::as_array);
        let has_more = body.get("hasMore").and_then(Value::as_bool);
        let catalogue = body.get("catalogVersion").and_then(Value::as_i64);

        Ok(Pulled {
            milliseconds,
            rows: rows.ok_or("the answer has no todos")?.len(),
            at: text(&body, "serverTimestamp")?,
            has_more: has_more.ok_or("the answer does not say whether there is more")?,
            catalogue: catalogue.ok_or("the answer has no catalogVersion")?,
            tag: response.tag.ok_or("the answer has no tag")?,
        })
    }

    /// Pulls all pages and returns the milliseconds of each. Fails if there are
    /// not this many rows.
    pub(super) fn walk(&mut self, since: &str, catalogue: i64, rows: usize) -> Outcome<Vec<f64>> {
        let mut since = since.to_owned();
        let mut actual = 0;
        let mut milliseconds = Vec::new();
        loop {
            let page = self.pull(&since, catalogue)?;
            if page.rows > MAX_PAGE_ITEMS {
                return Err(format!("a page of {MAX_PAGE_ITEMS} has {} rows", page.rows).into());
            }

            actual += page.rows;
            milliseconds.push(page.milliseconds);
            since = page.at;
            if !page.has_more {
                break;
            }
        }

        if actual == rows { Ok(milliseconds) } else { Err(wrong_count(actual, rows).into()) }
    }

    /// Sends the conditional request and returns the milliseconds until its
    /// response.
    pub(super) fn request_unchanged(&mut self, request: &Call) -> Outcome<f64> {
        let start = Instant::now();
        let response = self.connection.exchange(&request.request)?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        request.check(&response)?;
        Ok(milliseconds)
    }
}

fn page_path(since: &str, catalogue: i64) -> String {
    format!("{}&limit={MAX_PAGE_ITEMS}", full_path(since, catalogue))
}

fn full_path(since: &str, catalogue: i64) -> String {
    format!("/api/sync/pull?since={since}&catalogVersion={catalogue}")
}

fn wrong_count(actual: usize, expected: usize) -> String {
    format!("{actual} rows came, not {expected}")
}

fn text(body: &Value, name: &str) -> Outcome<String> {
    let text = body.get(name).and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("the answer has no {name}"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::stub_server;

    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\netag: W/\"x\"\r\ncontent-length: 94\r\n\r\n\
        {\"serverTimestamp\":\"t\",\"hasMore\":false,\"todos\":{\"upserted\":[1,2]},\
        \"catalogVersion\":7,\"rest\":0}";

    #[test]
    fn a_walk_fails_if_rows_are_missing() {
        let mut device = Device::open(stub_server(PAGE), String::new()).unwrap();

        let page = device.pull(BEGINNING, 0).unwrap();

        assert_eq!(page.rows, 2);
        assert_eq!(page.catalogue, 7);
        assert_eq!(page.tag.as_str(), "W/\"x\"");
        assert_eq!(device.walk(BEGINNING, 0, 2).unwrap().len(), 1);
        assert!(device.walk(BEGINNING, 0, 3).unwrap_err().to_string().contains("2 rows came"));
        assert!(device.pull_all(BEGINNING, 0, 2).unwrap() > 0.0);
        assert!(device.pull_all(BEGINNING, 0, 3).unwrap_err().to_string().contains("2 rows came"));
    }

    #[test]
    fn a_walk_fails_if_a_page_exceeds_its_limit() {
        let rows = vec!["1"; MAX_PAGE_ITEMS + 1].join(",");
        let body = format!(
            "{{\"serverTimestamp\":\"t\",\"hasMore\":false,\"todos\":{{\"upserted\":[{rows}]}},\
             \"catalogVersion\":7}}"
        );
        let length = body.len();
        let response =
            format!("HTTP/1.1 200 OK\r\netag: W/\"x\"\r\ncontent-length: {length}\r\n\r\n{body}");
        let mut device =
            Device::open(stub_server(response.leak().as_bytes()), String::new()).unwrap();

        let failed = device.walk(BEGINNING, 0, MAX_PAGE_ITEMS + 1).unwrap_err();

        assert_eq!(failed.to_string(), "a page of 500 has 501 rows");
    }
}
