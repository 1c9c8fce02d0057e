//! Streams that come as fast as they can, one after another.

use std::net::SocketAddr;
use std::time::Instant;

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::stats::median;

/// The median of the microseconds that a chunk takes: a stream's time from its
/// request to its end, shared out over its chunks.
pub(crate) fn microseconds_a_chunk(
    to: SocketAddr,
    call: &Call,
    streams: u32,
    chunks: u32,
) -> Outcome<f64> {
    let mut connection = Connection::open(to)?;
    let mut took = Vec::new();
    for _ in 0..streams {
        let begun = Instant::now();
        let answer = connection.exchange(&call.request)?;
        took.push(begun.elapsed().as_secs_f64() * 1e6 / f64::from(chunks));
        call.check(&answer)?;
    }
    median(&took).ok_or_else(|| "no stream was asked for".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{HELLO, answering, greeting};

    #[test]
    fn a_chunk_takes_its_share_of_the_stream() {
        let to = answering(HELLO);

        let whole = microseconds_a_chunk(to, &greeting(to), 5, 1).unwrap();
        let share = microseconds_a_chunk(to, &greeting(to), 5, 1_000_000).unwrap();

        assert!(whole > 0.0 && share < whole, "{whole} {share}");
    }

    #[test]
    fn no_stream_takes_no_time_that_could_be_reported() {
        let to = answering(HELLO);

        assert!(microseconds_a_chunk(to, &greeting(to), 0, 100).is_err());
    }
}
