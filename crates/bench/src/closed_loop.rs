//! Closed-loop load: each connection sends its next request after the response to the last.
//!
//! Measures throughput. A slow contender gets fewer requests, so latencies are
//! measured by `open_loop.rs` instead.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;

/// Result of a closed-loop load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Throughput {
    pub(crate) answered: usize,
    pub(crate) elapsed: Duration,
}

/// Sends requests on each connection for this duration, each after the response
/// to the one before.
pub(crate) fn closed_loop(
    to: SocketAddr,
    call: &Call,
    connections: usize,
    duration: Duration,
) -> Outcome<Throughput> {
    let connections =
        (0..connections).map(|_| Connection::open(to)).collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    let counts = thread::scope(|scope| {
        let clients: Vec<_> = connections
            .into_iter()
            .map(|connection| scope.spawn(move || client(connection, call, start + duration)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect::<Outcome<Vec<usize>>>()
    })?;

    Ok(Throughput { answered: counts.iter().sum(), elapsed: start.elapsed() })
}

fn client(mut connection: Connection, call: &Call, until: Instant) -> Outcome<usize> {
    let mut answered = 0;
    while Instant::now() < until {
        call.check(&connection.exchange(&call.request)?)?;
        answered += 1;
    }
    Ok(answered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{BUSY, HELLO, hello_call, stub_server};

    fn run(response: &'static [u8]) -> Outcome<Throughput> {
        let to = stub_server(response);
        closed_loop(to, &hello_call(to), 4, Duration::from_millis(20))
    }

    #[test]
    fn every_connection_sends_for_the_duration() {
        let throughput = run(HELLO).unwrap();

        assert!(throughput.answered >= 4, "{throughput:?}");
        assert!(throughput.elapsed >= Duration::from_millis(20), "{throughput:?}");
    }

    #[test]
    fn a_wrong_response_ends_the_load() {
        assert!(run(BUSY).unwrap_err().to_string().contains("status 503"));
        assert!(run(b"").unwrap_err().to_string().contains("closed"));
    }
}
