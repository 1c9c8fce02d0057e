//! Routes of groups.

use actix_web::http::Method;
use pia_web::{ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, proved, read, read_of_group, write};
use crate::admin::{effective, group_credits, groups, members};
use crate::ai::GroupCreditsResponse;
use crate::auth;

const GROUPS: &str = "/api/admin/groups";
const GROUP: &str = "/api/admin/groups/{id}";
const SETTINGS: &str = "/api/admin/groups/{id}/settings";
const CREDITS: &str = "/api/admin/groups/{id}/credits";
const TOP_UPS: &str = "/api/admin/groups/{id}/top-ups";
const UNKNOWN: (u16, &str) = (404, "There is no such group: `not_found`.");
const TAKEN: (u16, &str) = (409, "Another group has this name: `name_taken`.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        list(),
        show(),
        create(),
        rename(),
        delete(),
        show_settings(),
        change_settings(),
        show_credits(),
        top_up(),
        members(),
        users(),
        effective(),
        move_user(),
    ]
}

fn list() -> Route {
    let answer = ResponseDoc::List(wire::<groups::GroupResponse>);
    let docs = admin_docs("Lists the groups: the default one, then by name.", None, answer, &[]);
    read(GROUPS, docs, |route| route.to(groups::list))
}

fn show() -> Route {
    let answer = ResponseDoc::Json(wire::<groups::GroupResponse>);
    let docs = admin_docs("Returns a group.", None, answer, &[UNKNOWN]);
    read_of_group(GROUP, docs, |route| route.to(groups::show))
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates a group.",
        Some(wire::<groups::GroupRequest>),
        ResponseDoc::Created(wire::<groups::GroupCreated>),
        &[TAKEN],
    );
    write(Method::POST, GROUPS, docs, 4 * KIB, |route| route.to(groups::create))
}

fn rename() -> Route {
    let docs = admin_docs(
        "Renames a group.",
        Some(wire::<groups::GroupRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, TAKEN],
    );
    write(Method::PUT, GROUP, docs, 4 * KIB, |route| route.to(groups::rename))
}

fn delete() -> Route {
    let docs = admin_docs(
        "Deletes a group that is not in use.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[
            UNKNOWN,
            (409, "It is in use, see `usedBy`, or the default: `group_in_use`, `default_group`."),
        ],
    );
    proved(write(Method::DELETE, GROUP, docs, KIB, |route| route.to(groups::delete)))
}

fn show_settings() -> Route {
    let answer = ResponseDoc::Json(wire::<groups::GroupSettingsResponse>);
    let docs = admin_docs("Returns the settings of a group.", None, answer, &[UNKNOWN]);
    read_of_group(SETTINGS, docs, |route| route.to(groups::show_settings))
}

fn change_settings() -> Route {
    let docs = admin_docs(
        "Changes settings of a group: what is omitted stays, null restores the default.",
        Some(wire::<groups::GroupSettingsRequest>),
        ResponseDoc::Json(wire::<groups::GroupSettingsResponse>),
        &[UNKNOWN],
    );
    write(Method::PATCH, SETTINGS, docs, 64 * KIB, |route| route.to(groups::change_settings))
}

fn show_credits() -> Route {
    let answer = ResponseDoc::Json(wire::<GroupCreditsResponse>);
    let docs = admin_docs(
        "Returns the budgets that a group shares, and their use.",
        None,
        answer,
        &[UNKNOWN],
    );
    read_of_group(CREDITS, docs, |route| route.to(group_credits::show))
}

/// Credits are also added to the default group, which needs no feature.
fn top_up() -> Route {
    let docs = admin_docs(
        "Adds credits that do not expire to a group.",
        Some(wire::<group_credits::TopUpRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let route = write(Method::POST, TOP_UPS, docs, 4 * KIB, |it| it.to(group_credits::top_up));
    Route { feature: None, ..proved(route) }
}

fn members() -> Route {
    let docs = admin_docs(
        "Lists the members of a group, newest account first.",
        Some(wire::<members::MemberQuery>),
        ResponseDoc::Page(wire::<members::MemberPage>),
        &[UNKNOWN],
    );
    read_of_group("/api/admin/groups/{id}/members", docs, |route| route.to(members::members))
}

fn users() -> Route {
    let docs = admin_docs(
        "Lists the users of the server, newest account first.",
        Some(wire::<members::MemberQuery>),
        ResponseDoc::Page(wire::<members::MemberPage>),
        &[UNKNOWN],
    );
    read("/api/admin/users", docs, |route| route.to(members::users))
}

fn move_user() -> Route {
    let docs = admin_docs(
        "Moves a user to another group.",
        Some(wire::<groups::MoveUserRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[(404, "There is no such user or group: `not_found`.")],
    );
    proved(write(Method::PUT, "/api/admin/users/{id}/group", docs, 4 * KIB, |route| {
        route.to(groups::move_user)
    }))
}

fn effective() -> Route {
    let docs = admin_docs(
        "Returns the policy, personas, plugins, knowledge, operators, connectors, models, limits \
         and budgets of a user.",
        None,
        ResponseDoc::Json(wire::<effective::EffectiveResponse>),
        &[(404, "There is no such user: `not_found`.")],
    );
    read("/api/admin/users/{id}/effective", docs, |route| route.to(effective::effective))
}
