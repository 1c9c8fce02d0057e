//! The pages, as a browser shows them.

use serde_json::json;

use crate::browser::{Browser, ENTER, TAB};
use crate::harness::{Setting, TestApp};
use pia_testkit::databases::Fresh;

impl Browser {
    /// The name of the control that has the focus.
    async fn focus(&self) -> String {
        let focused = self.focused().await;
        self.property(&focused, "name").await.as_str().unwrap_or_default().to_owned()
    }

    async fn main_text(&self) -> String {
        let main = self.find("main").await;
        self.text(&main).await
    }

    /// Nothing but the answer's own status, which is meant.
    async fn found_nothing_wrong(&self) {
        let mut complaints = self.complaints().await;
        complaints.retain(|it| !it.contains("the server responded with a status of 4"));
        assert!(complaints.is_empty(), "{complaints:?}");
    }
}

fn address(app: &TestApp, path: &str) -> String {
    format!("http://{}{path}", app.addr)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_set_up_page_needs_neither_mouse_nor_a_wide_window() {
    let app = Setting::on(Fresh::sqlite()).licensed(None).start().await;
    let browser = Browser::start("en").await;
    browser.resize(320, 640).await;

    browser.goto(&address(&app, "/admin/setup")).await;
    browser.press([TAB]).await;
    let first = browser.focus().await;
    browser.press("a guess".chars().chain([TAB])).await;
    let second = browser.focus().await;
    browser.press("no licence".chars().chain([TAB, ENTER])).await;
    let alert = browser.find("[role=alert]").await;

    assert_eq!((first.as_str(), second.as_str()), ("token", "license"));
    assert!(browser.text(&alert).await.contains("The setup token is wrong"));
    assert_eq!(browser.title().await, "Not accepted: Set up this server");
    assert_eq!(browser.url().await, address(&app, "/admin/setup"));
    let sideways = "return document.documentElement.scrollWidth - innerWidth > 0";
    assert_eq!(browser.run(sideways, json!([])).await, false);
    browser.found_nothing_wrong().await;
}
