//! What the command line asks for.

use std::path::PathBuf;

use crate::failure::Outcome;

/// How the benchmark is called.
pub const USAGE: &str = "\
usage: pia-bench gateway|identity [OPTIONS]

  --rounds N          rounds to take the medians over (gateway 10, identity 5;
                      2 with --quick)
  --quick             short loads: to see that it works, not to publish
  --server PATH       the server's program (pia-server beside this one)
  --demo PATH         the demo upstream's program (pia-demo-upstream beside it);
                      for gateway
  --postgres-url URL  a PostgreSQL where a database may be made and dropped;
                      without it the server is measured on SQLite alone
  --out FILE          write the results into this Markdown file
";

/// The command line behind the benchmark's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// How many rounds; as many as the plan says where nothing is said.
    pub rounds: Option<u32>,
    /// Whether the loads are short.
    pub quick: bool,
    /// Where the server's program is.
    pub server: Option<PathBuf>,
    /// Where the demo upstream's program is.
    pub demo: Option<PathBuf>,
    /// A cluster where a database may be made and dropped.
    pub postgres_url: Option<String>,
    /// Which Markdown file takes the results.
    pub out: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments that follow the benchmark's name.
    pub fn parse(arguments: &[String]) -> Outcome<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--quick" => options.quick = true,
                "--rounds" => options.rounds = Some(rounds(value()?)?),
                "--server" => options.server = Some(value()?.into()),
                "--demo" => options.demo = Some(value()?.into()),
                "--postgres-url" => options.postgres_url = Some(value()?.clone()),
                "--out" => options.out = Some(value()?.into()),
                _ => return Err(format!("unknown argument {argument}\n\n{USAGE}").into()),
            }
        }
        Ok(options)
    }
}

fn rounds(text: &str) -> Outcome<u32> {
    match text.parse() {
        Ok(rounds @ 1..=1000) => Ok(rounds),
        _ => Err(format!("--rounds takes a number from 1 to 1000, not {text}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Outcome<Options> {
        Options::parse(&arguments.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_option_is_understood() {
        let options = parse(&[
            "--rounds",
            "3",
            "--quick",
            "--server",
            "s",
            "--demo",
            "d",
            "--postgres-url",
            "p",
            "--out",
            "o",
        ])
        .unwrap();

        let expected = Options {
            rounds: Some(3),
            quick: true,
            server: Some("s".into()),
            demo: Some("d".into()),
            postgres_url: Some("p".to_owned()),
            out: Some("o".into()),
        };
        assert_eq!(options, expected);
        assert_eq!(parse(&[]).unwrap(), Options::default());
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (arguments, named) in [
            (["--round", "3"], "--round"),
            (["--quick", "--out"], "--out"),
            (["--rounds", "0"], "--rounds"),
            (["--rounds", "many"], "many"),
        ] {
            let said = parse(&arguments).unwrap_err().to_string();

            assert!(said.contains(named), "{said}");
        }
    }
}
