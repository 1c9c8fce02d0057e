//! Audit log.

mod actions;
mod changes;
mod filter;
mod objects;
mod show;
mod verification;
mod view;

use pia_kernel::{AuditFilter, AuditRecord, Cursor, Page};
use pia_web::{ApiError, Route};

use self::filter::SearchedEntries;
use self::view::log_view;
pub(super) use self::view::{side_cell, user_of};
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        page("/admin/audit", |it| it.to(list)),
        page("/admin/audit/export", |it| it.to(export)),
    ];
    routes.extend(verification::routes());
    // Its path also matches those above.
    routes.push(page("/admin/audit/{id}", |it| it.to(show::show)));
    routes
}

async fn list(page: PageContext) -> PageResult {
    let searched = SearchedEntries::requested(&page).await?;
    let records = match searched.filter.clone() {
        Some(filter) => find_records(&page, filter).await?,
        None => Page { items: Vec::new(), next: None },
    };
    let view = log_view(&page, searched, records).await?;
    Ok(page.render(view))
}

/// Finds the requested page of the records that a filter selects.
async fn find_records(
    page: &PageContext,
    filter: AuditFilter,
) -> Result<Page<AuditRecord>, ApiError> {
    let request = page.paging()?;
    let records = page
        .run(|api| async move { api.audit.page(&filter, request.and_one_more()).await })
        .await?;
    Ok(request.into_page(records, |it| Cursor { at: it.at, id: it.id }))
}

/// Streams the selected entries. If a field of the filter is invalid, the page is
/// displayed instead.
async fn export(page: PageContext) -> PageResult {
    let searched = SearchedEntries::requested(&page).await?;
    match searched.filter {
        Some(filter) => Ok(pia_http::export_audit_log(&page.api, filter)),
        None => page.redirect("admin/audit"),
    }
}
