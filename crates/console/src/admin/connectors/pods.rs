//! Pods that are connected to any instance.

use std::collections::HashMap;

use pia_kernel::{ConnectorId, Unavailable};
use pia_pods::{ConnectedPod, PodId};
use pia_web::{PathId, Route};

use super::{licensed_form, page};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Form, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/connectors/pods", |it| it.to(list)),
        licensed_form("/admin/connectors/pods/{id}/drain", |it| it.to(drain)),
    ]
}

async fn list(page: PageContext) -> PageResult {
    let (connectors, pods) = page
        .run(|api| async move {
            Ok::<_, Unavailable>((api.connectors.list().await?, api.connectors.connected().await?))
        })
        .await?;
    let names: HashMap<_, _> = connectors.into_iter().map(|it| (it.id, it.name)).collect();
    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .below(page.t(super::TITLE), "admin/connectors")
        .section(section(&page, &pods, Some(&names)));
    Ok(page.render(view))
}

async fn drain(page: PageContext, PathId(id): PathId, _: FormFields) -> PageResult {
    let by = Some(page.user());
    page.run(|api| async move { api.connectors.drain(by, PodId(id)).await }).await?;
    page.done("admin/connectors/pods", "saved")
}

/// Returns a section with pods: a list of those of all connectors with their names,
/// or a plain table of those of one, whose page also answers its forms.
pub(super) fn section(
    page: &PageContext,
    pods: &[ConnectedPod],
    names: Option<&HashMap<ConnectorId, String>>,
) -> Section {
    let connector = names.map(|_| ("connector", CONNECTOR));
    let value_columns = [
        ("status", common::STATUS),
        ("instance", INSTANCE),
        ("tools", TOOLS),
        ("calls", CALLS),
        ("failed", FAILURES),
        ("duration", LATENCY),
    ];
    let columns: Vec<_> =
        [("pod", POD)].into_iter().chain(connector).chain(value_columns).collect();
    let rows = pods.iter().map(|it| pod_row(page, it, names)).collect();
    let table = if names.is_some() {
        page.list(TITLE, EMPTY, &columns, rows)
    } else {
        Table {
            caption: page.t(TITLE).to_owned(),
            columns: columns.iter().map(|it| page.t(it.1).to_owned()).collect(),
            rows,
            empty: page.t(EMPTY).to_owned(),
            ..Table::default()
        }
    };

    let title = if names.is_some() { "" } else { page.t(TITLE) };
    let mut section = Section::new("pods", title);
    if !pods.is_empty() {
        section = section.intro(page.t(DRAIN_HINT));
    }

    section.table(table)
}

fn pod_row(
    page: &PageContext,
    pod: &ConnectedPod,
    names: Option<&HashMap<ConnectorId, String>>,
) -> Row {
    let number = |it: i64| Cell::number(format::number(page.language, it)).sort_value(it);
    let description = &pod.description;
    let since = page.fill(SINCE, &[&format::time(page.language, pod.connected_at)]);
    let status = if pod.is_draining {
        Cell::badge(page.t(DRAINING), Tone::Warning)
    } else {
        Cell::badge(page.t(CONNECTED), Tone::Good)
    };

    let mut cells =
        vec![Cell::text(description.name.as_str()).detail(description.version.as_str())];
    if let Some(names) = names {
        let name = names.get(&pod.connector).map(String::as_str).unwrap_or_default();
        cells.push(Cell::link(name, format!("admin/connectors/{}", pod.connector)));
    }

    cells.extend([
        status.detail(since),
        Cell::text(pod.host.as_str()),
        tools_cell(page, pod),
        number(pod.calls),
        number(pod.failures),
        latency_cell(page, pod),
    ]);
    let row = Row::new(cells).key(pod.id.0.to_string());
    if pod.is_draining {
        return row;
    }

    let path = format!("admin/connectors/pods/{}/drain", pod.id.0);

    row.form(Form::new(path, page.t(DRAIN)).about(description.name.as_str()))
}

/// Returns the names of a pod's tools, and of its skills if it has any.
fn tools_cell(page: &PageContext, pod: &ConnectedPod) -> Cell {
    let tools: Vec<_> = pod.description.tools.iter().map(|it| it.name.as_str()).collect();
    let cell = Cell::text(tools.join(", "));
    let skills: Vec<_> = pod.description.skills.iter().map(|it| it.name.as_str()).collect();
    if skills.is_empty() {
        return cell;
    }
    cell.detail(page.fill(SKILLS, &[&skills.join(", ")]))
}

/// Returns the mean duration of a pod's calls; empty before the first.
fn latency_cell(page: &PageContext, pod: &ConnectedPod) -> Cell {
    let Some(mean) = pod.milliseconds.checked_div(pod.calls) else {
        return Cell::number("");
    };
    let text = page.fill(MILLISECONDS, &[&format::number(page.language, mean)]);
    Cell::number(text).sort_value(mean)
}

pub(super) const TITLE: Text = Text::new("Connected pods", "Verbundene Pods");
const INTRO: Text = Text::new(
    "Pods of all connectors, and the instance that each is connected to. The numbers count since \
     the pod connected.",
    "Pods aller Konnektoren und die Instanz, mit der sie verbunden sind. Die Zahlen gelten, seit \
     der Pod verbunden ist.",
);
pub(super) const EMPTY: Text = Text::new(
    "No pod is connected. Start one with the token of a connector.",
    "Kein Pod ist verbunden. Starten Sie einen mit dem Token eines Konnektors.",
);
const POD: Text = Text::new("Pod", "Pod");
const CONNECTOR: Text = Text::new("Connector", "Konnektor");
const INSTANCE: Text = Text::new("Instance", "Instanz");
const SINCE: Text = Text::new("Since {}", "Seit {}");
const TOOLS: Text = Text::new("Tools", "Werkzeuge");
const SKILLS: Text = Text::new("Skills: {}", "Fähigkeiten: {}");
const CALLS: Text = Text::new("Calls", "Aufrufe");
const FAILURES: Text = Text::new("Failed", "Fehlgeschlagen");
const LATENCY: Text = Text::new("Mean duration", "Mittlere Dauer");
const MILLISECONDS: Text = Text::new("{} ms", "{} ms");
const CONNECTED: Text = Text::new("Connected", "Verbunden");
const DRAINING: Text = Text::new("Draining", "Läuft aus");
const DRAIN: Text = Text::new("Drain", "Auslaufen lassen");
const DRAIN_HINT: Text = Text::new(
    "A draining pod gets no new calls and is disconnected once its running calls have ended.",
    "Ein Pod, der ausläuft, erhält keine weiteren Aufrufe und wird getrennt, sobald die laufenden \
     beendet sind.",
);
