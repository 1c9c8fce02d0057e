//! Routes of schedules.

use actix_web::http::Method;
use pia_web::{Docs, Licensing, ResponseDoc, Route, wire};

use super::KIB;
use super::assignments::{ENVELOPE_BODY, read};
use crate::schedules;

const SCHEDULES: &str = "/api/assignments/schedules";
const SCHEDULE: &str = "/api/assignments/schedules/{id}";
const UNKNOWN: (u16, &str) = (404, "The caller has no such schedule: `not_found`.");
const REFUSED: (u16, &str) = (
    400,
    "The times are refused: `validation_failed`. Or the input or the skill is, as by \
     `POST /api/assignments`.",
);
const OFF: (u16, &str) =
    (503, "Assignments are switched off: `assignments_disabled`. Or the server is overloaded.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        read(
            SCHEDULES,
            "Lists the caller's schedules, oldest first.",
            ResponseDoc::List(wire::<schedules::ScheduleItem>),
            &[],
            |route| route.to(schedules::list),
        ),
        write(
            Method::POST,
            SCHEDULES,
            "Creates a schedule, which hands the same assignment over at recurring times.",
            ResponseDoc::Created(wire::<schedules::ScheduleItem>),
            |route| route.to(schedules::create),
        ),
        write(
            Method::PUT,
            SCHEDULE,
            "Replaces a schedule.",
            ResponseDoc::Json(wire::<schedules::ScheduleItem>),
            |route| route.to(schedules::update),
        ),
        Route {
            method: Method::DELETE,
            body_limit: KIB,
            ..read(
                SCHEDULE,
                "Deletes a schedule. Assignments that it handed over go on.",
                ResponseDoc::Nothing,
                &[UNKNOWN],
                |route| route.to(schedules::delete),
            )
        },
    ]
}

fn write(
    method: Method,
    path: &'static str,
    summary: &'static str,
    answer: ResponseDoc,
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    const FULL: (u16, &str) = (409, "The caller has 20 schedules: `too_many_schedules`.");
    let refusals: &[_] =
        if method == Method::POST { &[REFUSED, FULL, OFF] } else { &[REFUSED, UNKNOWN, OFF] };
    let row = read(path, summary, answer, refusals, handler);
    let docs = Docs { request: Some(wire::<schedules::ScheduleRequest>), ..row.docs };
    Route { method, licensing: Licensing::InForce, body_limit: ENVELOPE_BODY, docs, ..row }
}
