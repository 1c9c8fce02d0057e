//! Members who used most of their budgets.

use pia_assistant::MemberBudget;
use pia_kernel::BudgetPeriod;
use pia_web::ApiError;

use crate::admin::bindings::{find_emails, user_cell};
use crate::page_context::PageContext;
use crate::texts::limits::budget_label;
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Returns a section for each of these budgets that a member has used.
pub(super) async fn sections(
    page: &PageContext,
    budgets: &[(BudgetPeriod, Vec<MemberBudget>)],
) -> Result<Vec<Section>, ApiError> {
    let users = budgets.iter().flat_map(|(_, members)| members).map(|it| it.member);
    let emails = find_emails(page, users).await?;
    let number = |it: i64| Cell::number(format::number(page.language, it));
    let section = |(period, members): &(BudgetPeriod, Vec<MemberBudget>)| {
        let rows = members.iter().map(|it| {
            let mut user = user_cell(page, it.member, &emails);
            // Managers have no page of a user.
            if !super::is_admin(page) {
                user.path = None;
            }
            Row::new(vec![
                user,
                number(it.gauge.used),
                number(it.gauge.limit),
                Cell::number(format::percent(page.language, it.gauge.percent())),
            ])
        });
        let label = page.t(budget_label(*period));
        let table = Table {
            caption: label.to_owned(),
            columns: [MEMBER, USED, LIMIT, SHARE].map(|text| page.t(text).to_owned()).into(),
            rows: rows.collect(),
            ..Table::default()
        };
        Section::new(period.name(), label).intro(page.t(INTRO)).table(table)
    };

    Ok(budgets.iter().filter(|(_, members)| !members.is_empty()).map(section).collect())
}

const INTRO: Text = Text::new(
    "The members who have used most of this budget, up to ten.",
    "Die bis zu zehn Mitglieder, die am meisten von diesem Budget verbraucht haben.",
);
const MEMBER: Text = Text::new("Member", "Mitglied");
const USED: Text = Text::new("Used", "Verbraucht");
const LIMIT: Text = Text::new("Limit", "Limit");
const SHARE: Text = Text::new("Share", "Anteil");
