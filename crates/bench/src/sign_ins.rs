//! Many sign-ins at once, and how the server answers others meanwhile.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::open_loop::OpenLoop;
use crate::stats::{count, percentile};

/// Rate and number of connections of each of the other calls meanwhile.
const PER_SECOND: u32 = 200;
const CONNECTIONS: usize = 8;
/// Few sign-ins may be over before one sample in a hundred is worth the name.
const AT_LEAST: Duration = Duration::from_millis(500);

/// Result of a burst of sign-ins.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    /// Sign-ins a second that were answered with tokens.
    pub(crate) per_second: f64,
    /// Number of sign-ins refused because too many were waiting at the server.
    pub(crate) turned_away: usize,
    /// The 99th percentile of each of the others, in milliseconds.
    pub(crate) p99s: Vec<f64>,
}

/// Sends every sign-in at the same time, and asks the `others` until the last
/// of them is answered.
pub(crate) fn sign_ins(to: SocketAddr, others: &[Call], crowd: &[Call]) -> Outcome<Crowd> {
    let connections = crowd.iter().map(|_| Connection::open(to)).collect::<Result<Vec<_>, _>>()?;
    let over = AtomicUsize::new(0);
    let begun = Instant::now();
    thread::scope(|scope| {
        let over = &over;
        let clients: Vec<_> = connections
            .into_iter()
            .zip(crowd)
            .map(|(connection, call)| {
                scope.spawn(move || {
                    let outcome = sign_in(connection, call);
                    over.fetch_add(1, Ordering::Relaxed);
                    outcome.map(|signed_in| (signed_in, begun.elapsed()))
                })
            })
            .collect();
        let askers: Vec<_> = others
            .iter()
            .map(|call| {
                let requested =
                    OpenLoop { to, call, per_second: PER_SECOND, connections: CONNECTIONS };
                let goes_on =
                    move |after| over.load(Ordering::Relaxed) < crowd.len() || after < AT_LEAST;
                scope.spawn(move || requested.run(goes_on))
            })
            .collect();
        let p99s = askers
            .into_iter()
            .map(|asker| {
                let waits = asker.join().unwrap_or_else(|_| Err("a client panicked".into()))?;
                percentile(&waits, 0.99).ok_or_else(|| "nobody was asked".into())
            })
            .collect::<Outcome<Vec<f64>>>()?;
        let ended = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect::<Outcome<Vec<_>>>()?;
        let signed_in = ended.iter().filter(|(signed_in, _)| *signed_in).count();
        let took = ended.iter().map(|(_, after)| *after).max().unwrap_or_default();
        Ok(Crowd {
            per_second: count(signed_in) / took.as_secs_f64(),
            turned_away: ended.len() - signed_in,
            p99s,
        })
    })
}

/// Returns whether the response contained tokens. The only other response
/// allowed is that too many sign-ins are waiting.
fn sign_in(mut connection: Connection, call: &Call) -> Outcome<bool> {
    let answer = connection.exchange(&call.request)?;
    if answer.status == 503 {
        return Ok(false);
    }
    call.check(&answer)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{BUSY, HELLO, answering, greeting};

    fn crowd(sign_ins: &'static [u8]) -> Outcome<Crowd> {
        // Both are asked at the server's address, so they are two servers here.
        let (health, busy) = (answering(HELLO), answering(sign_ins));
        let ended = super::sign_ins(health, &[greeting(health)], &vec![greeting(health); 5])?;
        assert_eq!(ended.turned_away, 0);
        let turned = sign_in(Connection::open(busy)?, &greeting(busy))?;
        Ok(Crowd { turned_away: usize::from(!turned), ..ended })
    }

    #[test]
    fn a_crowd_is_counted_and_health_requested_meanwhile() {
        let came = crowd(HELLO).unwrap();

        assert_eq!(came.turned_away, 0);
        assert!(came.per_second > 0.0 && came.p99s[0] > 0.0, "{came:?}");
    }

    #[test]
    fn whoever_is_reported_to_come_again_is_counted_apart() {
        assert_eq!(crowd(BUSY).unwrap().turned_away, 1);
    }
}
