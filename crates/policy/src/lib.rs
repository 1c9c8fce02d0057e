//! What is allowed: the licence, what it includes, and who issues it; groups,
//! and what their members may.

mod desk;
mod edition;
mod envelope;
mod feature;
mod groups;
mod licence;
mod reading;
mod signing_key;
mod terms;
mod verifying_key;

pub use desk::{InstallError, LicenceDesk, SetupStanding};
pub use edition::Edition;
pub use envelope::LONGEST_LICENCE;
pub use feature::Feature;
pub use groups::{
    CreditLimit, Credits, Group, GroupAdded, GroupEntry, GroupError, GroupName, GroupRemoved,
    GroupRenamed, GroupSettings, GroupStore, GroupWatch, Groups, LARGEST_LIMIT, MODES, MemberPut,
    NameFault, Quota, SettingChange, SettingsChanged, SettingsFault,
};
#[cfg(any(test, feature = "mock"))]
pub use groups::{MockGroupStore, MockGroupWatch};
pub use licence::{Licence, LicenceFault, LicenceState, Licensed};
pub use reading::LicenceReading;
pub use signing_key::{KeyFault, SigningKey};
pub use terms::Terms;
pub use verifying_key::VerifyingKey;
