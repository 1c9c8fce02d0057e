//! Somebody's device, which pushes and pulls.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::Value;

use super::items;
use crate::call::{Call, Expectation, Post};
use crate::connection::Connection;
use crate::failure::Outcome;

/// Everything that there ever was is later.
pub(super) const BEGINNING: &str = "0001-01-01T00:00:00Z";
const PUSH: &str = "/api/sync/push";
/// Maximum number of items in a page, as devices request it.
const MAX_PAGE_ITEMS: usize = 500;

/// A device on a connection of its own.
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
    /// After which stamp to go on.
    pub(super) at: String,
    pub(super) has_more: bool,
    pub(super) catalogue: i64,
    /// `ETag` of the answer.
    pub(super) tag: String,
}

impl Device {
    pub(super) fn open(to: SocketAddr, token: String) -> Outcome<Self> {
        Ok(Self { to, token, connection: Connection::open(to)? })
    }

    /// Creates the request that pushes these items.
    pub(super) fn push_of(&self, items: &[Value], seen: Option<&str>) -> Call {
        let body = items::push(items, seen);
        let post = Post { to: self.to, path: PUSH, token: Some(&self.token), body: &body };
        Call::post(&post, Expectation::Holds(b"\"conflicts\":[]".to_vec()))
    }

    /// Pushes; gives the stamp of the last that was written.
    pub(super) fn push(&mut self, push: &Call) -> Outcome<String> {
        let answer = self.connection.exchange(&push.request)?;
        push.check(&answer).map_err(|err| format!("pushing: {err}"))?;
        text(&serde_json::from_slice(&answer.body)?, "serverTimestamp")
    }

    /// Creates the request for a page that ends at this stamp.
    pub(super) fn page_of(&self, since: &str, catalogue: i64, at: &str) -> Call {
        let proof = Expectation::Holds(format!("\"serverTimestamp\":\"{at}\"").into_bytes());
        Call::get_as(self.to, &page(since, catalogue), &self.token, proof)
    }

    /// Creates the conditional request for a page that the device already has.
    pub(super) fn same_of(&self, since: &str, pulled: &Pulled) -> Call {
        Call::get_unless(self.to, &page(since, pulled.catalogue), &self.token, &pulled.tag)
    }

    /// Pulls a page; 0 is no version of the catalogue.
    pub(super) fn pull(&mut self, since: &str, catalogue: i64) -> Outcome<Pulled> {
        self.pulled(&page(since, catalogue))
    }

    /// Pulls as devices do that know no pages, so many things; gives the
    /// milliseconds.
    pub(super) fn whole(&mut self, since: &str, catalogue: i64, rows: usize) -> Outcome<f64> {
        let Pulled { rows: got, has_more, milliseconds, .. } =
            self.pulled(&whole(since, catalogue))?;
        let all = got == rows && !has_more;
        if all { Ok(milliseconds) } else { Err(not_all(got, rows).into()) }
    }

    fn pulled(&mut self, path: &str) -> Outcome<Pulled> {
        let proof = Expectation::Holds(b"\"serverTimestamp\":\"".to_vec());
        let call = Call::get_as(self.to, path, &self.token, proof);
        let begun = Instant::now();
        let answer = self.connection.exchange(&call.request)?;
        let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
        call.check(&answer).map_err(|err| format!("pulling: {err}"))?;
        let body: Value = serde_json::from_slice(&answer.body)?;
        let rows = body.pointer("/todos/upserted").and_then(Value::as_array);
        let has_more = body.get("hasMore").and_then(Value::as_bool);
        let catalogue = body.get("catalogVersion").and_then(Value::as_i64);
        Ok(Pulled {
            milliseconds,
            rows: rows.ok_or("the answer has no todos")?.len(),
            at: text(&body, "serverTimestamp")?,
            has_more: has_more.ok_or("the answer does not say whether there is more")?,
            catalogue: catalogue.ok_or("the answer has no catalogVersion")?,
            tag: answer.tag.ok_or("the answer has no tag")?,
        })
    }

    /// Pulls page after page until there is no more; gives the milliseconds
    /// of each.
    pub(super) fn walk(&mut self, since: &str, catalogue: i64, rows: usize) -> Outcome<Vec<f64>> {
        let (mut since, mut got, mut took) = (since.to_owned(), 0, Vec::new());
        loop {
            let page = self.pull(&since, catalogue)?;
            if page.rows > MAX_PAGE_ITEMS {
                return Err(format!("a page of {MAX_PAGE_ITEMS} has {} rows", page.rows).into());
            }
            got += page.rows;
            took.push(page.milliseconds);
            since = page.at;
            if !page.has_more {
                break;
            }
        }
        if got == rows { Ok(took) } else { Err(not_all(got, rows).into()) }
    }

    /// The milliseconds until it learns that it has everything.
    pub(super) fn ask(&mut self, same: &Call) -> Outcome<f64> {
        let begun = Instant::now();
        let answer = self.connection.exchange(&same.request)?;
        let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
        same.check(&answer)?;
        Ok(milliseconds)
    }
}

fn page(since: &str, catalogue: i64) -> String {
    format!("{}&limit={MAX_PAGE_ITEMS}", whole(since, catalogue))
}

fn whole(since: &str, catalogue: i64) -> String {
    format!("/api/sync/pull?since={since}&catalogVersion={catalogue}")
}

fn not_all(got: usize, rows: usize) -> String {
    format!("{got} rows came, not {rows}")
}

fn text(body: &Value, name: &str) -> Outcome<String> {
    let text = body.get(name).and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("the answer has no {name}"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::answering;

    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\netag: W/\"x\"\r\ncontent-length: 94\r\n\r\n\
        {\"serverTimestamp\":\"t\",\"hasMore\":false,\"todos\":{\"upserted\":[1,2]},\
        \"catalogVersion\":7,\"rest\":0}";

    #[test]
    fn a_walk_fails_where_rows_are_missing() {
        let mut device = Device::open(answering(PAGE), String::new()).unwrap();

        let page = device.pull(BEGINNING, 0).unwrap();

        assert_eq!((page.rows, page.catalogue, page.tag.as_str()), (2, 7, "W/\"x\""));
        assert_eq!(device.walk(BEGINNING, 0, 2).unwrap().len(), 1);
        assert!(device.walk(BEGINNING, 0, 3).unwrap_err().to_string().contains("2 rows came"));
        assert!(device.whole(BEGINNING, 0, 2).unwrap() > 0.0);
        assert!(device.whole(BEGINNING, 0, 3).unwrap_err().to_string().contains("2 rows came"));
    }

    #[test]
    fn a_walk_fails_where_a_page_is_longer_than_was_requested() {
        let rows = vec!["1"; MAX_PAGE_ITEMS + 1].join(",");
        let body = format!(
            "{{\"serverTimestamp\":\"t\",\"hasMore\":false,\"todos\":{{\"upserted\":[{rows}]}},\
             \"catalogVersion\":7}}"
        );
        let length = body.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\netag: W/\"x\"\r\ncontent-length: {length}\r\n\r\n{body}");
        let mut device = Device::open(answering(answer.leak().as_bytes()), String::new()).unwrap();

        let failed = device.walk(BEGINNING, 0, MAX_PAGE_ITEMS + 1).unwrap_err();

        assert_eq!(failed.to_string(), "a page of 500 has 501 rows");
    }
}
