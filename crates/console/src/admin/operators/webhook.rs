//! Webhook of an operator, and its deliveries.

use pia_assignments::{Operator, WebhookDelivery};
use pia_kernel::OperatorId;
use pia_web::{PathId, Route};

use super::show::operator_view;
use super::{TITLE, at_field, find, licensed_form, page};
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        licensed_form("/admin/operators/{id}/webhook", |it| it.to(put)),
        licensed_form("/admin/operators/{id}/webhook/delete", |it| it.to(delete)),
        page("/admin/operators/{id}/deliveries", |it| it.to(deliveries)),
    ]
}

async fn put(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let by = Some(page.user());
    let url = form.text("url").to_owned();
    let stored = page
        .run(|api| async move {
            api.assignments.webhooks.put(by, OperatorId(id), url).await.map_err(at_field)
        })
        .await;
    let mut view = operator_view(&page, id, None).await?;
    match stored {
        Ok(secret) => {
            let secret_part = SectionPart::Secret(page.t(SECRET).to_owned(), secret.reveal());
            let section = Section::new("secret", page.t(SECRET)).intro(page.t(SECRET_HINT));
            view.sections.insert(0, section.part(secret_part));
            Ok(page.render(view))
        }
        Err(err) => page.refuse_typed(view, &form, err),
    }
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    page.run(|api| async move { api.assignments.webhooks.remove(by, OperatorId(id)).await })
        .await?;
    page.done(&format!("admin/operators/{id}"), "deleted")
}

async fn deliveries(page: PageContext, PathId(id): PathId) -> PageResult {
    let operator = find(&page, OperatorId(id)).await?;
    let entries = page
        .run(|api| async move { api.assignments.webhooks.deliveries(OperatorId(id)).await })
        .await?;
    let table = Table {
        caption: page.t(DELIVERIES).to_owned(),
        columns: [CREATED, common::STATUS, ATTEMPTS, CONTENT]
            .map(|it| page.t(it).to_owned())
            .into(),
        rows: entries.iter().map(|it| delivery_row(&page, it)).collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    let view = View::new(page.t(DELIVERIES))
        .intro(page.t(DELIVERIES_HINT))
        .below(page.t(TITLE), "admin/operators")
        .below(operator.name, format!("admin/operators/{id}"))
        .section(Section::new("deliveries", "").table(table));

    Ok(page.render(view))
}

/// Returns the section of an operator's webhook.
pub(super) fn section(page: &PageContext, operator: &Operator) -> Section {
    let path = format!("admin/operators/{}/webhook", operator.id);
    let url = operator.webhook_url.as_deref().unwrap_or_default();
    let put = Form::new(path.as_str(), page.t(SAVE_URL)).field(Field::input(
        "url",
        page.t(URL),
        "url",
        "off",
        url,
    ));
    let section = Section::new("webhook", page.t(WEBHOOK)).intro(page.t(HINT)).form(put);
    if operator.webhook_url.is_none() {
        return section;
    }

    let link = Link {
        label: page.t(DELIVERIES).to_owned(),
        path: format!("admin/operators/{}/deliveries", operator.id),
    };

    let remove = Form::new(format!("{path}/delete"), page.t(REMOVE)).danger();

    section.part(SectionPart::Links(vec![link])).form(remove)
}

fn delivery_row(page: &PageContext, delivery: &WebhookDelivery) -> Row {
    let time = |at| format::time(page.language, at);
    let status = match (delivery.delivered_at, delivery.next_at) {
        (Some(at), _) => Cell::badge(page.t(DELIVERED), Tone::Good).detail(time(at)),
        (None, Some(at)) => {
            let next_attempt = page.fill(NEXT_ATTEMPT, &[&time(at)]);
            let label = format!("{next_attempt} · {}", page.t(common::REPORTED));
            let cell = Cell::badge(page.t(PENDING), Tone::Warning).detail(next_attempt);
            cell.quoted(&label, delivery.failure.as_deref())
        }
        (None, None) => Cell::badge(page.t(ABANDONED), Tone::Bad)
            .quoted(page.t(common::REPORTED), delivery.failure.as_deref()),
    };

    Row::new(vec![
        Cell::text(time(delivery.created_at)),
        status,
        Cell::number(format::number(page.language, delivery.attempts)),
        Cell::text(delivery.payload.as_str()),
    ])
}

const WEBHOOK: Text = Text::new("Webhook", "Webhook");
const HINT: Text = Text::new(
    "The server calls this URL when an assignment of this operator ends. It must begin with \
     https://.",
    "Der Server ruft diese URL auf, wenn ein Auftrag dieses Operators endet. Sie muss mit https:// \
     beginnen.",
);
const URL: Text = Text::new("URL", "URL");
const SAVE_URL: Text = Text::new("Save and rotate secret", "Speichern und Geheimnis erneuern");
const REMOVE: Text = Text::new("Remove webhook", "Webhook entfernen");
const SECRET: Text =
    Text::new("Secret that signs deliveries", "Geheimnis, das Zustellungen signiert");
const SECRET_HINT: Text = Text::new(
    "Copy the secret now: it is shown only once. An earlier one is no longer valid.",
    "Kopieren Sie das Geheimnis jetzt: Es wird nur einmal angezeigt. Ein früheres gilt nicht mehr.",
);
const DELIVERIES: Text = Text::new("Deliveries", "Zustellungen");
const DELIVERIES_HINT: Text =
    Text::new("The latest 100, newest first.", "Die letzten 100, neueste zuerst.");
const EMPTY: Text = Text::new(
    "No deliveries yet. The first one follows when the next assignment ends.",
    "Noch keine Zustellungen. Die erste folgt, wenn der nächste Auftrag endet.",
);
const CREATED: Text = Text::new("Created", "Erstellt");
const ATTEMPTS: Text = Text::new("Attempts", "Versuche");
const CONTENT: Text = Text::new("Content", "Inhalt");
const DELIVERED: Text = Text::new("Delivered", "Zugestellt");
const NEXT_ATTEMPT: Text = Text::new("Next attempt {}", "Nächster Versuch {}");
const PENDING: Text = Text::new("Pending", "Ausstehend");
const ABANDONED: Text = Text::new("Abandoned", "Aufgegeben");
