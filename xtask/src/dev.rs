//! `cargo xtask dev`

use std::fs;

use crate::dev_folder::DevFolder;
use crate::dev_server::{self, DevServer};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::places;

const HELP: &str = "\
usage: cargo xtask dev [--port N] [--fresh]

  --port N   where to listen on 127.0.0.1 (default 8080; 0 takes any free port)
  --fresh    forget all that .dev/ holds, accounts and secrets included, and begin anew

Variables of the environment reach the server: Ai__Endpoint, Ai__ApiKey and Ai__Model
name an upstream of your own, Logging__Level=debug tells more.";

struct Options {
    port: u16,
    is_fresh: bool,
}

/// Builds and runs a licensed server for trials and development.
pub(crate) fn run(args: &[String], interrupt: &Interrupt) -> Outcome {
    let Some(options) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };

    dev_server::build(interrupt)?;
    let path = places::root().join(".dev");
    if options.is_fresh && path.exists() {
        fs::remove_dir_all(&path)?;
    }

    let folder = DevFolder::open(&path)?;
    let server = DevServer::start(&folder, options.port, interrupt)?;
    welcome(&server, &folder);

    server.serve(interrupt)
}

fn parse(args: &[String]) -> Outcome<Option<Options>> {
    let mut options = Options { port: 8080, is_fresh: false };
    let mut remaining = args.iter().map(String::as_str);
    while let Some(arg) = remaining.next() {
        match arg {
            "--help" => return Ok(None),
            "--fresh" => options.is_fresh = true,
            "--port" => {
                let port = remaining.next().ok_or("--port needs a number")?;
                options.port = port.parse().map_err(|err| format!("--port {port}: {err}"))?;
            }
            other => return Err(format!("{other} is no option\n\n{HELP}").into()),
        }
    }

    Ok(Some(options))
}

fn welcome(server: &DevServer, folder: &DevFolder) {
    let url = server.url();
    println!("\npia-server is ready at {url}, its files in {}.", folder.path().display());

    match server.demo_upstream() {
        Some(demo) => println!(
            "Answers come from the DEMO UPSTREAM at {demo}, not from a model: it repeats what it\n\
             is asked. Set Ai__Endpoint, Ai__ApiKey and Ai__Model for a real one."
        ),
        None => println!("Answers come from the upstream that Ai__* in your environment names."),
    }

    println!("\nTo paste into another terminal, or run `cargo xtask demo --url {url}`:\n");
    println!("{}", CALLS.replace("BASE", url));
    println!("Ctrl-C stops it.");
}

/// First calls of a new user. The tokens are extracted with sed, which is
/// available everywhere.
const CALLS: &str = r#"PIA=BASE
JSON='content-type: application/json'
ADA='{"email":"ada@example.com","password":"violet-kettle-umbrella-42"}'
curl -sS -w '\n' $PIA/auth/register -H "$JSON" -d "$ADA"
TOKENS=$(curl -sS $PIA/auth/login/local -H "$JSON" -d "$ADA")
ACCESS=$(echo "$TOKENS" | sed -E 's/.*"accessToken":"([^"]*)".*/\1/')
REFRESH=$(echo "$TOKENS" | sed -E 's/.*"refreshToken":"([^"]*)".*/\1/')
curl -sS -w '\n' $PIA/api/ai/optimize -H "$JSON" -H "authorization: Bearer $ACCESS" \
  -d '{"text":"me and him was going too the shop"}'
curl -sSN $PIA/api/ai/chat -H "$JSON" -H "authorization: Bearer $ACCESS" \
  -d '{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Good morning!"}]}'
TOKENS=$(curl -sS $PIA/auth/refresh -H "$JSON" -d "{\"refreshToken\":\"$REFRESH\"}")
REFRESH=$(echo "$TOKENS" | sed -E 's/.*"refreshToken":"([^"]*)".*/\1/')
curl -sS -w '\n' $PIA/auth/logout -H "$JSON" -d "{\"refreshToken\":\"$REFRESH\"}"
"#;
