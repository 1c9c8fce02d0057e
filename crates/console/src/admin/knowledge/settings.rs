//! Settings of a knowledge base: its prompt, name and groups, and its deletion.

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::KnowledgeBaseEntry;
use pia_web::{ApiError, PathId, Route};
use uuid::Uuid;

use super::{admin_form, base_ref, below_base, find, is_admin, manager_form, manager_page};
use crate::admin::group_choice::{GrantedGroups, GroupNames, typed_selection};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::texts::common;
use crate::ui::{Cell, Field, Form, Section, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        manager_page("/admin/knowledge/{id}/settings", |it| it.to(show)),
        manager_form("/admin/knowledge/{id}/prompt", |it| it.to(set_prompt)),
        admin_form("/admin/knowledge/{id}/rename", |it| it.to(rename)),
        admin_form("/admin/knowledge/{id}/settings/share", |it| it.to(share)),
        admin_form("/admin/knowledge/{id}/delete", |it| it.to(delete)),
    ]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = settings_view(&page, id).await?;
    Ok(page.render(view))
}

async fn set_prompt(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let saved = save_prompt(&page, id, &form).await;
    finish(&page, id, saved, &form).await
}

/// Stores a prompt that was changed, unless another was stored since the form was opened.
async fn save_prompt(page: &PageContext, id: Uuid, form: &FormFields) -> Result<(), ApiError> {
    if !form.is_changed("prompt") {
        return Ok(());
    }
    let stored = find(page, id).await?.base.prompt.unwrap_or_default();
    form.check_original("prompt", &stored)?;

    let base = base_ref(page, id);
    let by = Some(page.user());
    let prompt = form.text("prompt").to_owned();
    page.run(|api| async move { api.knowledge.documents.set_prompt(by, base, Some(prompt)).await })
        .await
}

async fn rename(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let by = Some(page.user());
    let name = form.some("name");
    let renamed = page
        .run(|api| async move { api.knowledge.bases.rename(by, KnowledgeBaseId(id), name).await })
        .await;
    finish(&page, id, renamed, &form).await
}

async fn share(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    match share_with_groups(&page, id, &form).await {
        Ok(()) => page.done(&format!("admin/knowledge/{id}/settings#groups"), "saved"),
        Err(err) => page.refuse_typed(settings_view(&page, id).await?, &form, err),
    }
}

async fn share_with_groups(
    page: &PageContext,
    id: Uuid,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = Some(page.user());
    let base = KnowledgeBaseId(id);
    let groups = typed_selection(page, form).await?;
    page.run(|api| async move { api.knowledge.bases.share(by, base, groups).await }).await
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    let result = page
        .run(|api| async move { api.knowledge.bases.delete(by, KnowledgeBaseId(id)).await })
        .await;
    match result {
        Ok(()) => page.done("admin/knowledge", "deleted"),
        Err(err) => page.refuse(settings_view(&page, id).await?, err),
    }
}

async fn finish(
    page: &PageContext,
    id: Uuid,
    changed: Result<(), ApiError>,
    form: &FormFields,
) -> PageResult {
    match changed {
        Ok(()) => page.done(&format!("admin/knowledge/{id}/settings"), "saved"),
        Err(err) => page.refuse_typed(settings_view(page, id).await?, form, err),
    }
}

async fn settings_view(page: &PageContext, id: Uuid) -> Result<View, ApiError> {
    let entry = find(page, id).await?;
    let path = format!("admin/knowledge/{id}");
    let prompt = entry.base.prompt.clone().unwrap_or_default();
    let prompt_field = Field::lines("prompt", page.t(PROMPT), prompt).hint(page.t(PROMPT_HINT));
    let prompt_form = Form::new(format!("{path}/prompt"), page.t(common::SAVE))
        .field(prompt_field.optional())
        .with_originals();
    let view = below_base(page, &entry, TITLE)
        .section(Section::new("model", "").facts([(page.t(MODEL), model_cell(page, &entry))]))
        .section(Section::new("prompt", page.t(PROMPT)).form(prompt_form));
    if !is_admin(page) {
        return Ok(view);
    }

    let rename = Form::new(format!("{path}/rename"), page.t(RENAME)).field(Field::text(
        "name",
        page.t(common::NAME),
        entry.base.name.as_str(),
    ));

    let groups = GroupNames::load(page).await?.without(&[entry.base.owner]);
    let sharing_groups = GrantedGroups {
        title: SHARE,
        intro: SHARE_INTRO,
        path: format!("{path}/settings/share"),
        granted: &entry.shared_with,
    };
    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_BASE)).danger();
    let document_count = format::number(page.language, entry.document_count);
    let delete_hint = page.fill(DELETE_HINT, &[&document_count]);
    Ok(view
        .section(Section::new("rename", page.t(RENAME)).form(rename))
        .section(groups.section(page, sharing_groups))
        .section(Section::new("delete", page.t(DELETE_BASE)).intro(delete_hint).form(delete)))
}

fn model_cell(page: &PageContext, entry: &KnowledgeBaseEntry) -> Cell {
    let reindexed = entry.reindex_model.as_ref().map(|it| page.fill(REINDEX, &[it]));
    let model = Cell::text(entry.model.as_deref().unwrap_or_default());
    model.detail(reindexed.unwrap_or_default())
}

const TITLE: Text = Text::new("Settings", "Einstellungen");
const MODEL: Text = Text::new("Embedding model", "Einbettungsmodell");
const REINDEX: Text = Text::new("Reindexing with {}", "Wird mit {} neu indiziert");
const PROMPT: Text = Text::new("Prompt", "Prompt");
const PROMPT_HINT: Text = Text::new(
    "Tells the model when to search this knowledge base. Up to 8,000 characters.",
    "Sagt dem Modell, wann es in dieser Wissensdatenbank suchen soll. Bis zu 8.000 Zeichen.",
);
const RENAME: Text = Text::new("Rename knowledge base", "Wissensdatenbank umbenennen");
const SHARE: Text = Text::new("Share knowledge base", "Wissensdatenbank teilen");
const SHARE_INTRO: Text = Text::new(
    "Members of these groups can search it too. Only managers of its own group can change \
     documents.",
    "Auch Mitglieder dieser Gruppen können darin suchen. Nur Verwalter der eigenen Gruppe können \
     Dokumente ändern.",
);
const DELETE_BASE: Text = Text::new("Delete knowledge base", "Wissensdatenbank löschen");
const DELETE_HINT: Text = Text::new(
    "All of its documents ({}) are deleted, and chats no longer find them. This can’t be undone.",
    "Alle Dokumente ({}) werden gelöscht, und Chats finden sie nicht mehr. Das lässt sich nicht \
     rückgängig machen.",
);
