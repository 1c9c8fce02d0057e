//! Rows of the sign-in.

use actix_web::http::Method;
use pia_web::Route;

use super::pages::{account_form, sign_in_form, sign_in_page};
use crate::{page, sign_in};

pub(super) fn routes() -> Vec<Route> {
    vec![
        script(),
        sign_in_page("/admin/login", |it| it.to(sign_in::show)),
        sign_in_form("/admin/sign-in", |it| it.to(sign_in::password)),
        sign_in_form("/admin/sign-in/factor", |it| it.to(sign_in::factor)),
        sign_in_form("/admin/sign-in/passkey", |it| it.to(sign_in::passkey)),
        sign_in_page("/account/login", |it| it.to(sign_in::show)),
        sign_in_form("/account/sign-in", |it| it.to(sign_in::password)),
        sign_in_form("/account/sign-in/factor", |it| it.to(sign_in::factor)),
        sign_in_form("/account/sign-in/passkey", |it| it.to(sign_in::passkey)),
        account_form("/account/sign-out", |it| it.to(sign_in::sign_out)),
    ]
}

/// Serves the script beside the style sheet.
fn script() -> Route {
    Route {
        method: Method::GET,
        licensing: pia_web::Licensing::NotNeeded,
        ..sign_in_page("/auth/pages.js", |it| it.to(page::script))
    }
}
