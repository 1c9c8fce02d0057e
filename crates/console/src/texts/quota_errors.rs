//! Errors of groups whose quota is used up: their texts, and a link to the page where an
//! administrator can raise the quota.

use pia_kernel::Language;
use pia_policy::Quota;
use pia_web::ApiError;

use super::limits::{quota_label, quota_value};
use crate::page_context::path_segment;
use crate::ui::Text;
use crate::ui::view::Link;

/// Quota that is used up, as the body of an error describes it.
struct UsedQuota {
    quota: Quota,
    limit: i64,
    /// Name of the group, if the error has it.
    group: Option<String>,
}

/// Returns the text of an error about a quota; `None` for other errors.
pub(super) fn text(language: Language, err: &ApiError) -> Option<String> {
    let UsedQuota { quota, limit, group } = used_quota(err)?;
    let label = quota_label(quota).of(language);
    let limit = quota_value(language, quota, limit);

    Some(match group {
        Some(group) => NAMED_GROUP_IS_FULL.fill(language, &[&group, label, &limit]),
        None => GROUP_IS_FULL.fill(language, &[label, &limit]),
    })
}

/// Returns a link to the group whose quota is used up, or to all groups if the error does not
/// name it; `None` for errors that are not about a quota.
pub(crate) fn group_link(language: Language, err: &ApiError) -> Option<Link> {
    let path = match used_quota(err)?.group {
        Some(name) => format!("admin/groups?search={}", path_segment(&name)),
        None => "admin/groups".to_owned(),
    };
    Some(Link { label: OPEN_GROUPS.of(language).to_owned(), path })
}

/// Reads the quota from the body of an error; `None` if it is not about one.
fn used_quota(err: &ApiError) -> Option<UsedQuota> {
    let body = err.body();
    if body.get("error")? != "quota_exceeded" {
        return None;
    }

    // Names of quotas have no underscores, but the JSON API says `managed_personas`.
    let quota_name = body.get("resource")?.as_str()?.replace('_', "");

    Some(UsedQuota {
        quota: Quota::from_name(&quota_name)?,
        limit: body.get("limit")?.as_i64()?,
        group: body.get("group").and_then(|it| it.as_str()).map(str::to_owned),
    })
}

const NAMED_GROUP_IS_FULL: Text = Text::new(
    "The group {} has reached its quota “{}”: {}. Remove something first, or raise the quota in \
     the settings of the group.",
    "Die Gruppe {} hat ihr Kontingent „{}“ erreicht: {}. Entfernen Sie zuerst etwas, oder erhöhen \
     Sie das Kontingent in den Einstellungen der Gruppe.",
);
const GROUP_IS_FULL: Text = Text::new(
    "The group has reached its quota “{}”: {}. Remove something first, or raise the quota in the \
     settings of the group.",
    "Die Gruppe hat ihr Kontingent „{}“ erreicht: {}. Entfernen Sie zuerst etwas, oder erhöhen Sie \
     das Kontingent in den Einstellungen der Gruppe.",
);
const OPEN_GROUPS: Text = Text::new("Show group", "Gruppe anzeigen");

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;

    use super::*;

    fn quota_exceeded(resource: &str, limit: i64) -> ApiError {
        ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", "It is full.")
            .with("resource", resource)
            .with("limit", limit)
    }

    #[test]
    fn an_error_of_a_quota_names_it_and_its_group() {
        let base_error = quota_exceeded("KnowledgeBases", 5).with("group", "Sales & Co");
        let persona_error = quota_exceeded("managed_personas", 50).with("group", "Sales");
        let byte_error = quota_exceeded("KnowledgeStorageBytes", 50 * 1024 * 1024);

        let base_text = text(Language::En, &base_error).expect("a text");
        let german_base_text = text(Language::De, &base_error).expect("a text");
        let persona_text = text(Language::En, &persona_error).expect("a text");
        let byte_text = text(Language::En, &byte_error).expect("a text");

        let start = "The group Sales & Co has reached its quota “Knowledge bases”: 5.";
        assert!(base_text.starts_with(start), "{base_text}");
        let german_part = "Kontingent „Wissensdatenbanken“ erreicht: 5.";
        assert!(german_base_text.contains(german_part), "{german_base_text}");
        assert!(persona_text.contains("“Personas assigned to the group”: 50."), "{persona_text}");
        assert!(byte_text.contains("“Total size of documents”: 50.0 MiB."), "{byte_text}");
    }

    #[test]
    fn the_link_leads_to_the_group_of_the_quota() {
        let path = |err: &ApiError| group_link(Language::En, err).expect("a link").path;
        let without_group = quota_exceeded("KnowledgeDocuments", 5);
        let with_group = quota_exceeded("KnowledgeBases", 5).with("group", "Sales & Co");

        assert_eq!(path(&with_group), "admin/groups?search=Sales%20%26%20Co");
        assert_eq!(path(&without_group), "admin/groups");
    }

    #[test]
    fn an_error_without_a_quota_has_another_text() {
        let without_resource =
            ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", "Full.").with("limit", 10);
        let with_other_code = ApiError::refused(StatusCode::CONFLICT, "name_taken", "It is taken.")
            .with("resource", "KnowledgeBases");

        for err in [without_resource, with_other_code] {
            assert_eq!(text(Language::En, &err), None);
            assert!(group_link(Language::En, &err).is_none());
        }
    }
}
