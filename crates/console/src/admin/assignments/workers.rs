//! Queue of the assignments, and the workers.

use pia_web::{ApiError, Route};

use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;
use crate::ui::{Cell, Row, Section, Table, Text, View, format};

pub(super) fn route() -> Route {
    page("/admin/assignments/workers", |it| it.to(show))
}

async fn show(page: PageContext) -> PageResult {
    let workers =
        page.run(|api| async move { api.assignments.administration.workers().await }).await?;
    let rows = workers.iter().map(|it| {
        Row::new(vec![
            Cell::text(it.host.as_str()),
            Cell::text(format::time(page.language, it.started_at)),
            Cell::number(format::number(page.language, it.runs)),
        ])
    });

    let table = Table {
        caption: page.t(WORKERS).to_owned(),
        columns: [HOST, STARTED, RUNS].map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    };

    let view = View::new(page.t(TITLE))
        .below(page.t(super::TITLE), "admin/assignments")
        .section(queue_section(&page).await?)
        .section(Section::new("workers", page.t(WORKERS)).table(table));

    Ok(page.render(view))
}

/// Returns the state of the queue.
pub(super) async fn queue_section(page: &PageContext) -> Result<Section, ApiError> {
    let queue = page.run(|api| async move { api.assignments.administration.queue().await }).await?;
    let oldest = queue.oldest_queued_at.map(|it| format::time(page.language, it));
    let facts = [
        (page.t(QUEUED), Cell::text(format::number(page.language, queue.queued))),
        (page.t(RUNNING), Cell::text(format::number(page.language, queue.running))),
        (page.t(OLDEST), Cell::text(oldest.unwrap_or_default())),
    ];
    let is_busy = queue.queued > 0 || queue.running > 0;
    Ok(Section::new("queue", page.t(QUEUE)).facts(facts).live(is_busy))
}

pub(super) const TITLE: Text = Text::new("Queue and workers", "Warteschlange und Worker");
const QUEUE: Text = Text::new("Queue", "Warteschlange");
const QUEUED: Text = Text::new("Waiting", "Wartend");
const RUNNING: Text = Text::new("Running", "Laufend");
const OLDEST: Text = Text::new("Oldest waiting since", "Ältester wartet seit");
const WORKERS: Text = Text::new("Workers", "Worker");
const HOST: Text = Text::new("Machine", "Rechner");
const STARTED: Text = Text::new("Running since", "Läuft seit");
const RUNS: Text = Text::new("Assignments", "Aufträge");
const EMPTY: Text = Text::new(
    "No worker is running, so assignments stay in the queue. Workers start with the server unless \
     assignments are turned off.",
    "Kein Worker läuft, daher bleiben Aufträge in der Warteschlange. Worker starten mit dem \
     Server, sofern Aufträge eingeschaltet sind.",
);
