//! Versions of a client policy, and their comparison setting by setting.
//!
//! Values are compared as JSON, so that spaces and the order of members do not matter.

use std::collections::{BTreeMap, BTreeSet};

use pia_kernel::{Timestamp, UserId};
use serde_json::{Map, Value};

use super::{ClientPolicyDraft, PolicyDocument};

/// Version of a client policy: its contents after one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Number, from 1 on.
    pub number: i32,
    /// Contents of the policy after the write.
    pub draft: ClientPolicyDraft,
    /// Time of the write.
    pub written_at: Timestamp,
    /// Administrator who wrote it; `None` if their account was deleted, or if
    /// it was written before versions were stored.
    pub written_by: Option<UserId>,
}

/// Version of a client policy in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersionEntry {
    /// Number, from 1 on.
    pub number: i32,
    /// Name that the policy had after the write.
    pub name: String,
    /// Size of the document in UTF-8 bytes.
    pub document_bytes: usize,
    /// Time of the write.
    pub written_at: Timestamp,
    /// Administrator who wrote it; `None` as in `PolicyVersion`.
    pub written_by: Option<UserId>,
}

/// Setting whose value differs between two documents.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingDifference {
    /// Section: `defaults` or `enforce`.
    pub section: String,
    /// Name of the setting, as the documents spell it.
    pub setting: String,
    /// Value in the earlier document; `None` if it does not set it.
    pub before: Option<Value>,
    /// Value in the later document; `None` if it does not set it.
    pub after: Option<Value>,
}

/// Two versions of a policy and their differences.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyComparison {
    /// Version that is compared.
    pub from: PolicyVersion,
    /// Version that it is compared with.
    pub to: PolicyVersion,
    /// Differences of their documents, by section and setting.
    pub settings: Vec<SettingDifference>,
}

impl PolicyComparison {
    /// Compares two versions.
    pub(super) fn new(from: PolicyVersion, to: PolicyVersion) -> Self {
        let settings = differences(&from.draft.document, &to.draft.document);
        Self { from, to, settings }
    }
}

/// Section and name of a setting.
type SettingKey = (String, String);

fn differences(before: &PolicyDocument, after: &PolicyDocument) -> Vec<SettingDifference> {
    let old_settings = settings(before);
    let new_settings = settings(after);
    let keys: BTreeSet<&SettingKey> = old_settings.keys().chain(new_settings.keys()).collect();

    let mut differences = Vec::new();
    for key in keys {
        let before = old_settings.get(key).cloned();
        let after = new_settings.get(key).cloned();
        if before != after {
            let (section, setting) = key.clone();
            differences.push(SettingDifference { section, setting, before, after });
        }
    }

    differences
}

fn settings(document: &PolicyDocument) -> BTreeMap<SettingKey, Value> {
    let sections: Map<String, Value> = serde_json::from_str(document.as_str()).unwrap_or_default();
    let mut settings = BTreeMap::new();
    for (section, value) in sections {
        let Value::Object(members) = value else { continue };
        for (name, value) in members {
            settings.insert((section.clone(), name), value);
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_compared_by_their_values() {
        let document = |text| PolicyDocument::parse(text).unwrap();
        let before = document(r#"{"defaults":{"a":1,"b":[1, 2],"c":"x"},"enforce":{"a":1}}"#);
        let after = document(r#"{"enforce":{"d":null}, "defaults":{"c":"y","a":1,"b":[1,2]}}"#);

        let actual = differences(&before, &after);

        let difference = |section: &str, setting: &str, before, after| SettingDifference {
            section: section.to_owned(),
            setting: setting.to_owned(),
            before,
            after,
        };
        let expected = [
            difference("defaults", "c", Some(json!("x")), Some(json!("y"))),
            difference("enforce", "a", Some(json!(1)), None),
            difference("enforce", "d", None, Some(Value::Null)),
        ];
        assert_eq!(actual, expected);
        assert!(differences(&after, &after).is_empty());
    }
}
