//! Usage on the first page of the console.

use futures_util::future::try_join4;
use pia_assistant::{
    Micros, UsageDetails, UsageGrouping, UsageHour, UsageRange, UsageSubject, UsageSum,
};
use pia_web::ApiError;

use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::chart::{Chart, ChartBar};
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Cell, Row, Section, Table, Text, format};

/// Number of days in the charts.
const MONTH_DAYS: u32 = 30;

/// Usage of several days together.
#[derive(Clone, Copy, Default)]
pub(super) struct UsageTotals {
    pub(super) calls: i64,
    pub(super) spent: Micros,
    pub(super) details: UsageDetails,
}

impl UsageTotals {
    /// Adds up the usage of days.
    pub(super) fn of<'a>(days: impl IntoIterator<Item = &'a UsageSum>) -> Self {
        days.into_iter().fold(Self::default(), Self::plus)
    }

    fn plus(self, day: &UsageSum) -> Self {
        let total = self.details;
        let added = day.details.unwrap_or_default();
        Self {
            calls: self.calls.saturating_add(day.calls),
            spent: self.spent.plus(day.spent),
            details: UsageDetails {
                failed: total.failed.saturating_add(added.failed),
                input_tokens: total.input_tokens.saturating_add(added.input_tokens),
                cached_input_tokens: total
                    .cached_input_tokens
                    .saturating_add(added.cached_input_tokens),
                output_tokens: total.output_tokens.saturating_add(added.output_tokens),
                timed_calls: total.timed_calls.saturating_add(added.timed_calls),
                duration_millis: total.duration_millis.saturating_add(added.duration_millis),
            },
        }
    }
}

/// Figures of one period.
struct PeriodFigures {
    totals: UsageTotals,
    /// Number of people who called a model.
    people: i64,
}

/// Returns the numbers of today and of 30 days, with their charts.
pub(in crate::admin) async fn section(page: &PageContext) -> Result<Section, ApiError> {
    let month = page.api.usage.last_days(MONTH_DAYS);
    let (days, hours, people_today, people_of_month) = page
        .run(|api| async move {
            try_join4(
                api.usage.sums(month, UsageGrouping::Day, None, MONTH_DAYS),
                api.usage.hours_of_today(),
                api.usage.count_recent_users(1),
                api.usage.count_recent_users(MONTH_DAYS),
            )
            .await
        })
        .await?;
    let today = PeriodFigures { totals: UsageTotals::of(days.last()), people: people_today };
    let last_month = PeriodFigures { totals: UsageTotals::of(&days), people: people_of_month };
    let table = figures_table(page, &today, &last_month);
    let more = Link { label: page.t(MORE).to_owned(), path: usage_path(month) };
    let section = Section::new("usage", page.t(TITLE)).table(table).links(vec![more]);
    if last_month.totals.calls == 0 {
        return Ok(section);
    }

    let charts = period_charts(page, &hours, &days).into_iter();
    Ok(charts.map(SectionPart::Chart).fold(section, Section::part))
}

/// Returns the charts of each figure: of today, unless there are no calls, and of the days.
fn period_charts(page: &PageContext, hours: &[UsageHour], days: &[UsageSum]) -> Vec<Chart> {
    let points_of_days: Vec<_> = days.iter().map(|it| ChartPoint::of_day(page, it)).collect();
    let charts_of_days = usage_charts(page, &BY_DAY, &points_of_days);
    if hours.iter().all(|it| it.calls == 0) {
        return charts_of_days.into();
    }

    let points_of_today: Vec<_> = hours.iter().map(ChartPoint::of_hour).collect();
    let charts_of_today = usage_charts(page, &BY_HOUR, &points_of_today);
    let pairs = charts_of_today.into_iter().zip(charts_of_days);
    pairs.flat_map(|(of_today, of_days)| [of_today, of_days]).collect()
}

/// Figures of a day or an hour.
struct ChartPoint {
    label: String,
    people: i64,
    calls: i64,
    spent: Micros,
    mean_millis: Option<i64>,
    failed: i64,
}

impl ChartPoint {
    fn of_day(page: &PageContext, day: &UsageSum) -> Self {
        let details = day.details.unwrap_or_default();
        Self {
            label: day_text(page, &day.subject),
            people: day.users.unwrap_or_default(),
            calls: day.calls,
            spent: day.spent,
            mean_millis: details.mean_millis(),
            failed: details.failed,
        }
    }

    fn of_hour(hour: &UsageHour) -> Self {
        Self {
            label: format!("{:02}:00", hour.hour),
            people: hour.users,
            calls: hour.calls,
            spent: hour.spent,
            mean_millis: hour.mean_millis(),
            failed: hour.failed,
        }
    }
}

/// Titles of the charts of one period.
struct ChartTexts {
    /// Heading of the column of days or hours.
    label: Text,
    people: Text,
    calls: Text,
    credits: Text,
    response_time: Text,
    errors: Text,
}

/// Returns a chart of each figure.
fn usage_charts(page: &PageContext, texts: &ChartTexts, points: &[ChartPoint]) -> [Chart; 5] {
    let chart = |title, bars| Chart {
        title: page.t(title).to_owned(),
        numbers_label: page.t(common::AS_TABLE).to_owned(),
        label_heading: page.t(texts.label).to_owned(),
        bars,
    };
    [
        chart(texts.people, bars(points, |it| Figure::number(page, it.people))),
        chart(texts.calls, bars(points, |it| Figure::number(page, it.calls))),
        chart(texts.credits, bars(points, |it| Figure::credits(page, it.spent))),
        chart(texts.response_time, bars(points, |it| Figure::response_time(page, it.mean_millis))),
        chart(texts.errors, bars(points, |it| Figure::number(page, it.failed))),
    ]
}

fn bars(points: &[ChartPoint], figure_of: impl Fn(&ChartPoint) -> Figure) -> Vec<ChartBar> {
    let bars = points.iter().map(|it| {
        let Figure { text, value } = figure_of(it);
        ChartBar::new(it.label.clone(), text, value)
    });
    bars.collect()
}

/// Number of a chart, with its text.
struct Figure {
    text: String,
    value: i64,
}

impl Figure {
    fn number(page: &PageContext, value: i64) -> Self {
        Self { text: format::number(page.language, value), value }
    }

    /// Returns an amount of credits. The text is rounded up.
    fn credits(page: &PageContext, spent: Micros) -> Self {
        Self { text: format::number(page.language, spent.rounded_up()), value: spent.0 }
    }

    /// Returns the mean duration of calls, in milliseconds.
    fn response_time(page: &PageContext, mean_millis: Option<i64>) -> Self {
        match mean_millis {
            Some(millis) => Self { text: format::duration(page.language, millis), value: millis },
            None => Self { text: "–".to_owned(), value: 0 },
        }
    }
}

fn usage_path(range: UsageRange) -> String {
    format!("admin/usage?by=user&from={}&to={}", range.first_day(), range.last_day())
}

fn figures_table(page: &PageContext, today: &PeriodFigures, month: &PeriodFigures) -> Table {
    let row = |name: Text, figure: fn(&PageContext, &PeriodFigures) -> String| {
        let cell = |it: &PeriodFigures| Cell::number(figure(page, it));
        Row::new(vec![Cell::text(page.t(name)), cell(today), cell(month)])
    };

    Table {
        caption: page.t(TITLE).to_owned(),
        columns: [FIGURE, TODAY, MONTH].map(|it| page.t(it).to_owned()).into(),
        rows: vec![
            row(PEOPLE, |page, it| format::number(page.language, it.people)),
            row(CALLS, |page, it| format::number(page.language, it.totals.calls)),
            row(CREDITS, |page, it| format::number(page.language, it.totals.spent.rounded_up())),
            row(RESPONSE_TIME, |page, it| {
                Figure::response_time(page, it.totals.details.mean_millis()).text
            }),
            row(ERRORS, |page, it| format::number(page.language, it.totals.details.failed)),
        ],
        ..Table::default()
    }
}

/// Formats the day of a sum that is grouped by day.
fn day_text(page: &PageContext, subject: &UsageSubject) -> String {
    match subject {
        UsageSubject::Day(day) => format::date(page.language, *day),
        _ => String::new(),
    }
}

pub(super) const TITLE: Text = Text::new("Usage", "Nutzung");
pub(super) const DAY: Text = Text::new("Day", "Tag");
pub(super) const CALLS: Text = Text::new("Calls", "Aufrufe");
pub(super) const ERRORS: Text = Text::new("Errors", "Fehler");
pub(super) const CREDITS: Text = Text::new("Credits", "Credits");
const PEOPLE: Text = Text::new("People", "Personen");
const FIGURE: Text = Text::new("Metric", "Kennzahl");
const TODAY: Text = Text::new("Today (UTC)", "Heute (UTC)");
const MONTH: Text = Text::new("30 days", "30 Tage");
const RESPONSE_TIME: Text = Text::new("Average response time", "Durchschnittliche Antwortzeit");
const BY_DAY: ChartTexts = ChartTexts {
    label: DAY,
    people: Text::new("People by day", "Personen je Tag"),
    calls: Text::new("Calls by day", "Aufrufe je Tag"),
    credits: Text::new("Credits by day", "Credits je Tag"),
    response_time: Text::new(
        "Average response time by day",
        "Durchschnittliche Antwortzeit je Tag",
    ),
    errors: Text::new("Errors by day", "Fehler je Tag"),
};
const BY_HOUR: ChartTexts = ChartTexts {
    label: Text::new("Hour (UTC)", "Stunde (UTC)"),
    people: Text::new("People today, by hour (UTC)", "Personen heute je Stunde (UTC)"),
    calls: Text::new("Calls today, by hour (UTC)", "Aufrufe heute je Stunde (UTC)"),
    credits: Text::new("Credits today, by hour (UTC)", "Credits heute je Stunde (UTC)"),
    response_time: Text::new(
        "Average response time today, by hour (UTC)",
        "Durchschnittliche Antwortzeit heute je Stunde (UTC)",
    ),
    errors: Text::new("Errors today, by hour (UTC)", "Fehler heute je Stunde (UTC)"),
};
const MORE: Text =
    Text::new("Usage by person, group and model", "Nutzung nach Person, Gruppe und Modell");
