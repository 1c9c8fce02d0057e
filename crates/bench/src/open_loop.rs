//! Open-loop load: requests at a fixed rate, whether or not earlier ones were
//! answered.
//!
//! The `Pacer` sends on schedule on one thread; a thread for each connection reads.
//! If all connections are busy, the wait counts from the time when the request
//! was due, so that a stalled contender cannot hide its latency (coordinated
//! omission).

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;

/// Load of one contender at a fixed rate of requests.
pub(crate) struct OpenLoop<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) call: &'a Call,
    pub(crate) per_second: u32,
    pub(crate) connections: usize,
}

/// Completed request: the index of the connection, the time and the outcome.
type Completion = (usize, Instant, Outcome<()>);

impl OpenLoop<'_> {
    /// Sends requests while `is_running` holds for the time since the start.
    /// Returns the latency of each in milliseconds, from dispatch to the end of
    /// the response.
    pub(crate) fn run(&self, is_running: impl Fn(Duration) -> bool) -> Outcome<Vec<f64>> {
        let connections = (0..self.connections)
            .map(|_| Connection::open(self.to))
            .collect::<Result<Vec<_>, _>>()?;
        let senders = connections.iter().map(Connection::sender).collect::<Result<Vec<_>, _>>()?;
        let (results, completions) = channel();
        thread::scope(|scope| {
            let pacer = Pacer::new(senders, completions);
            for (index, connection) in connections.into_iter().enumerate() {
                let results = results.clone();
                scope.spawn(move || self.receive(index, connection, &results));
            }
            pacer.pace(&self.call.request, Duration::from_secs(1) / self.per_second, is_running)
        })
    }

    /// Reads responses until the pacer closes the connection.
    fn receive(&self, index: usize, mut connection: Connection, results: &Sender<Completion>) {
        loop {
            let response = connection.receive();
            let at = Instant::now();

            let outcome = match response {
                Ok(Some(response)) => self.call.check(&response),
                // Closed by the pacer, or else by the contender.
                Ok(None) => Err("the connection was closed instead of an answer".into()),
                Err(err) => Err(err),
            };
            let is_last = outcome.is_err();
            if results.send((index, at, outcome)).is_err() || is_last {
                return;
            }
        }
    }
}

/// Sends requests on schedule and records their latencies.
struct Pacer {
    lanes: Vec<Lane>,
    idle: VecDeque<usize>,
    completions: Receiver<Completion>,
    latencies: Vec<f64>,
    /// Set if no connection was free and the schedule has not been caught up
    /// with.
    is_behind: bool,
}

/// Sending side of a connection.
struct Lane {
    sender: TcpStream,
    dispatched: Instant,
}

impl Pacer {
    fn new(senders: Vec<TcpStream>, completions: Receiver<Completion>) -> Self {
        let dispatched = Instant::now();
        let lanes: Vec<Lane> =
            senders.into_iter().map(|sender| Lane { sender, dispatched }).collect();
        let idle = (0..lanes.len()).collect();
        Self { lanes, idle, completions, latencies: Vec::new(), is_behind: false }
    }

    fn pace(
        mut self,
        request: &[u8],
        interval: Duration,
        is_running: impl Fn(Duration) -> bool,
    ) -> Outcome<Vec<f64>> {
        let start = Instant::now();
        let mut after = Duration::ZERO;
        while is_running(after) {
            self.dispatch(start + after, request)?;
            after += interval;
        }
        while self.idle.len() < self.lanes.len() {
            self.wait()?;
        }
        Ok(std::mem::take(&mut self.latencies))
    }

    fn dispatch(&mut self, due: Instant, request: &[u8]) -> Outcome<()> {
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            thread::sleep(early);
            self.is_behind = false;
        }

        // Waiting for a free connection counts as latency, as the contender
        // causes it.
        let dispatched = if self.is_behind { due } else { Instant::now() };

        while let Ok(completion) = self.completions.try_recv() {
            self.record(completion)?;
        }

        while self.idle.is_empty() {
            self.is_behind = true;
            self.wait()?;
        }

        let index = self.idle.pop_front();
        let lane = index.and_then(|it| self.lanes.get_mut(it)).ok_or("there is no connection")?;
        lane.dispatched = dispatched;
        lane.sender.write_all(request)?;

        Ok(())
    }

    fn wait(&mut self) -> Outcome<()> {
        let completion = self.completions.recv()?;
        self.record(completion)
    }

    fn record(&mut self, (index, at, outcome): Completion) -> Outcome<()> {
        outcome?;
        let lane = self.lanes.get(index).ok_or("there is no such connection")?;
        let latency = at.saturating_duration_since(lane.dispatched);
        self.latencies.push(latency.as_secs_f64() * 1e3);
        self.idle.push_back(index);
        Ok(())
    }
}

/// Ends the receiving threads, after an error too.
impl Drop for Pacer {
    fn drop(&mut self) {
        for lane in &self.lanes {
            // The connection may be closed already.
            drop(lane.sender.shutdown(Shutdown::Both));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{BUSY, HELLO, hello_call, stub_server};

    fn run(answer: &'static [u8], connections: usize) -> Outcome<Vec<f64>> {
        let to = stub_server(answer);
        let load = OpenLoop { to, call: &hello_call(to), per_second: 1000, connections };
        load.run(|after| after < Duration::from_millis(50))
    }

    #[test]
    fn every_scheduled_request_has_one_latency() {
        for connections in [1, 8] {
            let latencies = run(HELLO, connections).unwrap();

            assert_eq!(latencies.len(), 50);
            assert!(latencies.iter().all(|it| *it > 0.0));
        }
    }

    #[test]
    fn a_wrong_response_ends_the_load() {
        assert!(run(BUSY, 2).unwrap_err().to_string().contains("status 503"));
    }

    #[test]
    fn a_closed_connection_ends_the_load() {
        assert!(run(b"", 1).unwrap_err().to_string().contains("closed"));
    }
}
