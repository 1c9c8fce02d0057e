//! Choice of models from the catalogue.

use pia_assistant::CatalogueModel;
use pia_kernel::Language;

use crate::page_context::PageContext;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Text};

/// Model of the catalogue: its id and its name.
struct NamedModel {
    id: String,
    name: String,
}

impl NamedModel {
    fn to_select_option(&self, is_selected: bool) -> SelectOption {
        let Self { id, name } = self;
        let label = if name == id { id.clone() } else { format!("{name} ({id})") };
        SelectOption { value: id.clone(), label, is_selected }
    }
}

/// Returns the selection of a chat model, or of none.
pub(super) fn select(
    page: &PageContext,
    name: &str,
    label: impl Into<String>,
    stored_id: Option<&String>,
) -> Field {
    let models = usable_models(page, |it| matches!(it, CatalogueModel::Chat(_)));
    let stored_ids = stored_id.map(std::slice::from_ref).unwrap_or_default();
    let options = model_options(page.language, &models, stored_ids);
    let selected = options.iter().find(|it| it.is_selected).map(|it| it.value.clone());
    let by_server = (String::new(), page.t(BY_SERVER).to_owned());
    let choices =
        std::iter::once(by_server).chain(options.into_iter().map(|it| (it.value, it.label)));
    Field::select(name, label, choices, &selected.unwrap_or_default()).optional()
}

/// Returns check boxes of the models for chats and embeddings; `None` if there is no model.
pub(super) fn checks(
    page: &PageContext,
    name: &str,
    label: &str,
    stored_ids: &[String],
) -> Option<Field> {
    let models = usable_models(page, |it| !matches!(it, CatalogueModel::Search(_)));
    let options = model_options(page.language, &models, stored_ids);
    (!options.is_empty()).then(|| Field::checks(name, label, options))
}

/// Returns the models of the catalogue that have an id and are usable.
fn usable_models(page: &PageContext, is_usable: fn(&CatalogueModel) -> bool) -> Vec<NamedModel> {
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

/// Returns the stored ids in their order, also those that the catalogue lacks,
/// followed by its other models.
fn model_options(
    language: Language,
    models: &[NamedModel],
    stored_ids: &[String],
) -> Vec<SelectOption> {
    let stored_options =
        stored_ids.iter().map(|id| match models.iter().find(|it| it.id.eq_ignore_ascii_case(id)) {
            Some(model) => model.to_select_option(true),
            None => missing_option(language, id),
        });
    let is_stored =
        |model: &NamedModel| stored_ids.iter().any(|it| it.eq_ignore_ascii_case(&model.id));
    let other_options =
        models.iter().filter(|it| !is_stored(it)).map(|it| it.to_select_option(false));
    stored_options.chain(other_options).collect()
}

/// Returns the selected option of a model that the catalogue lacks.
fn missing_option(language: Language, id: &str) -> SelectOption {
    let label = GONE.fill(language, &[id]);
    SelectOption { value: id.to_owned(), label, is_selected: true }
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
