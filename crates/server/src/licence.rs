//! The licence file: read at the start, watched, and replaced.
//!
//! `open` reads it, `check` (every second, by `setup.rs`) compares it with the last
//! content, `store` replaces it. All of them end in `accept`, which sets the
//! `LicenceState` that gates and domains follow. A missing or truncated file
//! counts only once `check` has found the file so twice in a row.

mod disk;
mod log;
mod seats;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pia_kernel::{Clock, LiveSetting, Unavailable};
use pia_policy::{
    InstallError, Licence, LicenceError, LicenceReading, LicenceState, Licensed, SetupState,
    VerifyingKey,
};

pub(crate) use disk::{FileReadOutcome, replace};
pub use seats::LicenceSeats;

/// File that the operator stores the licence in.
///
/// The file is authoritative: its content is in force, as it would be after a
/// restart, be it larger, smaller, older or missing. Only what may be part of
/// a replacement, a missing or truncated file, has to be read twice before it
/// is accepted; a read error changes nothing.
pub struct LicenceFile {
    path: PathBuf,
    key: VerifyingKey,
    clock: Arc<dyn Clock>,
    state: LiveSetting<LicenceState>,
    snapshot: Mutex<FileSnapshot>,
}

/// Last content, by which a change is noticed. The content is compared and not
/// the time and length of the file: the content is small, and time and length
/// miss a change within the clock's resolution.
struct FileSnapshot {
    accepted: FileReadOutcome,
    pending: Option<FileReadOutcome>,
    end_logged: bool,
}

impl LicenceFile {
    /// Reads the file and logs the result. No result prevents the server from
    /// starting.
    pub fn open(path: PathBuf, key: VerifyingKey, clock: Arc<dyn Clock>) -> Self {
        if key.is_development_key() {
            log::development_key();
        }
        let state = LiveSetting::new(LicenceState::Missing);
        let snapshot =
            FileSnapshot { accepted: FileReadOutcome::Missing, pending: None, end_logged: false };
        let file = Self { path, key, clock, state, snapshot: Mutex::new(snapshot) };
        let outcome = FileReadOutcome::at(&file.path);
        let licence = file.load(&outcome);
        file.accept(outcome, licence, &mut file.lock_snapshot());
        file
    }

    /// Returns the last result; all clones follow its changes.
    pub fn state(&self) -> LiveSetting<LicenceState> {
        self.state.clone()
    }

    /// Returns the state of the setup at this moment.
    pub fn setup_state(&self) -> SetupState {
        let state = self.state.get();
        match (state.at(self.clock.now()), &*state) {
            (Licensed::Valid(_), _) => SetupState::Done,
            (Licensed::Expired(it), _) => SetupState::Ended(it.expires_at.unwrap_or(it.issued_at)),
            (Licensed::Not, LicenceState::Refused(fault)) => SetupState::Refused(fault.clone()),
            (Licensed::Not, _) => SetupState::NoLicence,
        }
    }

    /// Checks whether the file was replaced or the licence has ended. Blocks on
    /// the disk.
    pub fn check(&self) {
        let outcome = FileReadOutcome::at(&self.path);
        let mut snapshot = self.lock_snapshot();
        self.update(outcome, &mut snapshot);
        self.log_end(&mut snapshot);
    }

    /// Replaces the file by a licence, if the licence is valid and has not ended.
    /// The licence is in force when this returns. Blocks on the disk.
    pub fn store(&self, text: &[u8]) -> Result<Licence, InstallError> {
        let reading = LicenceReading::open(text, &self.key)?;
        if let Some(end) = reading.licence.expires_at.filter(|it| *it <= self.clock.now()) {
            return Err(InstallError::Ended(end));
        }

        let mut snapshot = self.lock_snapshot();
        let content = format!("{}\n", reading.text).into_bytes();
        replace(&self.path, &content).map_err(|err| Unavailable::new("the licence file", err))?;
        let licence = reading.licence.clone();

        self.accept(
            FileReadOutcome::Content(content),
            LicenceRead::Licence(reading),
            &mut snapshot,
        );

        Ok(licence)
    }

    fn update(&self, outcome: FileReadOutcome, snapshot: &mut FileSnapshot) {
        if outcome == snapshot.accepted {
            snapshot.pending = None;
            return;
        }

        let is_repeated = snapshot.pending.as_ref() == Some(&outcome);
        if let FileReadOutcome::Failed(reason) = &outcome {
            if !is_repeated {
                log::unreachable(&self.path, reason);
            }
            snapshot.pending = Some(outcome);
            return;
        }

        let licence = self.load(&outcome);
        if licence.may_be_partial() && !is_repeated {
            snapshot.pending = Some(outcome);
        } else {
            self.accept(outcome, licence, snapshot);
        }
    }

    fn load(&self, outcome: &FileReadOutcome) -> LicenceRead {
        match outcome {
            FileReadOutcome::Missing => LicenceRead::Nothing,
            FileReadOutcome::Content(bytes) => match LicenceReading::open(bytes, &self.key) {
                Ok(reading) => LicenceRead::Licence(reading),
                Err(err) => LicenceRead::Refused(err),
            },
            FileReadOutcome::Failed(reason) => LicenceRead::Refused(LicenceError::Unreadable(
                format!("the file cannot be opened: {reason}"),
            )),
        }
    }

    fn accept(&self, outcome: FileReadOutcome, licence: LicenceRead, snapshot: &mut FileSnapshot) {
        *snapshot = FileSnapshot { accepted: outcome, pending: None, end_logged: false };

        self.state.set(match licence {
            LicenceRead::Nothing => {
                log::missing(&self.path);
                LicenceState::Missing
            }
            LicenceRead::Refused(err) => {
                log::refused(&self.path, &err, &self.key);
                LicenceState::Refused(err)
            }
            LicenceRead::Licence(reading) => {
                log::loaded(&reading);
                LicenceState::Loaded(reading.licence)
            }
        });
        self.log_end(snapshot);
    }

    /// Logs once for each licence that it has ended.
    fn log_end(&self, snapshot: &mut FileSnapshot) {
        if let Licensed::Expired(licence) = self.state.get().at(self.clock.now())
            && !snapshot.end_logged
        {
            log::ended(licence);
            snapshot.end_logged = true;
        }
    }

    fn lock_snapshot(&self) -> MutexGuard<'_, FileSnapshot> {
        // After a panic elsewhere the snapshot still holds the last content.
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Licence in the file.
enum LicenceRead {
    Nothing,
    Refused(LicenceError),
    Licence(LicenceReading),
}

impl LicenceRead {
    /// Returns whether the file may be in the middle of its replacement.
    fn may_be_partial(&self) -> bool {
        matches!(self, Self::Nothing | Self::Refused(LicenceError::Truncated(_)))
    }
}

#[cfg(test)]
pub(crate) mod tests;
