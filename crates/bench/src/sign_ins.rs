//! Concurrent sign-ins, and the latency of other requests during them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::open_loop::OpenLoop;
use crate::stats::{count, percentile};

/// Rate and number of connections of each of the other calls.
const PER_SECOND: u32 = 200;
const CONNECTIONS: usize = 8;
/// Minimum duration of the other calls, so that few sign-ins give enough
/// samples for a percentile.
const MIN_DURATION: Duration = Duration::from_millis(500);

/// Result of concurrent sign-ins.
#[derive(Debug, Clone)]
pub(crate) struct SignInLoad {
    /// Successful sign-ins a second.
    pub(crate) per_second: f64,
    /// Number of sign-ins refused because too many were waiting at the server.
    pub(crate) rejected: usize,
    /// Latency of each of the other calls in milliseconds: the 99th percentile.
    pub(crate) p99s: Vec<f64>,
}

/// Sends all sign-ins of `logins` at the same time, and the calls of `others`
/// until the last sign-in is answered.
pub(crate) fn sign_ins(to: SocketAddr, others: &[Call], logins: &[Call]) -> Outcome<SignInLoad> {
    let connections = logins.iter().map(|_| Connection::open(to)).collect::<Result<Vec<_>, _>>()?;
    let answered = AtomicUsize::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        let answered = &answered;
        let clients: Vec<_> = connections
            .into_iter()
            .zip(logins)
            .map(|(connection, call)| {
                scope.spawn(move || {
                    let outcome = sign_in(connection, call);
                    answered.fetch_add(1, Ordering::Relaxed);
                    outcome.map(|signed_in| (signed_in, start.elapsed()))
                })
            })
            .collect();

        let loads: Vec<_> = others
            .iter()
            .map(|call| {
                let load = OpenLoop { to, call, per_second: PER_SECOND, connections: CONNECTIONS };
                let is_running = move |after| {
                    answered.load(Ordering::Relaxed) < logins.len() || after < MIN_DURATION
                };
                scope.spawn(move || load.run(is_running))
            })
            .collect();

        let p99s = loads
            .into_iter()
            .map(|client| {
                let latencies =
                    client.join().unwrap_or_else(|_| Err("a client panicked".into()))?;
                percentile(&latencies, 0.99).ok_or_else(|| "nobody was asked".into())
            })
            .collect::<Outcome<Vec<f64>>>()?;

        let outcomes = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect::<Outcome<Vec<_>>>()?;
        let signed_in = outcomes.iter().filter(|(signed_in, _)| *signed_in).count();
        let elapsed = outcomes.iter().map(|(_, after)| *after).max().unwrap_or_default();
        Ok(SignInLoad {
            per_second: count(signed_in) / elapsed.as_secs_f64(),
            rejected: outcomes.len() - signed_in,
            p99s,
        })
    })
}

/// Returns `true` if the response contains tokens, and `false` if too many
/// sign-ins are waiting. Any other response is an error.
fn sign_in(mut connection: Connection, call: &Call) -> Outcome<bool> {
    let response = connection.exchange(&call.request)?;
    if response.status == 503 {
        return Ok(false);
    }
    call.check(&response)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{BUSY, HELLO, hello_call, stub_server};

    fn run(sign_ins: &'static [u8]) -> Outcome<SignInLoad> {
        // Both are requested at one address, so the test needs two servers.
        let health = stub_server(HELLO);
        let busy = stub_server(sign_ins);
        let load = super::sign_ins(health, &[hello_call(health)], &vec![hello_call(health); 5])?;
        assert_eq!(load.rejected, 0);
        let accepted = sign_in(Connection::open(busy)?, &hello_call(busy))?;
        Ok(SignInLoad { rejected: usize::from(!accepted), ..load })
    }

    #[test]
    fn other_calls_are_measured_during_the_sign_ins() {
        let load = run(HELLO).unwrap();

        assert_eq!(load.rejected, 0);
        assert!(load.per_second > 0.0 && load.p99s[0] > 0.0, "{load:?}");
    }

    #[test]
    fn rejected_sign_ins_are_counted_separately() {
        assert_eq!(run(BUSY).unwrap().rejected, 1);
    }
}
