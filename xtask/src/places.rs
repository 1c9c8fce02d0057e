//! Paths of the workspace.

use std::env;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::outcome::Outcome;

/// Returns the folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Returns the advisories of `RustSec`: the folder that `ADVISORY_DB` names, or
/// `shared/advisory-db` beside the workspace. `None` if it does not exist.
pub(crate) fn advisories() -> Option<PathBuf> {
    let configured = env::var_os("ADVISORY_DB").map(PathBuf::from);
    let default_dir = || root().join("../shared/advisory-db");
    Some(configured.unwrap_or_else(default_dir)).filter(|it| it.is_dir())
}

/// Returns the folder of cargo's debug builds. This program is one of them.
pub(crate) fn debug() -> Outcome<PathBuf> {
    Ok(env::current_exe()?.parent().ok_or("this program lies in no folder")?.to_owned())
}

/// Returns cargo's target folder.
pub(crate) fn target() -> Outcome<PathBuf> {
    Ok(debug()?.parent().ok_or("this program lies in no target folder")?.to_owned())
}

/// Returns a free port of 127.0.0.1. Another process may take the port before the
/// caller does, which is acceptable on a development machine.
pub(crate) fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
