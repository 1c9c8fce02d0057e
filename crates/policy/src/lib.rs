//! What is allowed: the licence, what it includes, and who issues it.

mod desk;
mod edition;
mod envelope;
mod feature;
mod licence;
mod reading;
mod signing_key;
mod terms;
mod verifying_key;

pub use desk::{InstallError, LicenceDesk, SetupStanding};
pub use edition::Edition;
pub use envelope::LONGEST_LICENCE;
pub use feature::Feature;
pub use licence::{Licence, LicenceFault, LicenceState, Licensed};
pub use reading::LicenceReading;
pub use signing_key::{KeyFault, SigningKey};
pub use terms::Terms;
pub use verifying_key::VerifyingKey;
