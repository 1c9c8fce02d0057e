//! Errors of quotas that are used up: their texts, and the page that raises them.

use pia_kernel::Language;
use pia_policy::Quota;
use pia_web::ApiError;

use super::limits::{quota_label, quota_value};
use crate::page_context::path_segment;
use crate::ui::Text;
use crate::ui::view::Link;

/// Quota that is used up, as an error names it.
struct UsedQuota {
    quota: Quota,
    limit: i64,
    /// Name of the group, if the error has it.
    group: Option<String>,
}

/// Returns the text of an error about a quota; `None` for one that names no quota.
pub(super) fn text(language: Language, err: &ApiError) -> Option<String> {
    let UsedQuota { quota, limit, group } = used_quota(err)?;
    let label = quota_label(quota).of(language);
    let limit = quota_value(language, quota, limit);
    Some(match group {
        Some(group) => OF_GROUP.fill(language, &[&group, label, &limit]),
        None => USED_UP.fill(language, &[label, &limit]),
    })
}

/// Returns a link to the group whose quota is used up; to all groups if the error does
/// not name it.
pub(crate) fn group_link(language: Language, err: &ApiError) -> Option<Link> {
    let path = match used_quota(err)?.group {
        Some(name) => format!("admin/groups?search={}", path_segment(&name)),
        None => "admin/groups".to_owned(),
    };
    Some(Link { label: OPEN_GROUPS.of(language).to_owned(), path })
}

fn used_quota(err: &ApiError) -> Option<UsedQuota> {
    let body = err.body();
    if body.get("error")? != "quota_exceeded" {
        return None;
    }

    // The JSON API names that of personas in another form.
    let resource = body.get("resource")?.as_str()?.replace('_', "");

    Some(UsedQuota {
        quota: Quota::from_name(&resource)?,
        limit: body.get("limit")?.as_i64()?,
        group: body.get("group").and_then(|it| it.as_str()).map(str::to_owned),
    })
}

const OF_GROUP: Text = Text::new(
    "The group {} has reached its quota “{}”: {}. Remove something first, or raise the quota in \
     the settings of the group.",
    "Die Gruppe {} hat ihr Kontingent „{}“ erreicht: {}. Entfernen Sie zuerst etwas, oder erhöhen \
     Sie das Kontingent in den Einstellungen der Gruppe.",
);
const USED_UP: Text = Text::new(
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

    fn refusal(resource: &str, limit: i64) -> ApiError {
        ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", "It is full.")
            .with("resource", resource)
            .with("limit", limit)
    }

    #[test]
    fn an_error_of_a_quota_names_it_and_its_group() {
        let bases = refusal("KnowledgeBases", 5).with("group", "Sales & Co");
        let personas = refusal("managed_personas", 50).with("group", "Sales");
        let bytes = refusal("KnowledgeStorageBytes", 50 * 1024 * 1024);
        let english = |err: &ApiError| text(Language::En, err).expect("a text");

        let start = "The group Sales & Co has reached its quota “Knowledge bases”: 5.";
        assert!(english(&bases).starts_with(start), "{}", english(&bases));
        assert!(english(&personas).contains("“Personas assigned to the group”: 50."));
        assert!(english(&bytes).contains("“Total size of documents”: 50.0 MiB."));
        let german = text(Language::De, &bases).expect("a text");
        assert!(german.contains("Kontingent „Wissensdatenbanken“ erreicht: 5."), "{german}");
    }

    #[test]
    fn the_link_leads_to_the_group_of_the_quota() {
        let path = |err: &ApiError| group_link(Language::En, err).map(|it| it.path);
        let bases = refusal("KnowledgeBases", 5).with("group", "Sales & Co");

        assert_eq!(path(&bases).as_deref(), Some("admin/groups?search=Sales%20%26%20Co"));
        let documents = refusal("KnowledgeDocuments", 5);
        assert_eq!(path(&documents).as_deref(), Some("admin/groups"));
    }

    #[test]
    fn an_error_without_a_quota_has_another_text() {
        let tokens = ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", "Full.");
        let taken = ApiError::refused(StatusCode::CONFLICT, "name_taken", "It is taken.");

        for err in [tokens.with("limit", 10), taken.with("resource", "KnowledgeBases")] {
            assert_eq!(text(Language::En, &err), None);
            assert!(group_link(Language::En, &err).is_none());
        }
    }
}
