//! Memory that open streams and stalled readers take in a contender.
//!
//! `measure` warms the contender up, opens all streams at once, and compares its
//! resident memory with that before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::burst::microseconds_a_chunk;
use crate::call::Call;
use crate::connection::Connection;
use crate::contenders::Contender;
use crate::failure::Outcome;
use crate::metric::Metric;
use crate::process::{self, Process};
use crate::stats::count;

/// Number of concurrently open streams.
const OPEN_STREAMS: usize = 512;
/// Number of stalled readers.
const STALLED_READERS: usize = 10;
/// Number of streams opened beforehand, so that the server loads what it needs once, such as the
/// tokenizer's table and the first buffers.
const WARM_UP_STREAMS: u32 = 64;

/// Measures a contender that has had no load yet: memory that a load left
/// allocated would be reused for the streams and not be counted.
pub(crate) fn measure(it: &Contender, still_for: Duration) -> Outcome<Vec<(Metric, f64)>> {
    let calls = &it.calls;
    microseconds_a_chunk(it.address, &calls.stream, WARM_UP_STREAMS, 1)?;
    process::settle(&[&it.process])?;
    let before = it.process.resident()?;
    let streams = open_streams(it.address, &calls.slow, OPEN_STREAMS)?;
    // By then, every stream has received a few chunks.
    thread::sleep(Duration::from_secs(3));
    let each = (it.process.resident()? - before) * 1e3 / count(OPEN_STREAMS);
    streams.into_iter().try_for_each(|(stream, first)| read_rest(stream, &first, &calls.slow))?;
    process::settle(&[&it.process])?;
    let [at_first, grown] = stalled(it.address, &calls.long, &it.process, still_for)?;

    Ok(vec![(Metric::OpenStream, each), (Metric::Stalled, at_first), (Metric::Grown, grown)])
}

/// Returns the additional memory in MB after readers have stalled for a second,
/// compared with before they connected, and the further increase after
/// `still_for`. Afterwards each reader reads the rest.
fn stalled(
    to: SocketAddr,
    call: &Call,
    process: &Process,
    still_for: Duration,
) -> Outcome<[f64; 2]> {
    let before = process.resident()?;
    let readers = open_streams(to, call, STALLED_READERS)?;
    thread::sleep(Duration::from_secs(1));
    let at_first = process.resident()?;
    thread::sleep(still_for);
    let growth = [at_first - before, process.resident()? - at_first];

    thread::scope(|scope| {
        let rest: Vec<_> = readers
            .into_iter()
            .map(|(stream, first)| scope.spawn(move || read_rest(stream, &first, call)))
            .collect();
        rest.into_iter()
            .try_for_each(|it| it.join().unwrap_or_else(|_| Err("a reader panicked".into())))
    })?;

    Ok(growth)
}

/// Opens this many streams at once and waits until each has sent something.
fn open_streams(to: SocketAddr, call: &Call, number: usize) -> Outcome<Vec<(TcpStream, Vec<u8>)>> {
    let requested = (0..number).map(|_| -> Outcome<TcpStream> {
        let mut stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        stream.write_all(&call.request)?;
        Ok(stream)
    });

    let streams = requested.collect::<Outcome<Vec<_>>>()?;
    let started = streams.into_iter().map(|mut stream| {
        let mut first = vec![0; 1024];
        let bytes = stream.read(&mut first)?;
        first.truncate(bytes);
        if !first.starts_with(b"HTTP/1.1 200 ") {
            return Err(format!("no stream: {}", String::from_utf8_lossy(&first)).into());
        }
        Ok((stream, first))
    });

    started.collect()
}

fn read_rest(stream: TcpStream, first: &[u8], call: &Call) -> Outcome<()> {
    let response = Connection::with_start(stream, first)?.receive()?;
    call.check(&response.ok_or("a stream ended before it began")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{BUSY, HELLO, hello_call, stub_server};

    #[test]
    fn a_started_stream_is_read_to_its_end() {
        let to = stub_server(HELLO);
        let call = hello_call(to);

        let streams = open_streams(to, &call, 3).unwrap();

        assert_eq!(streams.len(), 3);
        for (stream, first) in streams {
            assert!(!first.is_empty());
            read_rest(stream, &first, &call).unwrap();
        }
    }

    #[test]
    fn a_response_that_is_no_stream_is_an_error() {
        let to = stub_server(BUSY);

        let message = open_streams(to, &hello_call(to), 1).unwrap_err().to_string();

        assert!(message.contains("503"), "{message}");
    }
}
