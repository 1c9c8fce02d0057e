//! Sessions that are continued as fast as the server answers.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::call::{Call, Expectation, Post};
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::installation::{Accounts, Tokens};
use crate::stats::count;

/// Number of sessions that are refreshed concurrently.
const SESSIONS: usize = 16;

/// Refreshes a second; each spends the token that the one before brought.
pub(super) fn per_second(to: SocketAddr, accounts: &Accounts, lasts: Duration) -> Outcome<f64> {
    let tokens = (0..SESSIONS).map(|it| accounts.tokens(it)).collect::<Outcome<Vec<_>>>()?;
    let begun = Instant::now();
    let made = thread::scope(|scope| {
        let sessions: Vec<_> = tokens
            .into_iter()
            .map(|it| scope.spawn(move || chain(to, it.refresh, begun + lasts)))
            .collect();
        sessions
            .into_iter()
            .map(|it| it.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .sum::<Outcome<usize>>()
    })?;
    Ok(count(made) / begun.elapsed().as_secs_f64())
}

fn chain(to: SocketAddr, mut token: String, end: Instant) -> Outcome<usize> {
    let mut connection = Connection::open(to)?;
    let mut made = 0;
    while Instant::now() < end {
        let body = json!({ "refreshToken": token });
        let post = Post { to, path: "/auth/refresh", token: None, body: &body };
        let call = Call::post(&post, Expectation::Holds(b"\"refreshToken\":".to_vec()));
        let answer = connection.exchange(&call.request)?;
        call.check(&answer).map_err(|err| format!("refreshing: {err}"))?;
        token = Tokens::read(&answer.body)?.refresh;
        made += 1;
    }
    Ok(made)
}
