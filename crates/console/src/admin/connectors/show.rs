//! Page of a connector: its pods, groups and tokens, and its deletion.

use pia_kernel::{ConnectorId, Secret};
use pia_pods::{ConnectedPod, Connector, ConnectorTokenId, ValidToken};
use pia_web::{ApiError, PathId, PathPart, Route};

use super::{
    GROUPS, KIND, PODS, TITLE, TOKEN, find, kind_cell, licensed_form, page, pods, token_cell,
};
use crate::admin::group_choice::{GrantedGroups, GroupNames, typed_selection};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::texts::common;
use crate::ui::view::SectionPart;
use crate::ui::{Cell, Form, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/admin/connectors/{id}", |it| it.to(show)),
        licensed_form("/admin/connectors/{id}/groups", |it| it.to(grant)),
        licensed_form("/admin/connectors/{id}/tokens", |it| it.to(issue)),
        licensed_form("/admin/connectors/{id}/tokens/revoke", |it| it.to(revoke)),
        licensed_form("/admin/connectors/{id}/tokens/{tokenId}/revoke", |it| it.to(revoke_one)),
        licensed_form("/admin/connectors/{id}/delete", |it| it.to(delete)),
    ]
}

async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let view = connector_view(&page, ConnectorId(id)).await?;
    Ok(page.render(view))
}

async fn grant(page: PageContext, PathId(id): PathId, form: FormFields) -> PageResult {
    let id = ConnectorId(id);
    match grant_to_groups(&page, id, &form).await {
        Ok(()) => page.done(&format!("admin/connectors/{id}#groups"), "saved"),
        Err(err) => page.refuse_typed(connector_view(&page, id).await?, &form, err),
    }
}

async fn grant_to_groups(
    page: &PageContext,
    id: ConnectorId,
    form: &FormFields,
) -> Result<(), ApiError> {
    let by = Some(page.user());
    let groups = typed_selection(page, form).await?;
    page.run(|api| async move { api.connectors.grant(by, id, groups).await }).await
}

async fn issue(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    let result = page
        .run(|api| async move { api.connectors.issue_token(by, ConnectorId(id)).await })
        .await
        .map(|it| it.token);
    match result {
        Ok(Some(token)) => render_with_token(&page, ConnectorId(id), token).await,
        Ok(None) => page.redirect(&format!("admin/connectors/{id}")),
        Err(err) => page.refuse(connector_view(&page, ConnectorId(id)).await?, err),
    }
}

async fn revoke(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    let revoked = page
        .run(|api| async move { api.connectors.revoke_tokens(by, ConnectorId(id), None).await })
        .await;
    finish_revocation(&page, ConnectorId(id), revoked).await
}

async fn revoke_one(page: PageContext, path: PathPart, _: ProvedForm) -> PageResult {
    let PathPart { id, part } = path;
    let by = Some(page.user());
    let id = ConnectorId(id);
    let token = Some(ConnectorTokenId(part));
    let revoked =
        page.run(|api| async move { api.connectors.revoke_tokens(by, id, token).await }).await;
    finish_revocation(&page, id, revoked).await
}

async fn delete(page: PageContext, PathId(id): PathId, _: ProvedForm) -> PageResult {
    let by = Some(page.user());
    page.run(|api| async move { api.connectors.delete(by, ConnectorId(id)).await }).await?;
    page.done("admin/connectors", "deleted")
}

async fn finish_revocation(
    page: &PageContext,
    id: ConnectorId,
    result: Result<(), ApiError>,
) -> PageResult {
    match result {
        Ok(()) => page.done(&format!("admin/connectors/{id}"), "revoked"),
        Err(err) => page.refuse(connector_view(page, id).await?, err),
    }
}

/// Renders the page of a connector with a token that was just created, which cannot
/// be read again.
pub(super) async fn render_with_token(
    page: &PageContext,
    id: ConnectorId,
    token: Secret<String>,
) -> PageResult {
    let mut view = connector_view(page, id).await?;
    let secret = SectionPart::Secret(page.t(TOKEN).to_owned(), token.reveal());
    let section = Section::new("token", page.t(TOKEN)).intro(page.t(COPY_HINT)).part(secret);
    view.sections.insert(0, section);
    Ok(page.render(view))
}

async fn connector_view(page: &PageContext, id: ConnectorId) -> Result<View, ApiError> {
    let (connector, connected_pods) = find(page, id).await?;
    let groups = GroupNames::load(page).await?;
    let path = format!("admin/connectors/{id}");
    let mut view = View::new(connector.name.as_str())
        .below(page.t(TITLE), "admin/connectors")
        .section(facts_section(page, &connector))
        .section(pods::section(page, &connected_pods, None));

    if connected_pods.iter().any(|it| !it.description.tools.is_empty()) {
        view = view.action(page.t(TRY), format!("{path}/test-call"));
    }

    view = view.section(groups.section(
        page,
        GrantedGroups {
            title: GROUPS,
            intro: GRANT_INTRO,
            path: format!("{path}/groups"),
            granted: &connector.groups,
        },
    ));
    if connector.mcp_url.is_none() {
        view = view
            .section(tokens_section(page, &connector, &connected_pods))
            .section(revoke_section(page, &path));
    }

    Ok(view.section(delete_section(page, &path)))
}

/// Returns the facts of a connector. An MCP server has no tokens.
fn facts_section(page: &PageContext, connector: &Connector) -> Section {
    let mut facts = vec![(page.t(KIND), kind_cell(page, connector))];
    if let Some(operator) = connector.operator {
        let path = format!("admin/operators/{operator}");
        facts.push((page.t(OPERATOR), Cell::link(page.t(OPERATOR), path)));
    }
    if connector.mcp_url.is_none() {
        facts.push((page.t(TOKEN), token_cell(page, connector)));
    }

    let created = Cell::text(format::day(page.language, connector.created_at));
    facts.push((page.t(common::CREATED), created));

    Section::new("connector", "").facts(facts)
}

fn tokens_section(
    page: &PageContext,
    connector: &Connector,
    connected_pods: &[ConnectedPod],
) -> Section {
    let issue = Form::new(format!("admin/connectors/{}/tokens", connector.id), page.t(ISSUE));
    Section::new("tokens", page.t(TOKENS))
        .intro(page.t(ISSUE_HINT))
        .table(token_table(page, connector, connected_pods))
        .form(issue)
}

fn revoke_section(page: &PageContext, path: &str) -> Section {
    let revoke = Form::new(format!("{path}/tokens/revoke"), page.t(REVOKE)).danger();
    Section::new("revoke", page.t(REVOKE)).intro(page.t(REVOKE_HINT)).form(revoke)
}

fn delete_section(page: &PageContext, path: &str) -> Section {
    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_CONNECTOR)).danger();
    Section::new("delete", page.t(DELETE_CONNECTOR)).intro(page.t(DELETE_HINT)).form(delete)
}

/// Returns the table of the valid tokens with the number of pods that use each.
fn token_table(
    page: &PageContext,
    connector: &Connector,
    connected_pods: &[ConnectedPod],
) -> Table {
    let rows = connector.tokens.iter().map(|token| {
        let pods = connected_pods.iter().filter(|pod| pod.token == Some(token.hash)).count();
        token_row(page, connector, token, pods)
    });
    let columns = [common::CREATED, EXPIRES, PODS];
    Table {
        caption: page.t(TOKENS).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        empty: page.t(NO_TOKENS).to_owned(),
        ..Table::default()
    }
}

fn token_row(page: &PageContext, connector: &Connector, token: &ValidToken, pods: usize) -> Row {
    let path = format!("admin/connectors/{}/tokens/{}/revoke", connector.id, token.hash.id().0);
    let created = format::time(page.language, token.created_at);
    Row::new(vec![
        Cell::text(created.as_str()),
        Cell::text(format::time(page.language, token.expires_at)),
        Cell::number(format::number(page.language, pods as u64)),
    ])
    .form(Form::new(path, page.t(REVOKE_ONE)).about(created).danger())
}

const OPERATOR: Text = Text::new("Operator", "Operator");
const TRY: Text = Text::new("Try a tool", "Werkzeug ausprobieren");
const GRANT_INTRO: Text = Text::new(
    "Members of these groups may use its tools, and its operator if it has one.",
    "Mitglieder dieser Gruppen dürfen seine Werkzeuge nutzen und seinen Operator, falls er einen \
     hat.",
);
const TOKENS: Text = Text::new("Tokens", "Token");
const ISSUE: Text = Text::new("Create token", "Token erstellen");
const ISSUE_HINT: Text = Text::new(
    "To replace a token, create a new one and restart the pods with it. Earlier tokens stay valid \
     until they expire or are revoked. Tokens are valid for one year.",
    "Um ein Token zu ersetzen, erstellen Sie ein neues und starten Sie die Pods damit neu. Frühere \
     Token bleiben gültig, bis sie ablaufen oder widerrufen werden. Token gelten ein Jahr.",
);
const NO_TOKENS: Text = Text::new(
    "No valid tokens. Create one so that pods can connect.",
    "Keine gültigen Token. Erstellen Sie eines, damit sich Pods verbinden können.",
);
const EXPIRES: Text = Text::new("Expires", "Läuft ab");
const REVOKE_ONE: Text = Text::new("Revoke", "Widerrufen");
const REVOKE: Text = Text::new("Revoke all tokens", "Alle Token widerrufen");
const REVOKE_HINT: Text = Text::new(
    "All pods of this connector are disconnected within five seconds, and cannot connect again \
     without a new token.",
    "Alle Pods dieses Konnektors werden binnen fünf Sekunden getrennt und können sich ohne neues \
     Token nicht mehr verbinden.",
);
const COPY_HINT: Text = Text::new(
    "Copy the token now: it is shown only once. Pass it to the pod in an environment variable or a \
     file, never as an argument.",
    "Kopieren Sie das Token jetzt: Es wird nur einmal angezeigt. Übergeben Sie es dem Pod in einer \
     Umgebungsvariablen oder einer Datei, nie als Argument.",
);
const DELETE_CONNECTOR: Text = Text::new("Delete connector", "Konnektor löschen");
const DELETE_HINT: Text = Text::new(
    "Its tokens and its operator are deleted, and its pods or its MCP server are disconnected. \
     Members lose its tools. This can’t be undone.",
    "Seine Token und sein Operator werden gelöscht, seine Pods oder sein MCP-Server getrennt. \
     Mitglieder verlieren seine Werkzeuge. Das lässt sich nicht rückgängig machen.",
);
