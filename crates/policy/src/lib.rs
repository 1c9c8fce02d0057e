//! Permissions: the licence, its features, and its issuers; groups, and what
//! their members may do.

mod edition;
mod envelope;
mod feature;
mod groups;
mod licence;
mod reading;
mod service;
mod signing_key;
mod terms;
mod verifying_key;

pub use edition::Edition;
pub use envelope::MAX_LICENCE_BYTES;
pub use feature::Feature;
pub use groups::{
    Group, GroupAdded, GroupEntry, GroupError, GroupName, GroupRemoved, GroupRenamed,
    GroupSettings, GroupStore, GroupWatch, Groups, MAX_LIMIT, MODES, MemberMoved, NameError, Quota,
    SettingChange, SettingsChanged, SettingsError,
};
#[cfg(any(test, feature = "mock"))]
pub use groups::{MockGroupStore, MockGroupWatch};
pub use licence::{Licence, LicenceError, LicenceState, Licensed};
pub use reading::LicenceReading;
pub use service::{InstallError, LicenceService, SetupState};
pub use signing_key::{LicenceKeyError, SigningKey};
pub use terms::Terms;
pub use verifying_key::VerifyingKey;
