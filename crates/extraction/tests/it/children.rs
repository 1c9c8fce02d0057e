//! Children.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pia_extraction::{ChildExtractor, ChildLimits};
use pia_knowledge::{ContentType, ExtractError, TextExtractor};

use crate::fixtures::{file, text_of};

/// Returns the example `extract`, which is built with the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/extract");
    assert!(program.exists(), "build it with `cargo build --example extract`");
    program
}

pub(crate) fn extractor(args: &[&str], limits: ChildLimits) -> ChildExtractor {
    ChildExtractor::new(program(), args.iter().map(Into::into).collect(), limits)
}

/// Returns the processes whose parent is this one and whose argument this is.
fn children_with(argument: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let parent = format!("PPid:\t{}\n", std::process::id());
    let is_child = |folder: PathBuf| {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        read("status").contains(&parent) && read("cmdline").contains(argument)
    };
    processes.filter(|it| is_child(it.path())).count()
}

#[tokio::test]
async fn a_child_extracts_what_this_process_would() {
    let extractor = extractor(&[], ChildLimits::default());
    for (name, content_type) in [
        ("policy.docx", ContentType::Docx),
        ("policy.pptx", ContentType::Pptx),
        ("policy.xlsx", ContentType::Xlsx),
        ("policy.pdf", ContentType::Pdf),
        ("policy.html", ContentType::Html),
        ("policy.csv", ContentType::Csv),
        ("policy.eml", ContentType::Email),
    ] {
        let text = extractor.extract(content_type, file(name)).await.unwrap();
        assert_eq!(text.text, text_of(content_type, name));
        assert!(text.is_markdown);
    }
}

#[tokio::test]
async fn a_child_reports_the_reason_of_a_failure() {
    let extractor = extractor(&[], ChildLimits::default());
    for (name, error) in [
        ("encrypted.pdf", ExtractError::Encrypted),
        ("scanned.pdf", ExtractError::NoText),
        ("policy.docx", ExtractError::Damaged),
    ] {
        assert_eq!(extractor.extract(ContentType::Pdf, file(name)).await, Err(error));
    }
}

#[tokio::test]
async fn text_needs_no_child() {
    let extractor = ChildExtractor::new("/nowhere".into(), Vec::new(), ChildLimits::default());

    let text = extractor.extract(ContentType::Text, b"Text".to_vec()).await;
    let page = extractor.extract(ContentType::Html, b"Text".to_vec()).await;

    assert_eq!(text.unwrap().text, "Text");
    assert_eq!(page, Err(ExtractError::Unavailable));
}

#[tokio::test]
async fn a_child_that_hangs_is_killed() {
    let limits = ChildLimits { wall_time: Duration::from_millis(300), ..ChildLimits::default() };
    let extractor = extractor(&["hang", "killed"], limits);
    let start = Instant::now();

    // More than a pipe holds.
    let outcome = extractor.extract(ContentType::Html, vec![b'x'; 1_000_000]).await;

    assert_eq!(outcome, Err(ExtractError::TooComplex));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(children_with("killed"), 0);
}

#[tokio::test]
async fn a_pdf_that_draws_itself_twice_at_each_level_is_too_complex() {
    let form = |number: usize, content: &str| {
        let next = number + 1;
        let length = content.len();
        format!(
            "{number} 0 obj <</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length {length}/Resources<</XObject<</X {next} 0 R>>>>>> stream\n{content}\nendstream endobj\n"
        )
    };
    let mut pdf = "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
        2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj\n\
        3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>> endobj\n"
        .to_owned();
    pdf.extend((4..44).map(|it| form(it, "/X Do /X Do")));
    pdf.push_str(&form(44, "0 g"));
    pdf.push_str("trailer <</Root 1 0 R>>");
    let limits = ChildLimits { wall_time: Duration::from_secs(1), ..ChildLimits::default() };

    let outcome = extractor(&[], limits).extract(ContentType::Pdf, pdf.into_bytes()).await;

    assert_eq!(outcome, Err(ExtractError::TooComplex));
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_child_behind() {
    let extractor = extractor(&["hang", "dropped"], ChildLimits::default());
    let call = extractor.extract(ContentType::Html, b"Text".to_vec());

    let outcome = tokio::time::timeout(Duration::from_millis(500), call).await;

    assert!(outcome.is_err());
    // The system may take a moment to end the child.
    for _ in 0..100 {
        if children_with("dropped") == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(children_with("dropped"), 0);
}

#[tokio::test]
async fn no_more_children_are_started_than_allowed() {
    let wall_time = Duration::from_millis(600);
    let limits = ChildLimits { wall_time, children: 1, ..ChildLimits::default() };
    let extractor = extractor(&["hang", "single"], limits);
    let call = || extractor.extract(ContentType::Html, b"Text".to_vec());
    let start = Instant::now();

    let (outcome, queued_outcome) = tokio::join!(call(), call());

    assert_eq!(outcome, Err(ExtractError::TooComplex));
    assert_eq!(queued_outcome, Err(ExtractError::TooComplex));
    assert!(start.elapsed() >= 2 * wall_time);
}

#[tokio::test]
async fn a_child_that_writes_too_much_or_dies_has_met_something_too_complex() {
    let limits = ChildLimits { text_bytes: 1_000, ..ChildLimits::default() };
    for failure in ["flood", "abort"] {
        let error =
            extractor(&[failure], limits).extract(ContentType::Html, b"Text".to_vec()).await;
        assert_eq!(error, Err(ExtractError::TooComplex), "{failure}");
    }
    let error = extractor(&["fail"], limits).extract(ContentType::Html, b"Text".to_vec()).await;
    assert_eq!(error, Err(ExtractError::Unavailable));
}

#[test]
fn a_child_limits_itself_before_it_reads() {
    let mut child = Command::new(program())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = format!("/proc/{}/limits", child.id());
    let has_limit = |name: &str, limit: &str| {
        let limits = std::fs::read_to_string(&path).unwrap_or_default();
        let line = limits.lines().find(|it| it.starts_with(name)).unwrap_or_default();
        let values: Vec<&str> = line.trim_start_matches(name).split_whitespace().take(2).collect();
        values == [limit, limit]
    };
    let expected_limits = [
        ("Max address space", "1073741824"),
        ("Max cpu time", "30"),
        ("Max core file size", "0"),
        ("Max file size", "0"),
        ("Max open files", "3"),
    ];

    // The child sets its limits after its start.
    for _ in 0..100 {
        if expected_limits.iter().all(|(name, limit)| has_limit(name, limit)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }

    for (name, limit) in expected_limits {
        assert!(has_limit(name, limit), "{name}");
    }

    child.stdin.take().unwrap().write_all(b"text/html\n<p>Text").unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.stdout, b"{\"markdown\":true}\nText");
    assert!(output.stderr.is_empty());
    assert!(output.status.success());
}
