//! Form fields in which a manager chooses models of the catalogue for a group.
//!
//! A group stores the ids of its models. The fields also offer stored ids that the
//! catalogue lacks, so that they survive a change of other settings.

use pia_assistant::CatalogueModel;
use pia_kernel::Language;

use crate::page_context::PageContext;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Text};

/// Returns the selection of a chat model, or of none.
pub(super) fn select_field(
    page: &PageContext,
    name: &str,
    label: impl Into<String>,
    stored_id: Option<&String>,
) -> Field {
    let models = list_models(page, |it| matches!(it, CatalogueModel::Chat(_)));
    let stored_ids = stored_id.map(std::slice::from_ref).unwrap_or_default();
    let options = model_options(page.language, &models, stored_ids);
    let selected = options.iter().find(|it| it.is_selected).map(|it| it.value.clone());

    let mut choices = vec![(String::new(), page.t(BY_SERVER).to_owned())];
    choices.extend(options.into_iter().map(|it| (it.value, it.label)));
    Field::select(name, label, choices, &selected.unwrap_or_default()).optional()
}

/// Returns check boxes of the models for chats and embeddings; `None` if there is no model.
pub(super) fn checks_field(
    page: &PageContext,
    name: &str,
    label: &str,
    stored_ids: &[String],
) -> Option<Field> {
    let models = list_models(page, |it| !matches!(it, CatalogueModel::Search(_)));
    let options = model_options(page.language, &models, stored_ids);
    (!options.is_empty()).then(|| Field::checks(name, label, options))
}

/// Model of the catalogue that a group can choose.
struct NamedModel {
    id: String,
    name: String,
}

impl NamedModel {
    fn has_id(&self, id: &str) -> bool {
        self.id.eq_ignore_ascii_case(id)
    }

    fn to_select_option(&self, is_selected: bool) -> SelectOption {
        let Self { id, name } = self;
        let label = if name == id { id.clone() } else { format!("{name} ({id})") };
        SelectOption { value: id.clone(), label, is_selected }
    }
}

/// Returns the usable models of the catalogue, without those that have no id.
fn list_models(page: &PageContext, is_usable: fn(&CatalogueModel) -> bool) -> Vec<NamedModel> {
    let entries = page.api.models.list();
    entries
        .iter()
        .filter(|it| is_usable(&it.model))
        .filter_map(|it| {
            let id = it.model.id()?.to_owned();
            Some(NamedModel { id, name: it.name().to_owned() })
        })
        .collect()
}

/// Returns the selected options of the stored ids, in their order, followed by the other
/// models.
fn model_options(
    language: Language,
    models: &[NamedModel],
    stored_ids: &[String],
) -> Vec<SelectOption> {
    let stored_options = stored_ids.iter().map(|id| stored_option(language, models, id));
    let other_options = models
        .iter()
        .filter(|model| !stored_ids.iter().any(|id| model.has_id(id)))
        .map(|model| model.to_select_option(false));
    stored_options.chain(other_options).collect()
}

/// Returns the selected option of a stored id, which the catalogue may lack.
fn stored_option(language: Language, models: &[NamedModel], id: &str) -> SelectOption {
    match models.iter().find(|it| it.has_id(id)) {
        Some(model) => model.to_select_option(true),
        None => SelectOption {
            value: id.to_owned(),
            label: GONE.fill(language, &[id]),
            is_selected: true,
        },
    }
}

const BY_SERVER: Text = Text::new("The server decides", "Bestimmt der Server");
const GONE: Text = Text::new("{} (not in the catalogue)", "{} (nicht im Katalog)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_models_come_first_even_if_the_catalogue_lacks_them() {
        let models = [("small", "small"), ("large", "Large model")]
            .map(|(id, name)| NamedModel { id: id.to_owned(), name: name.to_owned() });
        let stored_ids = ["gone".to_owned(), "LARGE".to_owned()];

        let options = model_options(Language::En, &models, &stored_ids);

        let rows: Vec<_> = options
            .iter()
            .map(|it| (it.value.as_str(), it.label.as_str(), it.is_selected))
            .collect();
        let expected_rows = [
            ("gone", "gone (not in the catalogue)", true),
            ("large", "Large model (large)", true),
            ("small", "small", false),
        ];
        assert_eq!(rows, expected_rows);
    }
}
