//! Page of usage.

use pia_assistant::{UsageGrouping, UsageRange, UsageRangeError, UsageSubject, UsageSum};

use super::AFTER;
use super::summary::{self as texts, UsageTotals};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::chart::{Chart, ChartBar};
use crate::ui::table::SortLink;
use crate::ui::view::{Link, SectionPart, Tab};
use crate::ui::{Cell, Field, Row, Search, Section, Table, Text, View, format};

/// Number of groups, models or people in the chart.
const MAX_BARS: usize = 30;

/// Page of usage.
pub(super) struct UsageView<'a> {
    pub(super) page: &'a PageContext,
    pub(super) grouping: UsageGrouping,
    pub(super) range: UsageRange,
    /// Error of the requested range, in place of which another is displayed.
    pub(super) error: Option<UsageRangeError>,
    /// Sums of all days.
    pub(super) days: &'a [UsageSum],
    /// Rows of the table.
    pub(super) rows: &'a [UsageSum],
    /// Query of the next page, if the rows are paged.
    pub(super) next: Option<String>,
}

impl UsageView<'_> {
    /// Returns the page, with a field of the searched person.
    pub(super) fn render(&self, person: Option<Field>) -> View {
        let page = self.page;
        let export = format!("admin/usage/export?{}", query(self.grouping, self.range));
        let range = Section::new("range", "")
            .part(self.range_tabs())
            .part(SectionPart::Search(Box::new(self.search(person))));
        let grouping_section = Section::new("by", "").part(self.grouping_tabs());

        let view = View::new(page.t(texts::TITLE))
            .intro(page.t(if self.is_of_one_group() { GROUP_INTRO } else { INTRO }))
            .action(page.t(EXPORT), export)
            .section(range);

        // The calls of members are also those that they made in another group.
        let totals = UsageTotals::of(self.days);
        if totals.calls == 0 && (self.grouping != UsageGrouping::User || self.rows.is_empty()) {
            return view.section(grouping_section.paragraph(page.t(EMPTY)));
        }

        let totals_section = Section::new("totals", "").facts(self.facts(totals));
        let view = view.section(totals_section);
        if self.rows.is_empty() {
            return view.section(grouping_section.paragraph(page.t(common::NO_MATCH)));
        }

        let chart = SectionPart::Chart(self.chart());
        view.section(grouping_section.part(chart).table(self.table()))
    }

    fn range_tabs(&self) -> SectionPart {
        let tabs = [1, 7, 30, 90].map(|days| self.range_tab(days));
        SectionPart::Tabs(self.page.t(RANGE).to_owned(), tabs.into())
    }

    fn range_tab(&self, days: u32) -> Tab {
        let page = self.page;
        let range = page.api.usage.last_days(days);
        let label = match days {
            1 => page.t(TODAY).to_owned(),
            days => page.fill(DAYS, &[&days.to_string()]),
        };
        let mut path = format!("admin/usage?{}", query(self.grouping, range));
        for (name, value) in self.list_parameters() {
            let pair = serde_urlencoded::to_string([(name, value)]).unwrap_or_default();
            path.push('&');
            path.push_str(&pair);
        }
        let is_current = range == self.range && self.error.is_none();
        Tab { link: Link { label, path }, is_current }
    }

    /// Returns the parameters of the table that also apply to another range: its order and
    /// search, or the person.
    fn list_parameters(&self) -> Vec<(&'static str, String)> {
        let names: &[&'static str] = match self.grouping {
            // Managers of an organisation search no person.
            UsageGrouping::User if self.is_of_one_group() => &[],
            UsageGrouping::User => &["user"],
            UsageGrouping::Day | UsageGrouping::Group | UsageGrouping::Model => &["sort", "search"],
        };
        let pairs = names.iter().map(|it| (*it, self.page.query(it)));
        pairs.filter(|it| !it.1.is_empty()).collect()
    }

    fn grouping_tabs(&self) -> SectionPart {
        let groupings = UsageGrouping::ALL
            .into_iter()
            .filter(|it| *it != UsageGrouping::Group || !self.is_of_one_group());
        let tabs = groupings.map(|it| self.grouping_tab(it)).collect();
        SectionPart::Tabs(self.page.t(SUMMED_BY).to_owned(), tabs)
    }

    /// Returns whether the caller sees the usage of one group only.
    fn is_of_one_group(&self) -> bool {
        self.page.caller.visible_group().is_some()
    }

    fn grouping_tab(&self, grouping: UsageGrouping) -> Tab {
        let label = self.page.t(grouping_text(grouping)).to_owned();
        let path = format!("admin/usage?{}", query(grouping, self.range));
        Tab { link: Link { label, path }, is_current: grouping == self.grouping }
    }

    fn search(&self, person: Option<Field>) -> Search {
        let page = self.page;
        let first = self.range.first_day();
        let last = self.range.last_day();
        let day = |name, label: Text, day: String| {
            Field::input(name, page.t(label), "date", "off", day).optional()
        };
        let mut from = day("from", FROM, first.to_string());
        let mut to = day("to", TO, last.to_string());
        match self.error {
            None => {}
            Some(UsageRangeError::From) => page.t(NOT_A_DAY).clone_into(&mut from.error),
            Some(UsageRangeError::To) => page.t(NOT_A_DAY).clone_into(&mut to.error),
            Some(UsageRangeError::Length) => page.t(WRONG_LENGTH).clone_into(&mut from.error),
        }

        let by = Field::hidden("by", self.grouping.name());
        let mut fields: Vec<_> = std::iter::once(by).chain(person).chain([from, to]).collect();
        for (name, value) in self.list_parameters() {
            if fields.iter().all(|it| it.name != name) {
                fields.push(Field::hidden(name, value));
            }
        }

        Search {
            label: page.t(CHOOSE).to_owned(),
            fields,
            submit: page.t(SHOW).to_owned(),
            reset: None,
        }
    }

    fn facts(&self, totals: UsageTotals) -> [(&'static str, Cell); 5] {
        let UsageTotals { calls, spent, details } = totals;
        let page = self.page;
        let number = |it: i64| Cell::text(format::number(page.language, it));
        [
            (page.t(texts::CALLS), number(calls)),
            (page.t(texts::ERRORS), number(details.failed)),
            (page.t(texts::CREDITS), number(spent.rounded_up())),
            (page.t(INPUT), number(details.input_tokens)),
            (page.t(OUTPUT), number(details.output_tokens)),
        ]
    }

    fn chart(&self) -> Chart {
        let limit = if self.grouping == UsageGrouping::Day { self.rows.len() } else { MAX_BARS };
        let rows = self.rows.get(..limit.min(self.rows.len())).unwrap_or_default();
        let bars = rows.iter().map(|it| {
            let credits = format::number(self.page.language, it.spent.rounded_up());
            ChartBar::new(self.name(&it.subject).text, credits, it.spent.0)
        });

        Chart {
            title: self.page.t(texts::CREDITS).to_owned(),
            numbers_label: self.page.t(common::AS_TABLE).to_owned(),
            label_heading: self.page.t(grouping_text(self.grouping)).to_owned(),
            bars: bars.collect(),
        }
    }

    /// Returns the table: the loaded page of people, or a page of all others.
    fn table(&self) -> Table {
        let page = self.page;
        let columns = [
            ("name", grouping_text(self.grouping)),
            ("calls", texts::CALLS),
            ("credits", texts::CREDITS),
            ("errors", texts::ERRORS),
            ("input", INPUT),
            ("output", OUTPUT),
        ];
        // The chart has all days.
        let mut sums: Vec<_> = self.rows.iter().filter(|it| it.calls > 0).collect();
        if self.grouping == UsageGrouping::Day {
            sums.reverse();
        }

        let rows = sums.into_iter().map(|it| self.row(it)).collect();
        if self.grouping != UsageGrouping::User {
            return page.list(texts::TITLE, EMPTY, &columns, rows);
        }

        let by_credits = SortLink { query: String::new(), order: "descending" };
        Table {
            caption: page.t(texts::TITLE).to_owned(),
            // Users have sums without details.
            columns: columns.iter().take(3).map(|it| page.t(it.1).to_owned()).collect(),
            sort_links: vec![None, None, Some(by_credits)],
            rows,
            first: page.first_page(AFTER),
            next: self.next.clone(),
            next_label: page.t(common::NEXT_PAGE).to_owned(),
            ..Table::default()
        }
    }

    fn row(&self, sum: &UsageSum) -> Row {
        let language = self.page.language;
        let number = |it: i64| Cell::number(format::number(language, it)).sort_value(it);
        let credits = number(sum.spent.rounded_up()).sort_value(sum.spent.0);
        let mut cells = vec![self.name(&sum.subject), number(sum.calls), credits];
        if let Some(details) = sum.details {
            let cached = format::number(language, details.cached_input_tokens);
            let mut input = number(details.input_tokens);
            if details.cached_input_tokens > 0 {
                input = input.detail(self.page.fill(CACHED, &[&cached]));
            }

            cells.extend([number(details.failed), input, number(details.output_tokens)]);
        }

        Row::new(cells).key(key(&sum.subject))
    }

    fn name(&self, subject: &UsageSubject) -> Cell {
        match subject {
            UsageSubject::Day(day) => {
                Cell::text(format::date(self.page.language, *day)).sort_value(day.to_epoch_days())
            }
            UsageSubject::Group { id, name: Some(name) } => {
                Cell::link(name.as_str(), format!("admin/groups/{id}"))
            }
            UsageSubject::Group { id, .. } if id.0.is_nil() => {
                Cell::text(self.page.t(WITHOUT_GROUP))
            }
            UsageSubject::Group { name: None, .. } => Cell::text(self.page.t(DELETED_GROUP)),
            UsageSubject::Model { provider, name } => {
                Cell::text(name.as_str()).detail(provider.as_str())
            }
            // The page of a user is open to administrators alone.
            UsageSubject::User { email: Some(email), .. }
                if self.page.caller.visible_group().is_some() =>
            {
                Cell::text(email.as_str())
            }
            UsageSubject::User { id, email: Some(email) } => {
                Cell::link(email.as_str(), format!("admin/users/{id}"))
            }
            UsageSubject::User { email: None, .. } => Cell::text(self.page.t(DELETED_ACCOUNT)),
        }
    }
}

/// Returns the label of a grouping, and heading of its column.
fn grouping_text(grouping: UsageGrouping) -> Text {
    match grouping {
        UsageGrouping::Day => texts::DAY,
        UsageGrouping::Group => Text::new("Group", "Gruppe"),
        UsageGrouping::Model => Text::new("Model", "Modell"),
        UsageGrouping::User => Text::new("Person", "Person"),
    }
}

/// Returns the key of a row.
fn key(subject: &UsageSubject) -> String {
    match subject {
        UsageSubject::Day(day) => day.to_string(),
        UsageSubject::Group { id, .. } => id.to_string(),
        UsageSubject::Model { provider, name } => format!("{provider}/{name}"),
        UsageSubject::User { id, .. } => id.to_string(),
    }
}

/// Returns the query of a range and grouping, without `?`.
fn query(grouping: UsageGrouping, range: UsageRange) -> String {
    format!("by={}&from={}&to={}", grouping.name(), range.first_day(), range.last_day())
}

const INTRO: Text = Text::new(
    "All model calls that were not refused, at their price at the time. Days are in UTC.",
    "Alle nicht abgelehnten Modellaufrufe zum damaligen Preis. Tage in UTC.",
);
const GROUP_INTRO: Text = Text::new(
    "All model calls of your group that were not refused, at their price at the time. Days are in \
     UTC.",
    "Alle nicht abgelehnten Modellaufrufe Ihrer Gruppe zum damaligen Preis. Tage in UTC.",
);
const EXPORT: Text = Text::new("Download CSV", "CSV herunterladen");
const RANGE: Text = Text::new("Range", "Zeitraum");
const TODAY: Text = Text::new("Today", "Heute");
const DAYS: Text = Text::new("{} days", "{} Tage");
const FROM: Text = Text::new("From (UTC)", "Von (UTC)");
const TO: Text = Text::new("To (UTC)", "Bis (UTC)");
const CHOOSE: Text = Text::new("Custom range", "Eigener Zeitraum");
const SHOW: Text = Text::new("Apply", "Anwenden");
const NOT_A_DAY: Text =
    Text::new("Enter a day such as 2026-01-31.", "Geben Sie einen Tag wie 2026-01-31 ein.");
const WRONG_LENGTH: Text = Text::new("Choose 1 to 366 days.", "Wählen Sie 1 bis 366 Tage.");
const WITHOUT_GROUP: Text = Text::new("Without a group", "Ohne Gruppe");
const SUMMED_BY: Text = Text::new("Group by", "Gruppieren nach");
const EMPTY: Text = Text::new(
    "No model was called in this period. Choose another one.",
    "In diesem Zeitraum wurde kein Modell aufgerufen. Wählen Sie einen anderen.",
);
const INPUT: Text = Text::new("Input tokens", "Eingabe-Token");
const OUTPUT: Text = Text::new("Output tokens", "Ausgabe-Token");
const CACHED: Text = Text::new("{} cached", "{} aus dem Cache");
const DELETED_GROUP: Text = Text::new("Deleted group", "Gelöschte Gruppe");
const DELETED_ACCOUNT: Text = Text::new("Deleted account", "Gelöschtes Konto");
