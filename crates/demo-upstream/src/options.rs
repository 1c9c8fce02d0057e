//! Options of a demo upstream.

use std::time::Duration;

/// Options that are set when a demo upstream starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoOptions {
    /// Port on 127.0.0.1; 0 takes any free port.
    pub port: u16,
    /// Delay before each chunk of a stream.
    pub delay: Duration,
    /// Number of chunks of a response; `None` means one per word.
    pub chunks: Option<usize>,
    /// Number of worker threads.
    pub workers: usize,
    /// Set to serve responses that are built in advance, at next to no cost,
    /// except to requests with magic words.
    pub prepared: bool,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { port: 0, delay: Duration::ZERO, chunks: None, workers: 1, prepared: false }
    }
}

impl DemoOptions {
    /// Usage text of the command line of `pia-demo-upstream`.
    pub const USAGE: &str = "\
usage: pia-demo-upstream [options]

  --port N       where to listen on 127.0.0.1; 0, the default, takes any free port
  --delay-ms N   wait so long before each chunk of a stream
  --chunks N     cut each answer into N chunks instead of one a word
  --workers N    threads that answer (default 1)
  --prepared     send answers made beforehand, for benchmarks, but to
                 requests with magic words

The first line it prints is the URL it listens on.";

    /// Parses the command-line arguments. The error is a message for the user.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(name) = args.next() {
            match name.as_str() {
                "--port" => options.port = number(&name, args.next())?,
                "--delay-ms" => {
                    options.delay = Duration::from_millis(number(&name, args.next())?);
                }
                "--chunks" => options.chunks = Some(number(&name, args.next())?),
                "--workers" => options.workers = number::<usize>(&name, args.next())?.max(1),
                "--prepared" => options.prepared = true,
                _ => return Err(format!("{name} is no option\n\n{}", Self::USAGE)),
            }
        }

        Ok(options)
    }
}

fn number<T: std::str::FromStr>(name: &str, value: Option<String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("{name} needs a number"))?;
    value.parse().map_err(|_invalid| format!("{name} needs a number, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<DemoOptions, String> {
        DemoOptions::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_option_is_parsed() {
        let options = parse("--port 9 --delay-ms 5 --chunks 3 --workers 2 --prepared").unwrap();

        let delay = Duration::from_millis(5);
        let expected = DemoOptions { port: 9, delay, chunks: Some(3), workers: 2, prepared: true };
        assert_eq!(options, expected);
    }

    #[test]
    fn unknown_options_and_invalid_numbers_are_rejected() {
        assert!(parse("--verbose").unwrap_err().starts_with("--verbose is no option"));
        assert_eq!(parse("--port").unwrap_err(), "--port needs a number");
        assert_eq!(parse("--port high").unwrap_err(), "--port needs a number, not high");
    }
}
