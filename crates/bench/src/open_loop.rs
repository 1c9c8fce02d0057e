//! Requests at a fixed rate, whether or not earlier ones were answered.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::connection::Connection;
use crate::failure::Outcome;

/// A rate of requests to one contender.
pub(crate) struct OpenLoop<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) call: &'a Call,
    pub(crate) per_second: u32,
    pub(crate) connections: usize,
}

/// An answer, or why there is none: on which connection, and when.
type Ended = (usize, Instant, Outcome<()>);

impl OpenLoop<'_> {
    /// Sends for as long as `goes_on` says of the time since the start;
    /// gives the milliseconds from dispatch to the end of each answer.
    pub(crate) fn run(&self, goes_on: impl Fn(Duration) -> bool) -> Outcome<Vec<f64>> {
        let connections = (0..self.connections)
            .map(|_| Connection::open(self.to))
            .collect::<Result<Vec<_>, _>>()?;
        let senders = connections.iter().map(Connection::sender).collect::<Result<Vec<_>, _>>()?;
        let (report, ended) = channel();
        thread::scope(|scope| {
            let pacer = Pacer::new(senders, ended);
            for (place, connection) in connections.into_iter().enumerate() {
                let report = report.clone();
                scope.spawn(move || self.receive(place, connection, &report));
            }
            pacer.pace(&self.call.request, Duration::from_secs(1) / self.per_second, goes_on)
        })
    }

    /// Reads answers until the connection ends, which the pacer sees to.
    fn receive(&self, place: usize, mut connection: Connection, report: &Sender<Ended>) {
        loop {
            let answer = connection.receive();
            let at = Instant::now();
            let outcome = match answer {
                Ok(Some(answer)) => self.call.check(&answer),
                // The pacer has gone, or else the contender has.
                Ok(None) => Err("the connection was closed instead of an answer".into()),
                Err(err) => Err(err),
            };
            let last = outcome.is_err();
            if report.send((place, at, outcome)).is_err() || last {
                return;
            }
        }
    }
}

/// Sends at its times and gathers what was answered.
struct Pacer {
    lines: Vec<Line>,
    idle: VecDeque<usize>,
    ended: Receiver<Ended>,
    latencies: Vec<f64>,
    /// No connection was free, and the schedule has not been caught up with.
    behind: bool,
}

/// A connection's sending side.
struct Line {
    sender: TcpStream,
    dispatched: Instant,
}

impl Pacer {
    fn new(senders: Vec<TcpStream>, ended: Receiver<Ended>) -> Self {
        let dispatched = Instant::now();
        let lines: Vec<Line> =
            senders.into_iter().map(|sender| Line { sender, dispatched }).collect();
        let idle = (0..lines.len()).collect();
        Self { lines, idle, ended, latencies: Vec::new(), behind: false }
    }

    fn pace(
        mut self,
        request: &[u8],
        interval: Duration,
        goes_on: impl Fn(Duration) -> bool,
    ) -> Outcome<Vec<f64>> {
        let start = Instant::now();
        let mut after = Duration::ZERO;
        while goes_on(after) {
            self.dispatch(start + after, request)?;
            after += interval;
        }
        while self.idle.len() < self.lines.len() {
            self.wait()?;
        }
        Ok(std::mem::take(&mut self.latencies))
    }

    fn dispatch(&mut self, due: Instant, request: &[u8]) -> Outcome<()> {
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            thread::sleep(early);
            self.behind = false;
        }
        // Waiting for a free connection counts: it is the contender's doing.
        let dispatched = if self.behind { due } else { Instant::now() };
        while let Ok(ended) = self.ended.try_recv() {
            self.record(ended)?;
        }
        while self.idle.is_empty() {
            self.behind = true;
            self.wait()?;
        }
        let place = self.idle.pop_front();
        let line = place.and_then(|it| self.lines.get_mut(it)).ok_or("there is no connection")?;
        line.dispatched = dispatched;
        line.sender.write_all(request)?;
        Ok(())
    }

    fn wait(&mut self) -> Outcome<()> {
        let ended = self.ended.recv()?;
        self.record(ended)
    }

    fn record(&mut self, (place, at, outcome): Ended) -> Outcome<()> {
        outcome?;
        let line = self.lines.get(place).ok_or("there is no such connection")?;
        let took = at.saturating_duration_since(line.dispatched);
        self.latencies.push(took.as_secs_f64() * 1e3);
        self.idle.push_back(place);
        Ok(())
    }
}

/// Ends the receiving threads, on a failure too.
impl Drop for Pacer {
    fn drop(&mut self) {
        for line in &self.lines {
            // It may be closed already.
            drop(line.sender.shutdown(Shutdown::Both));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub::{BUSY, HELLO, answering, greeting};

    fn run(answer: &'static [u8], connections: usize) -> Outcome<Vec<f64>> {
        let to = answering(answer);
        let load = OpenLoop { to, call: &greeting(to), per_second: 1000, connections };
        load.run(|after| after < Duration::from_millis(50))
    }

    #[test]
    fn every_request_of_the_schedule_is_answered_once() {
        for connections in [1, 8] {
            let waits = run(HELLO, connections).unwrap();

            assert_eq!(waits.len(), 50);
            assert!(waits.iter().all(|it| *it > 0.0));
        }
    }

    #[test]
    fn a_wrong_answer_ends_the_load() {
        assert!(run(BUSY, 2).unwrap_err().to_string().contains("status 503"));
    }

    #[test]
    fn a_connection_that_is_closed_ends_the_load() {
        assert!(run(b"", 1).unwrap_err().to_string().contains("closed"));
    }
}
