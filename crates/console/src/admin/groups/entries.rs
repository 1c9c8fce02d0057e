//! Choice of models from the catalogue.

use pia_assistant::CatalogueModel;
use pia_kernel::Language;

use crate::page_context::PageContext;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Text};

const BY_SERVER: Text = Text::new("The server decides", "Bestimmt der Server");
const GONE: Text = Text::new("{} (not in the catalogue)", "{} (nicht im Katalog)");

/// Model of the catalogue: its id and its name.
struct NamedModel {
    id: String,
    name: String,
}

/// Returns the selection of a chat model, or of none.
pub(super) fn select(
    page: &PageContext,
    name: &str,
    label: impl Into<String>,
    stored: Option<&String>,
) -> Field {
    let models = models(page, |it| matches!(it, CatalogueModel::Chat(_)));
    let stored = stored.map(std::slice::from_ref).unwrap_or_default();
    let options = options(page.language, &models, stored);
    let selected = options.iter().find(|it| it.is_selected).map(|it| it.value.clone());
    let by_server = (String::new(), page.t(BY_SERVER).to_owned());
    let choices =
        std::iter::once(by_server).chain(options.into_iter().map(|it| (it.value, it.label)));
    Field::select(name, label, choices, &selected.unwrap_or_default()).optional()
}

/// Returns check boxes of the models for chats and embeddings.
pub(super) fn checks(page: &PageContext, name: &str, label: &str, stored: &[String]) -> Field {
    let models = models(page, |it| !matches!(it, CatalogueModel::Search(_)));
    Field::checks(name, label, options(page.language, &models, stored))
}

/// Returns the models of the catalogue that have an id and are usable.
fn models(page: &PageContext, is_usable: fn(&CatalogueModel) -> bool) -> Vec<NamedModel> {
    let entries = page.api.models.list();
    let usable = entries.iter().filter(|it| is_usable(&it.model));
    let named = usable.filter_map(|it| {
        let id = it.model.id()?.to_owned();
        Some(NamedModel { id, name: it.name().to_owned() })
    });
    named.collect()
}

/// Returns the stored ids in their order, also those that the catalogue lacks,
/// followed by its other models.
fn options(language: Language, models: &[NamedModel], stored: &[String]) -> Vec<SelectOption> {
    let stored_options = stored.iter().map(|id| {
        let model = models.iter().find(|it| it.id.eq_ignore_ascii_case(id));
        model.map_or_else(
            || SelectOption {
                value: id.clone(),
                label: GONE.of(language).replace("{}", id),
                is_selected: true,
            },
            |it| option(it, true),
        )
    });
    let others = models
        .iter()
        .filter(|model| !stored.iter().any(|it| it.eq_ignore_ascii_case(&model.id)))
        .map(|it| option(it, false));
    stored_options.chain(others).collect()
}

fn option(model: &NamedModel, is_selected: bool) -> SelectOption {
    let NamedModel { id, name } = model;
    let label = if name == id { id.clone() } else { format!("{name} ({id})") };
    SelectOption { value: id.clone(), label, is_selected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_models_come_first_even_if_the_catalogue_lacks_them() {
        let models = [("small", "small"), ("large", "Large model")]
            .map(|(id, name)| NamedModel { id: id.to_owned(), name: name.to_owned() });
        let stored = ["gone".to_owned(), "LARGE".to_owned()];

        let options = options(Language::En, &models, &stored);

        let options: Vec<_> = options
            .iter()
            .map(|it| (it.value.as_str(), it.label.as_str(), it.is_selected))
            .collect();
        let expected = [
            ("gone", "gone (not in the catalogue)", true),
            ("large", "Large model (large)", true),
            ("small", "small", false),
        ];
        assert_eq!(options, expected);
    }
}
