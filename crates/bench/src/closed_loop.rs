//! Closed-loop load: each connection sends its next request when the last is answered.

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
    pub(crate) took: Duration,
}

/// Sends on each connection as soon as the request before was answered.
pub(crate) fn closed_loop(
    to: SocketAddr,
    call: &Call,
    connections: usize,
    lasts: Duration,
) -> Outcome<Throughput> {
    let connections =
        (0..connections).map(|_| Connection::open(to)).collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    let counts = thread::scope(|scope| {
        let clients: Vec<_> = connections
            .into_iter()
            .map(|connection| scope.spawn(move || client(connection, call, start + lasts)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect::<Outcome<Vec<usize>>>()
    })?;
    Ok(Throughput { answered: counts.iter().sum(), took: start.elapsed() })
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
    use crate::stub::{BUSY, HELLO, answering, greeting};

    fn run(answer: &'static [u8]) -> Outcome<Throughput> {
        let to = answering(answer);
        closed_loop(to, &greeting(to), 4, Duration::from_millis(20))
    }

    #[test]
    fn every_connection_stays_busy() {
        let throughput = run(HELLO).unwrap();

        assert!(throughput.answered >= 4, "{throughput:?}");
        assert!(throughput.took >= Duration::from_millis(20), "{throughput:?}");
    }

    #[test]
    fn a_wrong_answer_ends_the_load() {
        assert!(run(BUSY).unwrap_err().to_string().contains("status 503"));
        assert!(run(b"").unwrap_err().to_string().contains("closed"));
    }
}
