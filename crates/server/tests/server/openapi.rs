//! Tests of the OpenAPI description with published tools.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Output, Stdio};

use pia_demo_upstream::Demo;
use pia_server_testkit::ai_client::upstream_config;
use tokio::process::Command;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
const CONFIG: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/openapi/openapi-python-client.yml");

#[expect(clippy::disallowed_methods, reason = "a test asks the environment itself")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run `cargo xtask test`, which installs what reads OpenAPI")
    })
}

/// Runs a program of the environment whose interpreter `TEST_PYTHON` names.
async fn python(program: &str, folder: &Path, args: &[&str]) -> Output {
    let interpreter = variable("TEST_PYTHON");
    let programs = Path::new(&interpreter).parent().expect("a folder of programs");
    let path = format!("{}:{}", programs.display(), variable("PATH"));
    run(programs.join(program), &path, folder, args).await
}

async fn run(program: impl AsRef<OsStr>, path: &str, folder: &Path, args: &[&str]) -> Output {
    let ran = Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("NO_COLOR", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    ran.await.expect("a program of the tests")
}

fn assert_success(ran: &Output) {
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{stdout}{}", String::from_utf8_lossy(&ran.stderr));
}

/// All answers to valid and invalid bodies must be described, and none may be
/// an internal error.
#[tokio::test(flavor = "multi_thread")]
async fn a_fuzzer_finds_no_undescribed_answer() {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = upstream_config(&demo.endpoint())
        .with("Operators__Enabled", true)
        .with("Workflow__Address", "embedded")
        .start()
        .await;
    let ada = app.signed_in().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let token = ada.access.as_deref().expect("a token");

    let ran = python(
        "schemathesis",
        folder.path(),
        &[
            "run",
            DOCUMENT,
            "--url",
            &format!("http://{}", ada.addr),
            "--header",
            &format!("Authorization: Bearer {token}"),
            "--phases",
            "examples,fuzzing",
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,\
             response_headers_conformance,response_schema_conformance,allow_header_conformance",
            "--max-examples",
            "20",
            "--max-time",
            "60",
            "--seed",
            "1",
            "--request-timeout",
            "20",
            "--suppress-health-check",
            "all",
            "--warnings",
            "off",
            "--continue-on-failure",
            "--no-shrink",
        ],
    )
    .await;

    assert_success(&ran);
}

#[tokio::test]
async fn a_client_for_typescript_is_generated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let modules = variable("TEST_OPENAPI");
    let path = variable("PATH");
    let programs = Path::new(&modules).join("node_modules/.bin");
    let at = folder.path();

    let generated = ["openapi.d.ts"];
    assert_success(
        &run(programs.join("openapi-typescript"), &path, at, &[DOCUMENT, "-o", generated[0]]).await,
    );
    assert_success(
        &run(programs.join("tsc"), &path, at, &["--noEmit", "--strict", generated[0]]).await,
    );

    let types = std::fs::read_to_string(at.join(generated[0])).expect("the types");
    assert!(types.contains("postAuthLoginLocal: {"), "operations have no names");
    let empty =
        types.lines().filter(|it| it.starts_with(' ') && it.contains("Record<string, never>"));
    assert_eq!(empty.collect::<Vec<_>>(), [""; 0]);
}

#[tokio::test]
async fn a_client_for_python_is_generated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();

    let generate = ["generate", "--path", DOCUMENT, "--config", CONFIG, "--output-path", "made"];
    let quietly = ["--meta", "none", "--fail-on-warning"];
    assert_success(&python("openapi-python-client", at, &[&generate[..], &quietly].concat()).await);
    assert_success(&python("python", at, &["-m", "compileall", "-q", "made"]).await);

    let login = at.join("made/api/auth/post_auth_login_local.py");
    assert!(login.exists(), "operations have no names");
}
