//! Closed-loop load of token refreshes.

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

/// Returns the refreshes a second; each uses the token of the one before.
pub(super) fn per_second(to: SocketAddr, accounts: &Accounts, duration: Duration) -> Outcome<f64> {
    let tokens = (0..SESSIONS).map(|it| accounts.tokens(it)).collect::<Outcome<Vec<_>>>()?;
    let start = Instant::now();
    let completed = thread::scope(|scope| {
        let sessions: Vec<_> = tokens
            .into_iter()
            .map(|it| scope.spawn(move || refresh_until(to, it.refresh, start + duration)))
            .collect();
        sessions
            .into_iter()
            .map(|it| it.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .sum::<Outcome<usize>>()
    })?;

    Ok(count(completed) / start.elapsed().as_secs_f64())
}

fn refresh_until(to: SocketAddr, mut token: String, end: Instant) -> Outcome<usize> {
    let mut connection = Connection::open(to)?;
    let mut completed = 0;
    while Instant::now() < end {
        let body = json!({ "refreshToken": token });
        let post = Post { to, path: "/auth/refresh", token: None, body: &body };
        let call = Call::post(&post, Expectation::Holds(b"\"refreshToken\":".to_vec()));
        let response = connection.exchange(&call.request)?;
        call.check(&response).map_err(|err| format!("refreshing: {err}"))?;
        token = Tokens::read(&response.body)?.refresh;
        completed += 1;
    }

    Ok(completed)
}
