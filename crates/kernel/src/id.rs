//! Ids, each of its own type so that they cannot be swapped.

use std::fmt;

use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id that sorts after those made before it.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        /// Lower-case and hyphenated, as clients compare it.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.as_hyphenated(), f)
            }
        }
    };
}

id!(
    /// A person with an account.
    UserId
);
id!(
    /// Sign-in, and the family of refresh tokens that continue it.
    SessionId
);
id!(
    /// An attempt to sign in, whatever came of it.
    SignInId
);
id!(
    /// People with something in common: quotas, policies, grants.
    GroupId
);
id!(
    /// A password of one app, beside the account's own.
    AppPasswordId
);
id!(
    /// A passkey of an account.
    PasskeyId
);
id!(
    /// Leave to make an account.
    InvitationId
);
id!(
    /// Certificate of a trusted signer.
    CertificateId
);
id!(
    /// Report of a user on an answer.
    FeedbackId
);
id!(
    /// A key that a script calls with in the place of a person.
    ApiKeyId
);
id!(
    /// Token with which an identity provider manages users and groups.
    ScimTokenId
);
id!(
    /// Settings that administrators publish to clients.
    ClientPolicyId
);
id!(
    /// Persona that administrators publish to groups.
    PersonaId
);
id!(
    /// Plugin that administrators publish to groups.
    PluginId
);
id!(
    /// A letter in the outbox.
    MailId
);
