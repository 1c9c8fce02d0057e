//! Ids, each of its own type so that they cannot be confused.

use std::fmt;

use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Returns a new id that sorts after those generated before it.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        /// Formats the id in lower case with hyphens, as clients compare it.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.as_hyphenated(), f)
            }
        }
    };
}

id!(
    /// User account, also in what clients encrypt.
    UserId
);
id!(
    /// Session: the family of refresh tokens that continue one sign-in.
    SessionId
);
id!(
    /// Sign-in attempt, successful or not.
    SignInId
);
id!(
    /// Group of users that share quotas, policies and grants.
    GroupId
);
id!(
    /// App password of an account.
    AppPasswordId
);
id!(
    /// Passkey of an account.
    PasskeyId
);
id!(
    /// Invitation to create an account.
    InvitationId
);
id!(
    /// Certificate of a trusted signer.
    CertificateId
);
id!(
    /// User's report on an answer.
    FeedbackId
);
id!(
    /// API key, by which a script calls in a user's name.
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
    /// Email in the outbox.
    MailId
);
id!(
    /// Knowledge base of an organisation's documents.
    KnowledgeBaseId
);
id!(
    /// Document of a knowledge base.
    DocumentId
);
id!(
    /// Question that no document answers.
    QuestionId
);
id!(
    /// Assignment: a long task that a user handed over.
    AssignmentId
);
id!(
    /// Schedule of a user's assignments.
    ScheduleId
);
id!(
    /// Operator: a skill that administrators grant to groups.
    OperatorId
);
id!(
    /// Connector: the permission of pods to connect.
    ConnectorId
);
id!(
    /// Delivery to the webhook of an operator.
    WebhookDeliveryId
);
