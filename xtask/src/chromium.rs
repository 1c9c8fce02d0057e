//! Browser for the tests of pages.

use std::path::PathBuf;

use crate::command::find_program;
use crate::debian;
use crate::outcome::Outcome;

/// Names of browsers that the driver finds.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Returns the program that drives Chromium; installs both if necessary.
pub(crate) fn driver() -> Outcome<PathBuf> {
    if let Some(driver) = installed() {
        return Ok(driver);
    }
    debian::install("Chromium with its driver", &["chromium", "chromium-driver"])?;
    installed().ok_or_else(|| "the package chromium-driver brought no driver".into())
}

/// Returns the installed driver; `None` if there is no browser for it.
fn installed() -> Option<PathBuf> {
    let has_browser = BROWSERS.iter().any(|it| find_program(it).is_some());
    if has_browser { find_program("chromedriver") } else { None }
}
