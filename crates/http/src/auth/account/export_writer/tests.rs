//! Tests of exported data, and of how far exports read ahead.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::StreamExt;
use pia_identity::AccountExport;
use pia_kernel::{
    Cursor, ExportPage, Inventory, LeftOut, PersonalData, SideEffects, SystemClock, Unavailable,
    UserId,
};
use pia_web::Runner;
use serde_json::Value;
use zip::ZipArchive;

use super::super::archive::Archive;
use super::super::document::Document;
use super::*;

const ROWS: usize = 100;

/// Fake source of pages of long rows, one of which may fail.
struct Pages {
    max: usize,
    fails_at: usize,
    read: AtomicUsize,
}

#[async_trait]
impl PersonalData for Pages {
    fn inventory(&self) -> Inventory {
        let left_out = vec![LeftOut { what: "rows.secret".to_owned(), why: "it is one" }];
        Inventory { sections: vec!["none", "rows"], left_out }
    }

    async fn begin_export(&self, _: UserId, effects: SideEffects) -> Result<bool, Unavailable> {
        Ok(effects.audit[0].action == "account.exported")
    }

    async fn page(
        &self,
        _: UserId,
        section: &'static str,
        _: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable> {
        if section == "none" {
            return Ok(ExportPage::default());
        }
        let page = self.read.fetch_add(1, Ordering::SeqCst) + 1;
        if page == self.fails_at {
            return Err(Unavailable::new("storage", "down"));
        }
        let rows = (0..ROWS).map(|row| format!("{{\"row\":\"{}\"}}", noise(page * ROWS + row)));
        let next = (page < self.max).then(Cursor::top);
        Ok(ExportPage { rows: rows.collect(), next })
    }
}

/// Returns a kilobyte that hardly compresses.
fn noise(seed: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut next_char = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + u8::try_from(state >> 58).unwrap_or_default())
    };
    std::iter::repeat_with(&mut next_char).filter(|it| *it != '\\').take(1024).collect()
}

fn pages(max: usize, fails_at: usize) -> Arc<Pages> {
    Arc::new(Pages { max, fails_at, read: AtomicUsize::new(0) })
}

async fn start_export(pages: &Arc<Pages>) -> StartedExport {
    let export = AccountExport::new(Arc::clone(pages) as _, Arc::new(SystemClock));
    export.begin(UserId::generate()).await.unwrap()
}

/// Returns the encoded bytes, and whether they are complete.
async fn encode(pages: &Arc<Pages>, encoder: Box<dyn Encoder>) -> (Vec<u8>, bool) {
    let export = start_export(pages).await;
    let mut body =
        Runner::on_current_runtime().stream_body(|sender| write_export(export, encoder, sender));
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        let Ok(chunk) = chunk else { return (bytes, false) };
        bytes.extend_from_slice(&chunk);
    }
    (bytes, true)
}

fn file(archive: &mut ZipArchive<io::Cursor<Vec<u8>>>, name: &str) -> Value {
    let mut text = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn an_archive_has_a_file_for_each_section_and_a_manifest() {
    let (bytes, is_complete) = encode(&pages(3, 0), Box::new(Archive::new())).await;

    assert!(is_complete && bytes.starts_with(b"PK"));
    let mut archive = ZipArchive::new(io::Cursor::new(bytes)).unwrap();
    let names: Vec<_> = archive.file_names().map(|it| it.unwrap().into_owned()).collect();
    assert_eq!(names, ["none.json", "rows.json", "manifest.json"]);
    let manifest = file(&mut archive, "manifest.json");
    assert_eq!(manifest["formatVersion"], 1);
    assert_eq!(manifest["files"][0]["rows"], 0);
    assert_eq!(manifest["files"][1]["rows"], 300);
    assert_eq!(manifest["leftOut"][0]["what"], "rows.secret");
    assert_eq!(file(&mut archive, "none.json"), serde_json::json!([]));
    assert_eq!(file(&mut archive, "rows.json").as_array().unwrap().len(), 300);
}

#[tokio::test]
async fn a_document_has_the_same_content() {
    let (bytes, is_complete) = encode(&pages(3, 0), Box::new(Document::new())).await;

    assert!(is_complete);
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(document["data"]["none"], serde_json::json!([]));
    assert_eq!(document["data"]["rows"][299]["row"], noise(399).as_str());
    assert_eq!(document["manifest"]["files"][1]["rows"], 300);
}

#[tokio::test]
async fn a_failed_export_is_not_a_valid_archive() {
    let (archive, archive_is_complete) = encode(&pages(5, 4), Box::new(Archive::new())).await;
    let (document, document_is_complete) = encode(&pages(5, 4), Box::new(Document::new())).await;

    assert!(!archive_is_complete);
    assert!(!document_is_complete);
    assert!(!archive.is_empty());
    assert!(ZipArchive::new(io::Cursor::new(archive)).is_err());
    assert!(serde_json::from_slice::<Value>(&document).is_err());
}

#[tokio::test]
async fn an_export_waits_for_slow_clients() {
    for encoder in [Box::new(Archive::new()) as Box<dyn Encoder>, Box::new(Document::new())] {
        let source = pages(1000, 0);
        let export = start_export(&source).await;
        let mut body = Runner::on_current_runtime()
            .stream_body(|sender| write_export(export, encoder, sender));

        let mut ahead = Vec::new();
        for _ in 0..3 {
            body.next().await.unwrap().unwrap();
            // Give the writer time to get as far as it can.
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            ahead.push(source.read.load(Ordering::SeqCst));
        }

        assert!(ahead[2] <= 4, "{ahead:?} pages of 100 KiB for three pieces of 32 KiB");
        drop(body);
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(source.read.load(Ordering::SeqCst) <= ahead[2] + 1, "nobody reads any more");
    }
}
