//! Streams without delays between chunks, one after another.

use std::net::SocketAddr;
use std::time::Instant;

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::stats::median;

/// Returns the median time of a chunk in microseconds: the time of a stream
/// from its request to its end, divided by its chunks.
pub(crate) fn microseconds_a_chunk(
    to: SocketAddr,
    call: &Call,
    streams: u32,
    chunks: u32,
) -> Outcome<f64> {
    let mut connection = Connection::open(to)?;
    let mut samples = Vec::new();
    for _ in 0..streams {
        let start = Instant::now();
        let response = connection.exchange(&call.request)?;
        samples.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(chunks));
        call.check(&response)?;
    }
    median(&samples).ok_or_else(|| "no stream was asked for".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{HELLO, hello_call, stub_server};

    #[test]
    fn the_time_of_a_stream_is_divided_by_its_chunks() {
        let to = stub_server(HELLO);

        let full = microseconds_a_chunk(to, &hello_call(to), 5, 1).unwrap();
        let share = microseconds_a_chunk(to, &hello_call(to), 5, 1_000_000).unwrap();

        assert!(full > 0.0 && share < full, "{full} {share}");
    }

    #[test]
    fn measuring_no_stream_is_an_error() {
        let to = stub_server(HELLO);

        assert!(microseconds_a_chunk(to, &hello_call(to), 0, 100).is_err());
    }
}
