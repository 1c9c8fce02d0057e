//! Content of the page of a user.

use pia_assignments::ScheduleEntry;
use pia_e2ee::{DeviceEntry, DeviceFilter};
use pia_http::{EffectiveSettings, HttpError};
use pia_identity::{ApiKeyEntry, Member, SessionEntry};
use pia_kernel::{Page, PageRequest, SortCursor, Timestamp, UserId};
use pia_policy::GroupMember;
use pia_web::{ApiError, Paging};

use super::{EMAIL, GROUP, ROLE, TITLE, effective, role_name, role_options, status_cell};
use crate::account::device_names::device_name;
use crate::admin::assignments::schedules;
use crate::admin::devices;
use crate::admin::group_choice::GroupNames;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Table, Text, View, format};

/// Number of sessions on a page.
const SESSION_ROWS: u16 = 20;
/// Parameter of the query with the page of sessions.
const SESSION_CURSOR: &str = "sessions";
/// Devices that are listed: an account has fewer.
const MAX_DEVICES: PageRequest<SortCursor> = PageRequest { after: None, limit: 100 };

/// Schedules that are listed: an account has fewer.
const MAX_SCHEDULES: PageRequest = PageRequest { after: None, limit: 100 };

/// User with all data that the page displays.
struct UserDetail {
    member: GroupMember,
    account: Member,
    /// Number of recovery codes left; `None` without a second factor.
    recovery_codes: Option<u32>,
    passkeys: usize,
    sessions: Page<SessionEntry>,
    keys: Vec<ApiKeyEntry>,
    devices: Vec<DeviceEntry>,
    schedules: Vec<ScheduleEntry>,
    /// End of the delay after wrong passwords and codes.
    waits_until: Option<Timestamp>,
}

/// Returns the page of a user.
pub(super) async fn user_view(page: &PageContext, user: UserId) -> Result<View, ApiError> {
    let detail = load(page, user).await?;
    let groups = GroupNames::load(page).await?;
    let path = format!("admin/users/{user}");
    let mut view = View::new(&detail.member.email)
        .below(page.t(TITLE), "admin/users")
        .section(profile_section(page, &detail, &groups));

    if detail.member.is_active {
        let effective = EffectiveSettings::load(&page.api, user).await.map_err(ApiError::from)?;
        view.sections.extend(effective::sections(page, &effective));
    }

    view = view
        .section(role_section(page, &detail, &path))
        .section(group_section(page, &detail, &groups, &path))
        .section(sessions_section(page, &detail, &path))
        .section(keys_section(page, &detail, &path));

    if !detail.devices.is_empty() {
        view = view.section(devices::of_user(page, &detail.devices));
    }

    if !detail.schedules.is_empty() {
        view = view.section(schedules::of_user(page, &detail.schedules));
    }

    if !detail.member.is_active {
        return Ok(view.section(reactivate_section(page, &path)));
    }

    if let Some(end) = detail.waits_until {
        view = view.section(wait_section(page, end, &path));
    }

    if detail.recovery_codes.is_some() {
        view = view.section(factor_section(page, &path));
    }

    Ok(view.section(deactivate_section(page, &path)))
}

async fn load(page: &PageContext, user: UserId) -> Result<UserDetail, ApiError> {
    let session_request = PageRequest { limit: SESSION_ROWS, ..page.paging_by(SESSION_CURSOR)? };
    let of_user = DeviceFilter { user: Some(user), ..DeviceFilter::default() };

    page.run(|api| async move {
        let member = api.groups.member(user).await?;
        let account = api.administration.roles.member(&member.email).await;
        let administration = &api.assignments.administration;
        let schedules = administration.schedules(Some(user), MAX_SCHEDULES).await?.items;
        let waits_until = api.administration.security.waits_until(user).await;
        Ok::<_, HttpError>(UserDetail {
            account: account.map_err(ApiError::from)?,
            member,
            recovery_codes: api.identity.second_factors.overview(user).await?,
            passkeys: api.identity.passkeys.list(user).await?.len(),
            sessions: api.identity.sessions.page(user, session_request).await?,
            keys: api.administration.api_keys.list(user).await?,
            devices: api.e2ee.directory.list(&of_user, MAX_DEVICES).await?.items,
            schedules,
            waits_until: waits_until.map_err(ApiError::from)?,
        })
    })
    .await
}

fn profile_section(page: &PageContext, detail: &UserDetail, groups: &GroupNames) -> Section {
    let member = &detail.member;
    let language = page.language;

    let verified = match detail.account.email_verified_at {
        Some(at) => Cell::text(format::time(language, at)),
        None => Cell::badge(page.t(NOT_VERIFIED), Tone::Warning),
    };

    let factor = match detail.recovery_codes {
        Some(count) => Cell::text(page.fill(FACTOR_ON, &[&count.to_string()])),
        None => Cell::text(page.t(FACTOR_OFF)),
    };

    let passkeys = format::number(language, i128::try_from(detail.passkeys).unwrap_or_default());
    let mut facts = vec![
        (page.t(EMAIL), Cell::text(&member.email)),
        (page.t(DISPLAY_NAME), Cell::text(member.display_name.clone().unwrap_or_default())),
        (page.t(ROLE), Cell::text(role_name(page, &member.role))),
        (page.t(GROUP), groups.cell(member.group)),
        (page.t(common::STATUS), status_cell(page, member)),
        (page.t(common::CREATED), Cell::text(format::time(language, member.created_at))),
        (page.t(VERIFIED), verified),
        (page.t(FACTOR), factor),
        (page.t(PASSKEYS), Cell::text(passkeys)),
    ];

    if let Some(at) = detail.account.deactivated_at {
        facts.push((page.t(DEACTIVATED), Cell::text(format::time(language, at))));
    }

    Section::new("account", page.t(PROFILE)).facts(facts)
}

fn role_section(page: &PageContext, detail: &UserDetail, path: &str) -> Section {
    let select = Field::select("role", page.t(ROLE), role_options(page), &detail.member.role);
    let form = Form::new(format!("{path}/role"), page.t(SET_ROLE)).field(select);
    let mut section = Section::new("role", page.t(ROLE)).intro(page.t(ROLE_INTRO));
    if detail.account.email_verified_at.is_none() {
        section = section.paragraph(page.t(UNVERIFIED));
    }
    section.form(form)
}

fn group_section(
    page: &PageContext,
    detail: &UserDetail,
    groups: &GroupNames,
    path: &str,
) -> Section {
    let current = detail.member.group.to_string();
    let choice = groups.select("group", page.t(GROUP), &current, None);
    let form = Form::new(format!("{path}/group"), page.t(MOVE)).field(choice);
    Section::new("group", page.t(GROUP)).intro(page.t(GROUP_INTRO)).form(form)
}

fn sessions_section(page: &PageContext, detail: &UserDetail, path: &str) -> Section {
    let next = detail.sessions.next.map(Paging::format_cursor);
    let table = Table {
        caption: page.t(SESSIONS).to_owned(),
        columns: [DEVICE, BEGAN, USED].map(|it| page.t(it).to_owned()).into(),
        rows: detail.sessions.items.iter().map(|session| session_row(page, session)).collect(),
        empty: page.t(NO_SESSIONS).to_owned(),
        first: page.first_page(SESSION_CURSOR),
        next: next.map(|it| page.query_with(SESSION_CURSOR, &it)),
        next_label: page.t(common::NEXT_PAGE).to_owned(),
        ..Table::default()
    };

    let section =
        Section::new("sessions", page.t(SESSIONS)).intro(page.t(SESSIONS_INTRO)).table(table);
    if detail.sessions.items.is_empty() {
        return section;
    }

    let end = Form::new(format!("{path}/end-sessions"), page.t(END_SESSIONS)).danger();

    section.paragraph(page.t(END_HINT)).form(end)
}

fn session_row(page: &PageContext, session: &SessionEntry) -> Row {
    let name = device_name(page.language, &session.device);
    Row::new(vec![
        Cell::text(name).detail(page.origin(session.device.address)),
        Cell::text(format::time(page.language, session.began_at)),
        Cell::text(format::time(page.language, session.used_at)),
    ])
}

fn keys_section(page: &PageContext, detail: &UserDetail, path: &str) -> Section {
    let columns = [common::NAME, CREDITS, common::CREATED, EXPIRES, USED];
    let table = Table {
        caption: page.t(KEYS).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: detail.keys.iter().map(|key| key_row(page, key, path)).collect(),
        empty: page.t(NO_KEYS).to_owned(),
        ..Table::default()
    };

    Section::new("api-keys", page.t(KEYS)).table(table)
}

fn key_row(page: &PageContext, key: &ApiKeyEntry, path: &str) -> Row {
    let credits = match key.weekly_credits {
        0 => page.t(NO_LIMIT).to_owned(),
        credits => format::number(page.language, credits),
    };

    let revoke = Form::new(format!("{path}/api-keys/{}/revoke", key.id), page.t(REVOKE));
    Row::new(vec![
        Cell::text(&key.name),
        Cell::number(credits),
        Cell::text(format::time(page.language, key.created_at)),
        Cell::text(time_or_never(page, key.expires_at)),
        Cell::text(time_or_never(page, key.used_at)),
    ])
    .form(revoke.about(&key.name).danger())
}

fn wait_section(page: &PageContext, end: Timestamp, path: &str) -> Section {
    let facts = [(page.t(WAITS_UNTIL), Cell::text(format::time(page.language, end)))];
    let lift = Form::new(format!("{path}/lift-wait"), page.t(LIFT));
    Section::new("wait", page.t(LOCKED)).intro(page.t(LOCKED_INTRO)).facts(facts).form(lift)
}

fn factor_section(page: &PageContext, path: &str) -> Section {
    let reset = Form::new(format!("{path}/reset-factor"), page.t(RESET)).danger();
    Section::new("factor", page.t(RESET)).intro(page.t(RESET_INTRO)).form(reset)
}

fn deactivate_section(page: &PageContext, path: &str) -> Section {
    let deactivate = Form::new(format!("{path}/deactivate"), page.t(DEACTIVATE)).danger();
    Section::new("deactivate", page.t(DEACTIVATE)).intro(page.t(DEACTIVATE_INTRO)).form(deactivate)
}

fn time_or_never(page: &PageContext, at: Option<Timestamp>) -> String {
    match at {
        Some(at) => format::time(page.language, at),
        None => page.t(common::NEVER).to_owned(),
    }
}

fn reactivate_section(page: &PageContext, path: &str) -> Section {
    let form = Form::new(format!("{path}/reactivate"), page.t(REACTIVATE));
    let section = Section::new("reactivate", page.t(REACTIVATE)).intro(page.t(REACTIVATE_INTRO));
    section.form(form)
}

const PROFILE: Text = Text::new("Account", "Konto");
const DISPLAY_NAME: Text = Text::new("Display name", "Anzeigename");
const VERIFIED: Text = Text::new("Email address verified", "E-Mail-Adresse bestätigt");
const NOT_VERIFIED: Text = Text::new("Not yet", "Noch nicht");
const DEACTIVATED: Text = Text::new("Deactivated since", "Deaktiviert seit");
const FACTOR: Text = Text::new("Second factor", "Zweiter Faktor");
const FACTOR_ON: Text =
    Text::new("On, {} recovery codes left", "Ein, noch {} Wiederherstellungscodes");
const FACTOR_OFF: Text = Text::new("Off", "Aus");
const PASSKEYS: Text = Text::new("Passkeys", "Passkeys");
const ROLE_INTRO: Text = Text::new(
    "A new role applies from the next request. Administrators can do everything in this console, \
     including changes to other people’s accounts; organisation managers see the members and \
     settings of their group; knowledge managers change the knowledge of their group.",
    "Eine neue Rolle gilt ab der nächsten Anfrage. Administratoren dürfen in dieser Konsole alles, \
     auch fremde Konten ändern; Organisationsverwalter sehen die Mitglieder und Einstellungen \
     ihrer Gruppe; Wissensverwalter ändern das Wissen ihrer Gruppe.",
);
const UNVERIFIED: Text = Text::new(
    "The address is not verified. Make sure that the account belongs to the right person before \
     you give it a role.",
    "Die Adresse ist nicht bestätigt. Vergewissern Sie sich, dass das Konto der richtigen Person \
     gehört, bevor Sie ihm eine Rolle geben.",
);
const SET_ROLE: Text = Text::new("Change role", "Rolle ändern");
const GROUP_INTRO: Text = Text::new(
    "The user gets the models, budgets, policy and knowledge of the new group from the next \
     request, and loses those of the old one.",
    "Ab der nächsten Anfrage gelten für das Konto die Modelle, Budgets, die Richtlinie und das \
     Wissen der neuen Gruppe statt der alten.",
);
const MOVE: Text = Text::new("Move to group", "In Gruppe verschieben");
const SESSIONS: Text = Text::new("Sessions", "Sitzungen");
const SESSIONS_INTRO: Text =
    Text::new("Active sessions, newest first.", "Aktive Sitzungen, neueste zuerst.");
const NO_SESSIONS: Text = Text::new("Not signed in anywhere.", "Nirgends angemeldet.");
const DEVICE: Text = Text::new("Device", "Gerät");
const BEGAN: Text = Text::new("Signed in", "Angemeldet");
const USED: Text = Text::new("Last used", "Zuletzt benutzt");
const END_SESSIONS: Text = Text::new("Sign out everywhere", "Überall abmelden");
const END_HINT: Text = Text::new(
    "Ends all sessions. App passwords and API keys stay valid.",
    "Beendet alle Sitzungen. App-Passwörter und API-Schlüssel bleiben gültig.",
);
const KEYS: Text = Text::new("API keys", "API-Schlüssel");
const NO_KEYS: Text = Text::new("No API keys.", "Keine API-Schlüssel.");
const CREDITS: Text = Text::new("Credits per week", "Credits pro Woche");
const NO_LIMIT: Text = Text::new("No limit", "Kein Limit");
const EXPIRES: Text = Text::new("Expires", "Läuft ab");
const REVOKE: Text = Text::new("Revoke", "Widerrufen");
const LOCKED: Text = Text::new("Delay after wrong passwords", "Wartezeit nach Fehlversuchen");
const LOCKED_INTRO: Text = Text::new(
    "Wrong passwords and codes delay the next attempt by up to 15 minutes. Remove the delay if the \
     owner has mistyped.",
    "Falsche Passwörter und Codes verzögern den nächsten Versuch um bis zu 15 Minuten. Heben Sie \
     die Wartezeit auf, wenn sich die berechtigte Person vertippt hat.",
);
const WAITS_UNTIL: Text = Text::new("Next attempt possible", "Nächster Versuch möglich");
const LIFT: Text = Text::new("Remove delay", "Wartezeit aufheben");
const RESET: Text = Text::new("Reset second factor", "Zweiten Faktor zurücksetzen");
const RESET_INTRO: Text = Text::new(
    "For someone who has lost their authenticator app and recovery codes. The app and the codes \
     are removed and all sessions end; the password alone is then enough to sign in. The user is \
     notified by email. First make sure that you know who is asking.",
    "Für Personen, die Authenticator-App und Wiederherstellungscodes verloren haben. App und Codes \
     werden entfernt und alle Sitzungen beendet; zum Anmelden genügt dann das Passwort. Die Person \
     erhält eine E-Mail. Vergewissern Sie sich vorher, wer Sie darum bittet.",
);
const DEACTIVATE: Text = Text::new("Deactivate account", "Konto deaktivieren");
const DEACTIVATE_INTRO: Text = Text::new(
    "All sessions end. Until you reactivate the account, nobody can use it, not even with API keys \
     or app passwords. Its data stays, its licensed seat becomes free, and the user is notified by \
     email.",
    "Alle Sitzungen enden. Bis Sie das Konto reaktivieren, kann es niemand nutzen, auch nicht mit \
     API-Schlüsseln und App-Passwörtern. Die Daten bleiben erhalten, der lizenzierte Platz wird \
     frei, und die Person erhält eine E-Mail.",
);
const REACTIVATE: Text = Text::new("Reactivate account", "Konto reaktivieren");
const REACTIVATE_INTRO: Text = Text::new(
    "The user can sign in again. The account takes a licensed seat.",
    "Die Person kann sich wieder anmelden. Das Konto belegt einen lizenzierten Platz.",
);
