//! Options of the program: its environment and its arguments.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use pia_kernel::Secret;

/// Explanation of the options.
pub(crate) const USAGE: &str = "\
Usage: pia-pod [--name NAME] [-- COMMAND ARG…]

Serves the tools current_time and count_words to a server, or those of the MCP
server that a command starts. No shell reads the command.

Environment:
  PIA_SERVER          address of the server, such as https://pia.example
  PIA_POD_TOKEN       token that pia-server --provision-pod printed
  PIA_POD_TOKEN_FILE  file with the token, if PIA_POD_TOKEN is not set; the pod
                      renews the token and must be able to replace the file";

/// Variable with the token.
const TOKEN: &str = "PIA_POD_TOKEN";
/// Variable with the path of a file with the token.
const TOKEN_FILE: &str = "PIA_POD_TOKEN_FILE";
/// Variables that are removed from the environment of a command.
pub(crate) const TOKEN_VARIABLES: [&str; 2] = [TOKEN, TOKEN_FILE];

/// Options of a run.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) server: String,
    pub(crate) token: Secret<String>,
    /// File that the token is from; `None` if the token cannot be renewed.
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) name: String,
    /// Command of an MCP server, and its arguments; `None` to serve the two tools.
    pub(crate) command: Option<(String, Vec<String>)>,
}

impl Options {
    /// Parses the arguments, and reads the environment. Returns `None` if help is
    /// requested.
    pub(crate) fn parse(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let mut name = "pia-pod".to_owned();
        let mut command = None;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--name" => name = arguments.next().ok_or("--name needs a name")?,
                "--" => {
                    let program = arguments.next().ok_or("-- needs a command")?;
                    command = Some((program, arguments.by_ref().collect()));
                }
                "--help" => return Ok(None),
                other => return Err(format!("there is no option {other}\n\n{USAGE}").into()),
            }
        }

        let server = variable("PIA_SERVER").ok_or("PIA_SERVER is not set")?;
        let (token, token_file) = read_token()?;

        Ok(Some(Self { server, token, token_file, name, command }))
    }
}

/// Returns the token, and the file that it is from, if it is from a file.
fn read_token() -> Result<(Secret<String>, Option<PathBuf>), Box<dyn Error>> {
    if let Some(token) = variable(TOKEN) {
        return Ok((Secret::new(token), None));
    }

    let file = variable(TOKEN_FILE).ok_or("neither PIA_POD_TOKEN nor PIA_POD_TOKEN_FILE is set")?;
    let token = fs::read_to_string(&file).map_err(|err| format!("{file}: {err}"))?;
    Ok((Secret::new(token.trim().to_owned()), Some(file.into())))
}

/// Returns a variable of the environment; `None` if it is missing or empty.
#[expect(clippy::disallowed_methods, reason = "a program without the settings of a server")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|it| !it.is_empty())
}
