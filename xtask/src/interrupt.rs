//! Handling of termination signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::outcome::Outcome;

/// Flag that is set by Ctrl-C or a termination signal. The signal is only recorded, so
/// that owners of children and folders can clean up.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn listen() -> Outcome<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A second signal ends the process at once, and its children with
            // it.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
            flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self(interrupted))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if the process should end.
    pub(crate) fn check(&self) -> Outcome {
        if self.is_set() { Err("stopped as told".into()) } else { Ok(()) }
    }
}
