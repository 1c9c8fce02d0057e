//! Calls that try the tools of a connector.

use pia_kernel::ConnectorId;
use pia_pods::{ConnectorError, PodReply, PodTool, ToolCallError};
use pia_web::{ApiError, PathId, Route};

use super::{TITLE, licensed_form, page, pods};
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

/// Body limit of a form with the arguments of a tool. It is three times that of
/// the JSON API, since encoding a form may triple its size.
const TEST_CALL_BODY: usize = 3 * 72 * 1024;

pub(super) fn routes() -> Vec<Route> {
    const PATH: &str = "/admin/connectors/{id}/test-call";
    vec![
        page(PATH, |it| it.to(show)),
        Route { body_limit: TEST_CALL_BODY, ..licensed_form(PATH, |it| it.to(call)) },
    ]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let tool = page.query("tool");
    let view = call_view(&page, ConnectorId(id), &tool, "{}").await?;
    Ok(page.render(view))
}

async fn call(page: PageContext, PathId(id): PathId, ProvedForm(form): ProvedForm) -> PageResult {
    let tool = form.text("tool").to_owned();
    let arguments = form.text("arguments").to_owned();
    let mut view = call_view(&page, ConnectorId(id), &tool, &arguments).await?;
    let by = page.user();
    let result = page
        .run(|api| async move {
            Ok::<_, ApiError>(api.tools.try_tool(by, ConnectorId(id), &tool, &arguments).await)
        })
        .await?;
    view.sections.insert(0, result_section(&page, result));
    Ok(page.render(view))
}

async fn call_view(
    page: &PageContext,
    id: ConnectorId,
    tool: &str,
    arguments: &str,
) -> Result<View, ApiError> {
    let (connector, tools) = page
        .run(|api| async move {
            let connector = api.connectors.find(id).await?;
            Ok::<_, ConnectorError>((connector, api.connectors.tools(id).await?))
        })
        .await?;
    let names = tools.iter().map(|it| (it.name.as_str(), it.name.as_str()));
    let json =
        Field::lines("arguments", page.t(ARGUMENTS), arguments).json(page.t(common::INVALID_JSON));
    let call = Form::new(format!("admin/connectors/{id}/test-call"), page.t(CALL))
        .field(Field::select("tool", page.t(TOOL), names, tool))
        .field(json);

    let table = Table {
        caption: page.t(TOOLS).to_owned(),
        columns: [TOOL, LIMITS, SCHEMA].map(|it| page.t(it).to_owned()).into(),
        rows: tools.iter().map(|it| tool_row(page, it)).collect(),
        empty: page.t(pods::EMPTY).to_owned(),
        ..Table::default()
    };

    let mut view = View::new(page.t(TRY))
        .intro(page.t(INTRO))
        .below(page.t(TITLE), "admin/connectors")
        .below(connector.name, format!("admin/connectors/{id}"));
    if !table.rows.is_empty() {
        view = view.section(Section::new("call", "").form(call));
    }

    Ok(view.section(Section::new("tools", page.t(TOOLS)).table(table)))
}

fn tool_row(page: &PageContext, tool: &PodTool) -> Row {
    let timeout = page.fill(TIMEOUT, &[&format::number(page.language, tool.timeout_seconds)]);
    let limits = if tool.dangerous {
        Cell::badge(page.t(DANGEROUS), Tone::Warning).detail(timeout)
    } else if tool.idempotent {
        Cell::badge(page.t(IDEMPOTENT), Tone::Neutral).detail(timeout)
    } else {
        Cell::text(timeout)
    };

    Row::new(vec![
        Cell::text(tool.name.as_str()).detail(tool.description.as_str()),
        limits,
        Cell::text(tool.parameters.to_string()),
    ])
}

fn result_section(page: &PageContext, result: Result<PodReply, ToolCallError>) -> Section {
    let status = status_cell(page, &result);
    let output = result.map(PodReply::into_text).unwrap_or_default();
    Section::new("result", page.t(RESULT))
        .facts([(page.t(common::STATUS), status), (page.t(OUTPUT), Cell::text(output))])
}

fn status_cell(page: &PageContext, result: &Result<PodReply, ToolCallError>) -> Cell {
    let badge = |text: Text, tone| Cell::badge(page.t(text), tone);
    match result {
        Ok(reply) if reply.is_error => badge(Text::new("Failed", "Fehlgeschlagen"), Tone::Bad),
        Ok(_) => badge(Text::new("Completed", "Abgeschlossen"), Tone::Good),
        Err(err) => {
            let reason = match err {
                ToolCallError::InvalidArguments(reason) => Some(reason.as_str()),
                _ => None,
            };
            badge(error_text(err), Tone::Bad).quoted(page.t(common::REPORTED), reason)
        }
    }
}

fn error_text(err: &ToolCallError) -> Text {
    match err {
        ToolCallError::NotGranted => {
            Text::new("No connected pod has this tool", "Kein verbundener Pod hat dieses Werkzeug")
        }
        ToolCallError::InvalidArguments(_) => {
            Text::new("The arguments are not valid", "Die Argumente sind ungültig")
        }
        ToolCallError::Lost => Text::new("The pod did not answer", "Der Pod hat nicht geantwortet"),
        ToolCallError::Busy => Text::new("The pod is busy", "Der Pod ist ausgelastet"),
        ToolCallError::TimedOut => {
            Text::new("The tool took too long", "Das Werkzeug brauchte zu lange")
        }
        ToolCallError::Failed => Text::new("The tool failed", "Das Werkzeug ist fehlgeschlagen"),
        ToolCallError::Unavailable => {
            Text::new("Not available at the moment", "Zurzeit nicht verfügbar")
        }
    }
}

const TRY: Text = Text::new("Try a tool", "Werkzeug ausprobieren");
const INTRO: Text = Text::new(
    "This calls the tool for real, with all its effects. You can also try dangerous tools here, \
     although models may not call them.",
    "Das Werkzeug wird wirklich aufgerufen, mit allen Folgen. Auch gefährliche Werkzeuge lassen \
     sich hier ausprobieren, obwohl Modelle sie nicht aufrufen dürfen.",
);
const TOOL: Text = Text::new("Tool", "Werkzeug");
const TOOLS: Text = Text::new("Tools", "Werkzeuge");
const ARGUMENTS: Text = Text::new("Arguments, as JSON", "Argumente als JSON");
const CALL: Text = Text::new("Call tool", "Werkzeug aufrufen");
const RESULT: Text = Text::new("Result", "Ergebnis");
const OUTPUT: Text = Text::new("Output", "Ausgabe");
const LIMITS: Text = Text::new("Properties", "Eigenschaften");
const SCHEMA: Text = Text::new("Schema of the arguments", "Schema der Argumente");
const DANGEROUS: Text = Text::new("Dangerous", "Gefährlich");
const IDEMPOTENT: Text = Text::new("Repeatable", "Wiederholbar");
const TIMEOUT: Text = Text::new("At most {} s", "Höchstens {} s");
