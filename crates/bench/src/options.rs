//! Command-line options of the benchmarks.

use std::path::PathBuf;

use crate::failure::Outcome;

/// Usage text of the benchmark.
pub const USAGE: &str = "\
usage: pia-bench BENCHMARK [OPTIONS]

BENCHMARK is gateway, identity, sync, admin, knowledge, assignments or pods.

  --rounds N          number of rounds for the medians (gateway 10,
                      knowledge and assignments 3, the others 5; 2 with
                      --quick)
  --quick             short loads, not for publication
  --server PATH       binary of the server (pia-server beside this one)
  --demo PATH         binary of the demo upstream (pia-demo-upstream beside
                      this one); for gateway
  --litellm PATH      binary of a LiteLLM proxy, measured for comparison; for
                      gateway
  --dbos PATH         Python with the package dbos, measured for comparison; for
                      assignments
  --restate DIR       folder with the npm packages of Restate, measured for
                      comparison; for assignments
  --postgres-url URL  PostgreSQL server on which databases may be created and
                      dropped; without it only SQLite is measured
  --postgres-log FILE log of that server, to count statements; for sync, which
                      configures the server to log them while it counts
  --users N           number of users with 10,000 items each in the database
                      (50; 5 with --quick); for sync
  --chunks N          number of chunks in the vector store (100,000; 10,000 with
                      --quick); for knowledge
  --embeddings URL    endpoint of an embedding model in OpenAI's format, without
                      TLS and up to 1,024 dimensions, whose quality is measured
                      too; for knowledge
  --model NAME        name of that model
  --out FILE          write the results into this Markdown file
";

/// Command-line options that follow the benchmark's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Number of rounds; by default the plan's.
    pub rounds: Option<u32>,
    /// Set if the loads are short.
    pub quick: bool,
    /// Path of the server's program.
    pub server: Option<PathBuf>,
    /// Path of the demo upstream's program.
    pub demo: Option<PathBuf>,
    /// Path of `LiteLLM`'s proxy, if it is to be measured.
    pub litellm: Option<PathBuf>,
    /// Path of a Python with DBOS, if that is to be measured.
    pub dbos: Option<PathBuf>,
    /// Path of a folder with the packages of Restate, if that is to be measured.
    pub restate: Option<PathBuf>,
    /// URL of a cluster where databases may be created and dropped.
    pub postgres_url: Option<String>,
    /// Path of that cluster's log.
    pub postgres_log: Option<PathBuf>,
    /// Number of users with many items; by default the plan's.
    pub users: Option<u32>,
    /// Number of chunks in the vector store; by default the plan's.
    pub chunks: Option<u32>,
    /// Endpoint of an embedding model.
    pub embeddings: Option<String>,
    /// Name of that model.
    pub model: String,
    /// Markdown file that the results are written to.
    pub out: Option<PathBuf>,
}

impl Options {
    /// Parses the arguments that follow the benchmark's name.
    pub fn parse(arguments: &[String]) -> Outcome<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--rounds" => options.rounds = Some(number(argument, value()?, 1000)?),
                "--quick" => options.quick = true,
                "--server" => options.server = Some(value()?.into()),
                "--demo" => options.demo = Some(value()?.into()),
                "--litellm" => options.litellm = Some(value()?.into()),
                "--dbos" => options.dbos = Some(value()?.into()),
                "--restate" => options.restate = Some(value()?.into()),
                "--postgres-url" => options.postgres_url = Some(value()?.clone()),
                "--postgres-log" => options.postgres_log = Some(value()?.into()),
                "--users" => options.users = Some(number(argument, value()?, 100_000)?),
                "--chunks" => options.chunks = Some(number(argument, value()?, 10_000_000)?),
                "--embeddings" => options.embeddings = Some(value()?.clone()),
                "--model" => options.model.clone_from(value()?),
                "--out" => options.out = Some(value()?.into()),
                _ => return Err(format!("unknown argument {argument}\n\n{USAGE}").into()),
            }
        }

        Ok(options)
    }
}

fn number(option: &str, text: &str, max: u32) -> Outcome<u32> {
    match text.parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => Err(format!("{option} takes a number from 1 to {max}, not {text}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Outcome<Options> {
        Options::parse(&arguments.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_option_is_parsed() {
        let options = parse(&[
            "--rounds",
            "3",
            "--quick",
            "--server",
            "s",
            "--demo",
            "d",
            "--dbos",
            "y",
            "--restate",
            "r",
            "--litellm",
            "x",
            "--postgres-url",
            "p",
            "--postgres-log",
            "l",
            "--users",
            "7",
            "--chunks",
            "9",
            "--embeddings",
            "e",
            "--model",
            "m",
            "--out",
            "o",
        ])
        .unwrap();

        let expected = Options {
            rounds: Some(3),
            quick: true,
            server: Some("s".into()),
            demo: Some("d".into()),
            dbos: Some("y".into()),
            restate: Some("r".into()),
            litellm: Some("x".into()),
            postgres_url: Some("p".to_owned()),
            postgres_log: Some("l".into()),
            users: Some(7),
            chunks: Some(9),
            embeddings: Some("e".to_owned()),
            model: "m".to_owned(),
            out: Some("o".into()),
        };
        assert_eq!(options, expected);
        assert_eq!(parse(&[]).unwrap(), Options::default());
    }

    #[test]
    fn an_invalid_argument_is_named_in_the_error() {
        for (arguments, named) in [
            (["--round", "3"], "--round"),
            (["--quick", "--out"], "--out"),
            (["--rounds", "0"], "--rounds"),
            (["--rounds", "many"], "many"),
            (["--users", "100001"], "--users"),
        ] {
            let message = parse(&arguments).unwrap_err().to_string();

            assert!(message.contains(named), "{message}");
        }
    }
}
