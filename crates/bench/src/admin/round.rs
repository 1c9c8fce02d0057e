//! Round: every list of one server, and the transactions of a change.
//!
//! Lists are requested one after the other on one connection, and checked for
//! their number of items. Pages of the console are collected from the links of its
//! navigation, and the slowest one counts.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

use super::Plan;
use super::browser::Browser;
use super::figures::Metric;
use super::seeding::RARE_ACTION;
use crate::connection::Connection;
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::postgres::Session;
use crate::servers::log_progress;
use crate::stats::{count, percentile};

const USERS: &str = "/api/admin/users?limit=50";
const AUDIT: &str = "/api/admin/audit?limit=50";
const USAGE_BY_USER: &str = "/admin/usage?by=user";
/// Searches and filtered lists of the console.
const SEARCHES: [&str; 7] = [
    "/admin/users?search=copy17",
    "/admin/users?role=admin&status=active&factor=none",
    "/admin/usage?by=group",
    "/admin/usage?by=model",
    USAGE_BY_USER,
    "/admin/usage?by=user&user=copy17%40bench.example",
    "/admin/audit?user=copy17%40bench.example",
];
/// Setting that is changed.
const SETTING: &str = "/api/admin/settings/Feedback:RetentionDays";

pub(super) struct Round<'a> {
    pub(super) plan: &'a Plan,
    pub(super) browser: &'a Browser,
    pub(super) figures: &'a mut Figures<Metric>,
    pub(super) place: usize,
}

impl Round<'_> {
    pub(super) fn run(self, transactions: Option<&Session>) -> Outcome<()> {
        let mut connection = self.browser.connect()?;
        let half = self.plan.size.users / 2;
        let middle = self.cursor(&mut connection, half)?;
        for (metric, path, at_least) in [
            (Metric::Users, USERS.to_owned(), 50),
            (Metric::UsersInTheMiddle, format!("{USERS}&cursor={middle}"), 50),
            (Metric::UsersFound, format!("{USERS}&search=copy17"), 1),
            (Metric::Entries, AUDIT.to_owned(), 50),
            (Metric::EntriesInTheMiddle, format!("{AUDIT}&until=2020-06-01T00:00:00Z"), 50),
            (Metric::EntriesOfAction, format!("{AUDIT}&action={RARE_ACTION}"), 1),
        ] {
            let p99 = self.p99(&mut connection, &path, at_least)?;
            self.figures.record(self.place, metric, p99);
        }

        let slowest = self.slowest_page(&mut connection)?;
        self.figures.record(self.place, Metric::Pages, slowest);

        if let Some(session) = transactions {
            let each = self.transactions(&mut connection, session)?;
            self.figures.record(self.place, Metric::Transactions, each);
        }

        Ok(())
    }

    /// Returns the cursor behind this number of users.
    fn cursor(&self, connection: &mut Connection, users: usize) -> Outcome<String> {
        let mut path = "/api/admin/users?limit=200".to_owned();
        let mut cursor = None;
        for _ in 0..users.div_ceil(200).max(1) {
            let answer = self.browser.get(connection, &path)?;
            let page: Value = serde_json::from_slice(&answer.body)?;
            let next = page.get("nextCursor").and_then(Value::as_str).ok_or("a list is short")?;
            path = format!("/api/admin/users?limit=200&cursor={next}");
            cursor = Some(next.to_owned());
        }
        cursor.ok_or_else(|| "no page".into())
    }

    /// Returns the p99 in milliseconds of a list, which must have `at_least` items.
    fn p99(&self, connection: &mut Connection, path: &str, at_least: usize) -> Outcome<f64> {
        let mut times = Vec::new();
        for _ in 0..self.plan.requests {
            let start = Instant::now();
            let answer = self.browser.get(connection, path)?;
            times.push(start.elapsed().as_secs_f64() * 1_000.0);
            let page: Value = serde_json::from_slice(&answer.body)?;
            let items = page.get("items").and_then(Value::as_array).map_or(0, Vec::len);
            if items < at_least {
                return Err(format!("{path}: {items} items").into());
            }
        }

        percentile(&times, 0.99).ok_or_else(|| "no requests".into())
    }

    /// Returns the p99 in milliseconds of the page that takes longest, and logs which
    /// one that is.
    fn slowest_page(&self, connection: &mut Connection) -> Outcome<f64> {
        let pages = self.pages(connection)?;
        let mut slowest_page = "";
        let mut slowest_p99 = 0.0;
        for page in &pages {
            let mut times = Vec::new();
            for _ in 0..self.plan.requests / 3 {
                let start = Instant::now();
                self.browser.get(connection, page)?;
                times.push(start.elapsed().as_secs_f64() * 1_000.0);
            }

            let p99 = percentile(&times, 0.99).ok_or("no requests")?;
            if p99 > slowest_p99 {
                slowest_page = page;
                slowest_p99 = p99;
            }
        }

        log_progress(&format!("slowest page: {slowest_page}, {slowest_p99:.1} ms"));

        Ok(slowest_p99)
    }

    /// Returns the measured pages: those that the navigation of the console and of the
    /// account links, one below each of them, such as that of a user, searches, and usage
    /// by person over each range of days.
    fn pages(&self, connection: &mut Connection) -> Outcome<BTreeSet<String>> {
        let mut pages: BTreeSet<_> = SEARCHES.map(str::to_owned).into();
        let mut ranges = self.links(connection, USAGE_BY_USER)?;
        ranges.retain(|it| it.starts_with(USAGE_BY_USER));
        if ranges.len() < 4 {
            return Err(format!("{USAGE_BY_USER} links {} ranges", ranges.len()).into());
        }
        pages.extend(ranges);
        for (start, at_least) in [("/admin", 20), ("/account", 8)] {
            let linked = self.links_below(connection, start)?;
            if linked.len() < at_least {
                return Err(format!("{start} links {} pages", linked.len()).into());
            }

            pages.insert(start.to_owned());
            for page in linked {
                pages.extend(self.links_below(connection, &page)?.pop_first());
                pages.insert(page);
            }
        }

        Ok(pages)
    }

    /// Returns the paths below a page that it links, without queries and files.
    fn links_below(&self, connection: &mut Connection, page: &str) -> Outcome<BTreeSet<String>> {
        let below = format!("{page}/");
        let links = self.links(connection, page)?;
        let paths = links.iter().filter_map(|it| it.split(['?', '#']).next());
        let pages = paths.filter(|it| it.starts_with(&below) && !it.ends_with("/export"));
        Ok(pages.map(str::to_owned).collect())
    }

    /// Returns the addresses that a page links, without the server's.
    fn links(&self, connection: &mut Connection, page: &str) -> Outcome<Vec<String>> {
        let html = String::from_utf8(self.browser.get(connection, page)?.body)?;
        let links = html.split("href=\"").skip(1).filter_map(|it| it.split('"').next());
        let addresses = links.map(|it| it.trim_start_matches("../").replace("&#38;", "&"));
        Ok(addresses.map(|it| format!("/{it}")).collect())
    }

    /// Returns the number of write transactions of a change of a setting.
    fn transactions(&self, connection: &mut Connection, session: &Session) -> Outcome<f64> {
        const CURRENT: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
        let before = session.number(CURRENT)?;
        for number in 0..self.plan.requests {
            let days = if number % 2 == 0 { "364" } else { "365" };
            self.browser.put(connection, SETTING, &json!({ "value": days }))?;
        }
        let written = session.number(CURRENT)? - before;
        Ok(count(usize::try_from(written)?) / count(self.plan.requests))
    }
}
