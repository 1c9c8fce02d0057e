//! The licence file: read at the start, watched, and replaced.

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

pub(crate) use disk::{FileChange, replace};
pub use seats::LicenceSeats;

/// The file that the operator keeps the licence in.
///
/// The file is the truth: what lies there is in force, as it would be after a
/// restart, be it larger, smaller, older or none at all. Only what may be half
/// of a replacement, a file that is gone or cut off, is looked at a second time
/// before it is believed; and a disk that does not answer says nothing.
pub struct LicenceFile {
    path: PathBuf,
    key: VerifyingKey,
    clock: Arc<dyn Clock>,
    state: LiveSetting<LicenceState>,
    seen: Mutex<FileSnapshot>,
}

/// Last content, by which a change is noticed. The whole content is compared
/// and not the time and length of the file: it is small, and these miss a
/// change within the clock's resolution.
struct FileSnapshot {
    believed: FileChange,
    doubted: Option<FileChange>,
    end_reported: bool,
}

impl LicenceFile {
    /// Reads the file and logs what it found. Whatever that is, the
    /// server may start.
    pub fn open(path: PathBuf, key: VerifyingKey, clock: Arc<dyn Clock>) -> Self {
        if key.is_development_key() {
            log::development_key();
        }
        let state = LiveSetting::new(LicenceState::Missing);
        let seen =
            FileSnapshot { believed: FileChange::Missing, doubted: None, end_reported: false };
        let file = Self { path, key, clock, state, seen: Mutex::new(seen) };
        let look = FileChange::at(&file.path);
        let found = file.load(&look);
        file.believe(look, found, &mut file.lock_state());
        file
    }

    /// Returns the last result; every clone sees it change.
    pub fn state(&self) -> LiveSetting<LicenceState> {
        self.state.clone()
    }

    /// Returns what the server lacks at this moment.
    pub fn standing(&self) -> SetupState {
        let state = self.state.get();
        match (state.at(self.clock.now()), &*state) {
            (Licensed::Valid(_), _) => SetupState::Done,
            (Licensed::Expired(it), _) => SetupState::Ended(it.expires_at.unwrap_or(it.issued_at)),
            (Licensed::Not, LicenceState::Refused(fault)) => SetupState::Refused(fault.clone()),
            (Licensed::Not, _) => SetupState::NoLicence,
        }
    }

    /// Looks whether the file was replaced or the licence has ended. It waits
    /// for the disk.
    pub fn check(&self) {
        let look = FileChange::at(&self.path);
        let mut seen = self.lock_state();
        self.weigh(look, &mut seen);
        self.report_end(&mut seen);
    }

    /// Puts a licence in the file's place, if it is accepted and has not ended.
    /// It is in force when this returns. It waits for the disk.
    pub fn store(&self, text: &[u8]) -> Result<Licence, InstallError> {
        let reading = LicenceReading::open(text, &self.key)?;
        if let Some(end) = reading.licence.expires_at.filter(|it| *it <= self.clock.now()) {
            return Err(InstallError::Ended(end));
        }
        let mut seen = self.lock_state();
        let content = format!("{}\n", reading.text).into_bytes();
        replace(&self.path, &content).map_err(|err| Unavailable::new("the licence file", err))?;
        let licence = reading.licence.clone();
        self.believe(FileChange::Content(content), LicenceRead::Licence(reading), &mut seen);
        Ok(licence)
    }

    fn weigh(&self, look: FileChange, seen: &mut FileSnapshot) {
        if look == seen.believed {
            seen.doubted = None;
            return;
        }
        let again = seen.doubted.as_ref() == Some(&look);
        if let FileChange::Failed(why) = &look {
            if !again {
                log::unreachable(&self.path, why);
            }
            seen.doubted = Some(look);
            return;
        }
        let found = self.load(&look);
        if found.may_be_half() && !again {
            seen.doubted = Some(look);
        } else {
            self.believe(look, found, seen);
        }
    }

    fn load(&self, look: &FileChange) -> LicenceRead {
        match look {
            FileChange::Missing => LicenceRead::Nothing,
            FileChange::Content(bytes) => LicenceReading::open(bytes, &self.key)
                .map_or_else(LicenceRead::Fault, LicenceRead::Licence),
            FileChange::Failed(why) => LicenceRead::Fault(LicenceError::Unreadable(format!(
                "the file cannot be opened: {why}"
            ))),
        }
    }

    fn believe(&self, look: FileChange, found: LicenceRead, seen: &mut FileSnapshot) {
        *seen = FileSnapshot { believed: look, doubted: None, end_reported: false };
        self.state.set(match found {
            LicenceRead::Nothing => {
                log::missing(&self.path);
                LicenceState::Missing
            }
            LicenceRead::Fault(fault) => {
                log::refused(&self.path, &fault, &self.key);
                LicenceState::Refused(fault)
            }
            LicenceRead::Licence(reading) => {
                log::loaded(&reading);
                LicenceState::Loaded(reading.licence)
            }
        });
        self.report_end(seen);
    }

    /// Once for each licence, whether it was found so or ended meanwhile.
    fn report_end(&self, seen: &mut FileSnapshot) {
        if let Licensed::Expired(licence) = self.state.get().at(self.clock.now())
            && !seen.end_reported
        {
            log::ended(licence);
            seen.end_reported = true;
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, FileSnapshot> {
        // What a panic elsewhere left is still what was last seen.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum LicenceRead {
    Nothing,
    Fault(LicenceError),
    Licence(LicenceReading),
}

impl LicenceRead {
    fn may_be_half(&self) -> bool {
        matches!(self, Self::Nothing | Self::Fault(LicenceError::Truncated(_)))
    }
}

#[cfg(test)]
pub(crate) mod tests;
