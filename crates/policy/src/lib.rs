//! Permissions: the licence, its features and issuers; groups and the settings
//! of their members; client policies; managed personas; plugins and the
//! certificates of their signers; and users' reports on answers.
//!
//! The licence decides what the whole server may do: read `reading.rs`, which parses
//! and verifies one, and then `licence.rs`, which answers questions about it. All else
//! is administration, in files of one pattern: `<area>.rs` has the use case and its
//! errors, `<area>/draft.rs` the rules for what clients send, and
//! `<area>/ports.rs` the store, whose doc lists what must hold under concurrent changes.

mod certificates;
mod client_policies;
mod edition;
mod envelope;
mod feature;
mod feedback;
mod groups;
mod licence;
mod licence_replacement;
mod personas;
mod plugins;
mod reading;
mod service;
mod setting_overrides;
mod signing_key;
mod terms;
mod uploads;
mod verifying_key;
mod violation;

#[cfg(any(test, feature = "mock"))]
pub use certificates::MockCertificateStore;
pub use certificates::{
    CertificateStore, TrustedCertificate, TrustedCertificateError, TrustedCertificates,
};
#[cfg(any(test, feature = "mock"))]
pub use client_policies::MockClientPolicyStore;
pub use client_policies::{
    AssignedPolicy, ClientPolicies, ClientPolicy, ClientPolicyDraft, ClientPolicyEntry,
    ClientPolicyError, ClientPolicyStore, PolicyAssignmentOutcome, PolicyComparison,
    PolicyDeletionOutcome, PolicyDocument, PolicyDocumentError, PolicyStoreOutcome, PolicyUpdate,
    PolicyVersion, PolicyVersionEntry, SettingDifference,
};
pub use edition::Edition;
pub use envelope::MAX_LICENCE_BYTES;
pub use feature::Feature;
#[cfg(any(test, feature = "mock"))]
pub use feedback::MockFeedbackStore;
pub use feedback::{
    Feedback, FeedbackChange, FeedbackChangeOutcome, FeedbackDraft, FeedbackEntry, FeedbackError,
    FeedbackFilter, FeedbackReceipt, FeedbackReport, FeedbackSettings, FeedbackStatus,
    FeedbackStore, Rating, TriageUpdate,
};
pub use groups::{
    ExternalIdOutcome, Group, GroupCreationOutcome, GroupDeletionOutcome, GroupEntry, GroupError,
    GroupMember, GroupName, GroupRenameOutcome, GroupSettings, GroupStore, GroupUse, GroupWatch,
    Groups, MAX_LIMIT, MODES, MemberEffects, MemberFilter, MemberMoveOutcome, MemberOrder,
    MembersChangeOutcome, MembershipChange, NameError, Quota, SettingChange, SettingsChangeOutcome,
    SettingsError,
};
#[cfg(any(test, feature = "mock"))]
pub use groups::{MockGroupStore, MockGroupWatch};
pub use licence::{EXPIRY_NOTICE, Licence, LicenceError, LicenceState, Licensed};
pub use licence_replacement::LicenceReplacement;
#[cfg(any(test, feature = "mock"))]
pub use personas::MockPersonaStore;
pub use personas::{
    ManagedPersonas, PersonaAssignmentOutcome, PersonaBindingOutcome, PersonaChangeOutcome,
    PersonaContent, PersonaDraft, PersonaEntry, PersonaError, PersonaQuotas, PersonaStore,
    PersonaUpdate, PublishedPersona,
};
#[cfg(any(test, feature = "mock"))]
pub use plugins::MockPluginStore;
pub use plugins::{
    PluginChangeOutcome, PluginContent, PluginDraft, PluginEntry, PluginError, PluginPackage,
    PluginStore, PluginUpdate, Plugins, PublishedPlugin,
};
pub use reading::LicenceReading;
pub use service::{InstallError, LicenceService, SetupState};
pub use setting_overrides::{
    BlankMeaning, ListedSetting, OverrideChange, OverrideLayer, OverrideStore, OverrideValue,
    RunningSetting, RunningSettings, SettingOverride, SettingOverrideError, SettingOverrides,
};
#[cfg(any(test, feature = "mock"))]
pub use setting_overrides::{MockOverrideStore, MockRunningSettings};
pub use signing_key::{LicenceKeyError, SigningKey};
pub use terms::Terms;
#[cfg(any(test, feature = "mock"))]
pub use uploads::MockUploadReader;
pub use uploads::{ParsedCertificate, SignedPackage, UnusableUpload, UploadReader};
pub use verifying_key::VerifyingKey;
pub use violation::Violation;
