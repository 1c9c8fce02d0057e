//! Signals that stop the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::outcome::Outcome;

/// Signal that Ctrl-C was pressed or the process was asked to end. It is only
/// recorded, so that whoever holds a child or a folder can clear it away.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn listen() -> Outcome<Self> {
        let noted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Reported twice, it ends at once, and its children with it.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&noted))?;
            flag::register(signal, Arc::clone(&noted))?;
        }
        Ok(Self(noted))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends what is going on, if it is to end.
    pub(crate) fn check(&self) -> Outcome {
        if self.is_set() { Err("stopped as told".into()) } else { Ok(()) }
    }
}
