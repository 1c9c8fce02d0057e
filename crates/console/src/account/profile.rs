//! First page of one's own account.

use pia_web::Route;

use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::account_page;
use crate::texts::{common, sign_in};
use crate::ui::{Cell, Section, Text, View, format};

const TITLE: Text = Text::new("Your profile", "Ihr Profil");
const DISPLAY_NAME: Text = Text::new("Display name", "Anzeigename");

pub(super) fn routes() -> Vec<Route> {
    vec![account_page("/account", |it| it.to(show))]
}

async fn show(page: PageContext) -> PageResult {
    let (accounts, user) = (page.api.identity.accounts.clone(), page.user());
    let account = page.run_identity(async move { accounts.me(user).await }).await?;
    let facts = [
        (page.t(sign_in::EMAIL), Cell::text(account.email)),
        (page.t(DISPLAY_NAME), Cell::text(account.display_name.unwrap_or_default())),
        (page.t(common::CREATED), Cell::text(format::day(page.language, account.created_at))),
    ];
    Ok(page.render(View::new(page.t(TITLE)).section(Section::new("profile", "").facts(facts))))
}
