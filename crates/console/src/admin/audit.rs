//! Audit log.

mod filter;
mod verification;
mod view;

use pia_kernel::Cursor;
use pia_web::Route;

use self::filter::SearchedEntries;
use self::view::log_view;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        page("/admin/audit", |it| it.to(list)),
        page("/admin/audit/export", |it| it.to(export)),
    ];
    routes.extend(verification::routes());
    routes
}

async fn list(page: PageContext) -> PageResult {
    let searched = SearchedEntries::requested(&page).await?;
    let entries = match searched.filter.clone() {
        Some(filter) => {
            let request = page.paging();
            let entries = page
                .run(|api| async move { api.audit.page(&filter, request.and_one_more()).await })
                .await?;
            request.into_page(entries, |it| Cursor { at: it.at, id: it.id })
        }
        None => page.paging().into_page(Vec::new(), |_| Cursor::top()),
    };
    let view = log_view(&page, searched, entries).await?;
    Ok(page.render(view))
}

/// Streams the selected entries. A filter that selects none by mistake is
/// displayed instead.
async fn export(page: PageContext) -> PageResult {
    let searched = SearchedEntries::requested(&page).await?;
    match searched.filter {
        Some(filter) => Ok(pia_http::export_audit_log(&page.api, filter)),
        None => page.redirect("admin/audit"),
    }
}
