//! Inventory of all tables: their export, and their treatment when an account is
//! erased.
//!
//! A new table is added here, or in the `…_tables.rs` of its area. Nothing is erased
//! because of the list: rows are deleted by foreign keys or in `forgetting.rs`, and
//! tests check that the list is true. The reasons are texts that users read in the
//! manifest of their export.

use crate::account::{ACCOUNT, PROVISIONING, SECOND_FACTOR};
use crate::assignments::ASSIGNMENT_TABLES;
use crate::audit_tables::AUDIT_TABLES;
use crate::bookkeeping_tables::BOOKKEEPING_TABLES;
use crate::catalogue_tables::CATALOGUE_TABLES;
use crate::chats::CHATS;
use crate::export_section::ExportSection;
use crate::feedback::AI_FEEDBACK_TABLE;
use crate::knowledge_tables::KNOWLEDGE_TABLES;
use crate::pod_tables::POD_TABLES;
use crate::sections::{
    API_KEYS, APP_PASSWORDS, DEVICES, INVITATIONS, LOGIN_HISTORY, MAILS, PASSKEYS,
    PROVIDER_IDENTITIES, SESSIONS, SYNC_EVENTS,
};
use crate::synced::{LEDGER, SYNC_ITEMS};
use crate::usage_tables::USAGE_TABLES;

/// Table of the inventory.
#[derive(Debug, Clone, Copy)]
pub struct InventoryTable {
    /// Name of the table.
    pub name: &'static str,
    /// Treatment of an account's rows when it is erased.
    pub erasure: ErasurePolicy,
    /// Section of the export that contains the rows; `None` if none does.
    pub export: Option<ExportSection>,
    /// Columns that are not exported, each with the reason.
    pub left_out: &'static [(&'static str, &'static str)],
}

/// Treatment of an account's rows when it is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasurePolicy {
    /// Rows are deleted with the account.
    Delete,
    /// Rows stay without a reference to the account, for this reason.
    Anonymise(&'static str),
    /// Table has no personal data, for this reason.
    NotPersonal(&'static str),
}

impl InventoryTable {
    /// Returns the exported columns.
    pub fn exported_columns(&self) -> &'static [&'static str] {
        self.export.map_or(&[], |it| it.columns)
    }
}

pub(crate) const ELSEWHERE: &str = "says nothing that is not told elsewhere";
pub(crate) const OWN_ID: &str = "your account's id, which the manifest tells";
const SECRET: &str = "a secret: whoever holds a copy of the export would hold it too";
const RECOGNISES: &str = "only recognises a secret that you hold, and is of no other use";
pub(crate) const SHORT_LIVED: &str = "belongs to something under way, and is gone within days";
const KEY: &str = "what sealed data is opened with; it is of use to the server alone";
const WRAPPED: &str = "the key to your encrypted data, itself encrypted: your devices fetch it";
pub(crate) const SUMS: &str = "sums of your usage, each call of which is told";
pub(crate) const BOOKKEEPING: &str = "how the server keeps its books";

/// Returns every table. A test compares them with the tables of both databases.
pub fn inventory() -> impl Iterator<Item = &'static InventoryTable> {
    TABLES
        .iter()
        .chain(ASSIGNMENT_TABLES)
        .chain(POD_TABLES)
        .chain(USAGE_TABLES)
        .chain(AUDIT_TABLES)
        .chain(CATALOGUE_TABLES)
        .chain(KNOWLEDGE_TABLES)
        .chain(BOOKKEEPING_TABLES)
}

/// Tables besides those of assignments, the audit log, the catalogue, pods, usage,
/// knowledge bases and the server itself.
const TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "accounts",
        erasure: ErasurePolicy::Delete,
        export: Some(ACCOUNT),
        left_out: &[
            ("email_folded", ELSEWHERE),
            ("password_hash", SECRET),
            ("credentials_epoch", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "sessions",
        erasure: ErasurePolicy::Delete,
        export: Some(SESSIONS),
        left_out: &[("user_id", OWN_ID)],
    },
    InventoryTable {
        name: "refresh_tokens",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[("hash", RECOGNISES), ("session_id", ELSEWHERE), ("spent_at", BOOKKEEPING)],
    },
    InventoryTable {
        name: "sign_ins",
        erasure: ErasurePolicy::Delete,
        export: Some(LOGIN_HISTORY),
        left_out: &[("user_id", OWN_ID)],
    },
    InventoryTable {
        name: "totp_factors",
        erasure: ErasurePolicy::Delete,
        export: Some(SECOND_FACTOR),
        left_out: &[("user_id", OWN_ID), ("secret", SECRET), ("last_step", BOOKKEEPING)],
    },
    InventoryTable {
        name: "recovery_codes",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[("user_id", OWN_ID), ("hash", RECOGNISES)],
    },
    InventoryTable {
        name: "passkeys",
        erasure: ErasurePolicy::Delete,
        export: Some(PASSKEYS),
        left_out: &[
            ("user_id", OWN_ID),
            ("credential_id", RECOGNISES),
            ("credential", RECOGNISES),
            ("counter", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "app_passwords",
        erasure: ErasurePolicy::Delete,
        export: Some(APP_PASSWORDS),
        left_out: &[("user_id", OWN_ID), ("hash", RECOGNISES)],
    },
    InventoryTable {
        name: "api_keys",
        erasure: ErasurePolicy::Delete,
        export: Some(API_KEYS),
        left_out: &[("user_id", OWN_ID), ("hash", RECOGNISES)],
    },
    InventoryTable {
        name: "scim_users",
        erasure: ErasurePolicy::Delete,
        export: Some(PROVISIONING),
        left_out: &[("user_id", OWN_ID), ("user_name_folded", ELSEWHERE)],
    },
    InventoryTable {
        name: "provider_identities",
        erasure: ErasurePolicy::Delete,
        export: Some(PROVIDER_IDENTITIES),
        left_out: &[("user_id", OWN_ID)],
    },
    InventoryTable {
        name: "devices",
        erasure: ErasurePolicy::Delete,
        export: Some(DEVICES),
        left_out: &[
            ("user_id", OWN_ID),
            ("onboarding", SHORT_LIVED),
            ("onboarding_ends_at", SHORT_LIVED),
            ("key_ciphertext", WRAPPED),
            ("key_salt", WRAPPED),
            ("key_created_by", WRAPPED),
            ("key_created_at", WRAPPED),
            ("key_signature", WRAPPED),
            ("key_signature_version", WRAPPED),
            ("key_onboarding", WRAPPED),
        ],
    },
    InventoryTable {
        name: "recovery_keys",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("user_id", OWN_ID),
            ("ciphertext", WRAPPED),
            ("kdf_salt", WRAPPED),
            ("kdf_memory_kib", WRAPPED),
            ("kdf_time", WRAPPED),
            ("kdf_parallelism", WRAPPED),
            ("umk_version", WRAPPED),
            ("created_at", WRAPPED),
            ("proof_key", RECOGNISES),
        ],
    },
    // Invitations to their address are deleted; those that they created are the server's.
    InventoryTable {
        name: "invitations",
        erasure: ErasurePolicy::Delete,
        export: Some(INVITATIONS),
        left_out: &[("hash", RECOGNISES), ("invited_by", OWN_ID)],
    },
    InventoryTable {
        name: "mails",
        erasure: ErasurePolicy::Delete,
        export: Some(MAILS),
        left_out: &[
            ("user_id", OWN_ID),
            ("sealed", "is on its way to you, and may hold links that open your account"),
            ("claimed_until", BOOKKEEPING),
        ],
    },
    AI_FEEDBACK_TABLE,
    // Windows of groups stay: they belong to no single user.
    InventoryTable {
        name: "credit_windows",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("key", ELSEWHERE),
            ("kind", SUMS),
            ("owner_id", ELSEWHERE),
            ("user_id", OWN_ID),
            ("group_id", ELSEWHERE),
            ("week", SUMS),
            ("total", SUMS),
            ("used", SUMS),
            ("reserved", SHORT_LIVED),
            ("last_used", SUMS),
            ("buckets", SUMS),
        ],
    },
    InventoryTable {
        name: "credit_reservations",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("id", SHORT_LIVED),
            ("window_key", SHORT_LIVED),
            ("instance_id", SHORT_LIVED),
            ("amount", SHORT_LIVED),
            ("opened_at", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "credit_instances",
        erasure: ErasurePolicy::NotPersonal("which processes of the server are running"),
        export: None,
        left_out: &[("id", BOOKKEEPING), ("alive_until", BOOKKEEPING)],
    },
    InventoryTable {
        name: "chats",
        erasure: ErasurePolicy::Delete,
        export: Some(CHATS),
        left_out: &[("user_id", OWN_ID), ("stamp", BOOKKEEPING)],
    },
    InventoryTable {
        name: "person_salts",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[("user_id", OWN_ID), ("salt", KEY)],
    },
    InventoryTable {
        name: "factor_challenges",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("hash", RECOGNISES),
            ("user_id", OWN_ID),
            ("expires_at", SHORT_LIVED),
            ("tries", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "mailed_tokens",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("hash", RECOGNISES),
            ("user_id", OWN_ID),
            ("purpose", SHORT_LIVED),
            ("expires_at", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "passkey_challenges",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("hash", RECOGNISES),
            ("user_id", OWN_ID),
            ("state", SHORT_LIVED),
            ("expires_at", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "sign_in_codes",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("hash", RECOGNISES),
            ("user_id", OWN_ID),
            ("challenge", SHORT_LIVED),
            ("expires_at", SHORT_LIVED),
            ("burned_at", SHORT_LIVED),
            ("session_id", ELSEWHERE),
        ],
    },
    InventoryTable {
        name: "attempts",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[("who", SHORT_LIVED), ("tat_micros", SHORT_LIVED)],
    },
    InventoryTable {
        name: "guesses",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("who", SHORT_LIVED),
            ("failures", SHORT_LIVED),
            ("wait_micros", SHORT_LIVED),
            ("counted_at_micros", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "provider_flows",
        erasure: ErasurePolicy::NotPersonal("nobody has signed in yet: it is gone within minutes"),
        export: None,
        left_out: &[
            ("hash", SHORT_LIVED),
            ("browser", SHORT_LIVED),
            ("sealed", SHORT_LIVED),
            ("expires_at", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "ledgers",
        erasure: ErasurePolicy::Delete,
        export: Some(LEDGER),
        left_out: &[("user_id", OWN_ID), ("epoch", BOOKKEEPING)],
    },
    InventoryTable {
        name: "sync_items",
        erasure: ErasurePolicy::Delete,
        export: Some(SYNC_ITEMS),
        left_out: &[("user_id", OWN_ID), ("digest", RECOGNISES), ("beaten", RECOGNISES)],
    },
    InventoryTable {
        name: "sync_events",
        erasure: ErasurePolicy::Delete,
        export: Some(SYNC_EVENTS),
        left_out: &[("user_id", OWN_ID)],
    },
];

/// Returns the stored data that the export leaves out.
pub(crate) fn left_out() -> impl Iterator<Item = (String, &'static str)> {
    inventory().filter(|it| !matches!(it.erasure, ErasurePolicy::NotPersonal(_))).flat_map(
        |table| {
            table.left_out.iter().map(|(column, why)| {
                (format!("{}.{}", to_camel_case(table.name), to_camel_case(column)), *why)
            })
        },
    )
}

/// Converts a name to the camel case of the wire.
fn to_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut chars = word.chars();
        name.extend(chars.next().map(|it| it.to_ascii_uppercase()));
        name + chars.as_str()
    })
}
