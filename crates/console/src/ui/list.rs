//! Lists whose rows are all loaded: the query of the request searches them,
//! sorts them and chooses the page, so that each state has an address.
//!
//! `PageContext::list` applies the three steps in this order. A page begins after a
//! row's key and not at an offset, so that added or removed rows repeat or hide
//! none; only if that row itself is gone, it begins at the row's last position. Lists
//! that are too long to be loaded are paged by their stores and built as a `Table`
//! directly.

mod query;

use std::cmp::Reverse;

use pia_kernel::Language;

use self::query::{AFTER, ListQuery, SEARCH, SORT};
use super::table::{Row, Search, SortLink, Table};
use super::view::Link;
use super::{Field, Text};
use crate::page_context::PageContext;
use crate::texts::common;

/// Number of rows on a page.
const PAGE_ROWS: usize = 50;
/// Number of rows up to which a list has no search field.
const MAX_UNSEARCHED_ROWS: usize = 10;

/// Column of a list: its name in the query, and its heading.
pub(crate) type Column = (&'static str, Text);

/// List whose search, order and page a request chooses.
struct RequestedList {
    language: Language,
    /// Path of the list, without the leading slash.
    path: String,
    query: ListQuery,
}

impl PageContext {
    /// Returns the requested page of a list, by its caption, the text in place
    /// of a list without rows, its columns and all its rows. Each row has a key,
    /// and numbers and times their values.
    pub(crate) fn list(
        &self,
        caption: Text,
        empty: Text,
        columns: &[Column],
        rows: Vec<Row>,
    ) -> Table {
        let path = self.page_path().to_owned();
        let list = RequestedList { language: self.language, path, query: self.list_query() };
        list.table(caption, empty, columns, rows)
    }

    /// Returns the links of headings, by the names of the columns in the query; an
    /// empty name is that of a column that sorts nothing.
    pub(crate) fn sort_links(&self, names: &[&str]) -> Vec<Option<SortLink>> {
        let query = self.list_query();
        names.iter().map(|it| (!it.is_empty()).then(|| query.sort_link(it))).collect()
    }

    /// Returns the hidden field of a search form that keeps the order.
    pub(crate) fn sort_field(&self) -> Option<Field> {
        let sort = self.query(SORT);
        (!sort.is_empty()).then(|| Field::hidden(SORT, sort))
    }

    fn list_query(&self) -> ListQuery {
        ListQuery(self.query_pairs())
    }
}

impl RequestedList {
    fn table(&self, caption: Text, empty: Text, columns: &[Column], mut rows: Vec<Row>) -> Table {
        let t = |text: Text| text.of(self.language).to_owned();
        let count = rows.len();
        let search = self.query.value(SEARCH).trim();
        rows.retain(|it| contains(it, search));
        self.sort(&mut rows, columns);
        let next = self.cut_page(&mut rows);

        Table {
            caption: t(caption),
            columns: columns.iter().map(|it| t(it.1)).collect(),
            sort_links: columns.iter().map(|it| Some(self.query.sort_link(it.0))).collect(),
            rows,
            empty: t(if count > 0 { common::NO_MATCH } else { empty }),
            search: (count > MAX_UNSEARCHED_ROWS || !search.is_empty())
                .then(|| self.search_form(search)),
            first: (!self.query.value(AFTER).is_empty()).then(|| self.query.with(AFTER, "")),
            next,
            next_label: t(common::NEXT_PAGE),
        }
    }

    /// Sorts the rows by the requested column; rows of equal value, and all if
    /// there is no such column, stay in their order.
    fn sort(&self, rows: &mut [Row], columns: &[Column]) {
        let sort = self.query.value(SORT);
        let name = sort.strip_prefix('-').unwrap_or(sort);
        let Some(column) = columns.iter().position(|it| it.0 == name) else { return };
        if sort.starts_with('-') {
            rows.sort_by_cached_key(|it| Reverse(sort_key(it, column)));
        } else {
            rows.sort_by_cached_key(|it| sort_key(it, column));
        }
    }

    /// Cuts the rows to the requested page. Returns the query of the next page.
    fn cut_page(&self, rows: &mut Vec<Row>) -> Option<String> {
        let start = self.page_start(rows);
        rows.drain(..start);
        if rows.len() <= PAGE_ROWS {
            return None;
        }

        rows.truncate(PAGE_ROWS);
        let position = start + PAGE_ROWS;
        rows.last().map(|it| self.query.with(AFTER, &format!("{position}.{}", it.key)))
    }

    /// Returns the number of rows before the requested page: those up to the row that it
    /// begins after, or if that is gone, those before its last position.
    fn page_start(&self, rows: &[Row]) -> usize {
        let Some((position, key)) = self.query.value(AFTER).split_once('.') else { return 0 };
        let Ok(position) = position.parse::<usize>() else { return 0 };
        let index = rows.iter().position(|it| it.key == key);
        index.map_or(position.saturating_sub(1), |it| it + 1).min(rows.len())
    }

    fn search_form(&self, search: &str) -> Search {
        let label = common::SEARCH_LIST.of(self.language);
        let field = Field::input(SEARCH, label, "search", "off", search).optional();
        let query = self.query.with(SEARCH, "");
        let separator = if query.is_empty() { "" } else { "?" };
        let reset = Link {
            label: common::RESET_FILTERS.of(self.language).to_owned(),
            path: format!("{}{separator}{query}", self.path),
        };

        Search {
            label: label.to_owned(),
            fields: std::iter::once(field).chain(self.query.fields_beside_search()).collect(),
            submit: common::SEARCH.of(self.language).to_owned(),
            reset: (!search.is_empty()).then_some(reset),
        }
    }
}

/// Returns whether a text is part of what a row displays, numbers excepted.
fn contains(row: &Row, text: &str) -> bool {
    let text = fold(text);
    let mut texts = row.cells.iter().filter(|it| !it.is_number());
    texts.any(|it| fold(&it.text).contains(&text) || fold(&it.detail).contains(&text))
}

/// Returns what a row is sorted by: the value of a cell, or else its text without
/// an emoji before it.
fn sort_key(row: &Row, column: usize) -> Option<(Option<i128>, String)> {
    row.cells.get(column).map(|cell| {
        let folded = fold(&cell.text);
        let text = folded.trim_start_matches(|it: char| !it.is_alphanumeric());
        (cell.sort_value, text.to_owned())
    })
}

/// Returns a text as it is compared: without case and umlauts.
pub(crate) fn fold(text: &str) -> String {
    let lower = text.to_lowercase();
    let letters = lower.chars().map(|it| match it {
        'ä' => 'a',
        'ö' => 'o',
        'ü' => 'u',
        other => other,
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use askama::Template as _;

    use super::*;
    use crate::shell::Shell;
    use crate::ui::{Cell, Form, Section, View};

    const TITLE: Text = Text::new("Groups", "Gruppen");
    const EMPTY: Text = Text::new("Create a group.", "Erstellen Sie eine Gruppe.");
    const COLUMNS: &[Column] =
        &[("name", common::NAME), ("members", Text::new("Members", "Mitglieder"))];

    fn list(query: &str, rows: Vec<Row>) -> Table {
        let pairs = serde_urlencoded::from_str(query).unwrap();
        let query = ListQuery { language: Language::En, path: "admin/groups".to_owned(), pairs };
        query.table(TITLE, EMPTY, COLUMNS, rows)
    }

    fn row(name: &str, members: u32) -> Row {
        let number = Cell::number(members.to_string()).sort_value(members);
        Row::new(vec![Cell::text(name), number]).key(name)
    }

    fn some_rows() -> Vec<Row> {
        vec![row("beta", 100), row("Östlich", 9), row("Alpha", 20), row("🤖 gamma", 9)]
    }

    fn many_rows(count: u32) -> Vec<Row> {
        (0..count).map(|it| row(&format!("Team {it:03}"), it % 2)).collect()
    }

    fn names(table: &Table) -> Vec<&str> {
        table.rows.iter().map(|it| it.cells[0].text.as_str()).collect()
    }

    #[test]
    fn rows_are_sorted_by_text_or_value_in_both_directions() {
        for (query, expected) in [
            ("", ["beta", "Östlich", "Alpha", "🤖 gamma"]),
            ("sort=unknown", ["beta", "Östlich", "Alpha", "🤖 gamma"]),
            ("sort=name", ["Alpha", "beta", "🤖 gamma", "Östlich"]),
            ("sort=-name", ["Östlich", "🤖 gamma", "beta", "Alpha"]),
            ("sort=members", ["Östlich", "🤖 gamma", "Alpha", "beta"]),
            ("sort=-members", ["beta", "Alpha", "Östlich", "🤖 gamma"]),
        ] {
            assert_eq!(names(&list(query, some_rows())), expected, "{query}");
        }
    }

    #[test]
    fn headings_link_to_both_directions_and_the_first_page() {
        let table = list("search=team&sort=name&after=50.Team+049&done=saved", many_rows(60));

        let links = table.sort_links.iter().flatten();
        let links: Vec<_> = links.map(|it| (it.query.as_str(), it.order)).collect();
        assert_eq!(
            links,
            [("search=team&sort=-name", "ascending"), ("search=team&sort=members", "")]
        );
        let descending = list("sort=-name&cursor=x", some_rows());
        let link = descending.sort_link(&0).unwrap();
        assert_eq!(link.query, "sort=name");
        assert_eq!(link.order, "descending");
    }

    #[test]
    fn pages_follow_the_key_of_the_row_before_them() {
        let first_page = list("sort=-members", many_rows(60));
        let next_query = first_page.next.as_deref().unwrap();
        let second_page = list(next_query, many_rows(60));
        let more_rows = std::iter::once(row("Team", 1)).chain(many_rows(60)).collect();
        let later_page = list(next_query, more_rows);

        assert_eq!(next_query, "sort=-members&after=50.Team+038");
        assert_eq!(first_page.first, None);
        assert_eq!(first_page.rows.len(), PAGE_ROWS);
        assert_eq!(second_page.first.as_deref(), Some("sort=-members"));
        assert_eq!(second_page.rows.len(), 60 - PAGE_ROWS);
        assert_eq!(second_page.next, None);
        let all: BTreeSet<_> = names(&first_page).into_iter().chain(names(&second_page)).collect();
        assert_eq!(all.len(), 60);
        // A row that was added to the first page does not move those of the second one.
        assert_eq!(names(&later_page), names(&second_page));
    }

    #[test]
    fn a_page_after_a_removed_row_begins_at_its_position() {
        let next_query = list("", many_rows(60)).next.unwrap();
        let mut rows = many_rows(60);
        rows.remove(PAGE_ROWS - 1);

        let next_page = list(&next_query, rows);

        assert_eq!(next_query, "after=50.Team+049");
        assert_eq!(names(&next_page).first(), Some(&"Team 050"));
        assert_eq!(next_page.rows.len(), 60 - PAGE_ROWS);
    }

    #[test]
    fn a_page_after_the_last_row_is_empty() {
        for after in ["after=60.Team+059", "after=99.Team+999"] {
            let table = list(after, many_rows(60));

            assert!(table.rows.is_empty(), "{after}");
            assert_eq!(table.empty, common::NO_MATCH.of(Language::En), "{after}");
            assert_eq!(table.first.as_deref(), Some(""), "{after}");
        }
    }

    #[test]
    fn a_page_after_a_malformed_position_is_the_first_one() {
        for after in ["after=Team+049", "after=x.Team+049", "after="] {
            let table = list(after, many_rows(60));

            assert_eq!(names(&table).first(), Some(&"Team 000"), "{after}");
            assert_eq!(table.rows.len(), PAGE_ROWS, "{after}");
        }
    }

    #[test]
    fn rows_are_searched_by_the_texts_that_they_display() {
        for (query, expected) in [
            ("search=+OSTLICH+", &["Östlich"][..]),
            ("search=a&sort=name", &["Alpha", "beta", "🤖 gamma"]),
            ("search=9", &[]),
        ] {
            assert_eq!(names(&list(query, some_rows())), expected, "{query}");
        }
        let detailed = Row::new(vec![Cell::text("Sales").detail("Default group")]).key("1");
        assert_eq!(list("search=default", vec![detailed]).rows.len(), 1);
    }

    #[test]
    fn long_and_searched_lists_have_a_search_form() {
        let reset = |table: &Table| {
            let search = table.search.as_ref().unwrap();
            search.reset.as_ref().map(|it| it.path.clone())
        };

        assert!(list("", many_rows(10)).search.is_none());
        assert_eq!(reset(&list("sort=name", many_rows(11))), None);
        assert_eq!(reset(&list("search=x", many_rows(1))).as_deref(), Some("admin/groups"));
        let sorted = list("search=x&sort=name&after=y", many_rows(1));
        assert_eq!(reset(&sorted).as_deref(), Some("admin/groups?sort=name"));
        let fields: Vec<_> = sorted.search.unwrap().fields.into_iter().map(|it| it.name).collect();
        assert_eq!(fields, ["search", "sort"]);
    }

    #[test]
    fn an_empty_list_differs_from_one_without_a_match() {
        assert_eq!(list("", Vec::new()).empty, "Create a group.");
        assert_eq!(list("search=x", some_rows()).empty, common::NO_MATCH.of(Language::En));
    }

    fn render(table: Table) -> String {
        let view = View::new("Groups").section(Section::new("groups", "").table(table));
        let shell = Shell::anonymous(Language::En, String::new(), "Pia", String::new());
        shell.page(&view).render().unwrap()
    }

    #[test]
    fn each_element_of_a_table_has_its_role() {
        let form = Form::new("admin/groups/delete", "Delete");
        let html = render(list("sort=name", vec![row("Alpha", 20).form(form)]));

        for (element, role, count) in [
            ("table", "table", 1),
            ("thead", "rowgroup", 1),
            ("tbody", "rowgroup", 1),
            ("tr", "row", 2),
            ("th", "columnheader", 2),
            ("td", "cell", 4),
        ] {
            let start = format!("<{element}");
            let tags = html.split(&start).skip(1).filter_map(|it| it.split_once('>'));
            let tags: Vec<_> = tags.map(|it| it.0).filter(|it| !it.starts_with("ead")).collect();
            assert_eq!(tags.len(), count, "{element}: {html}");
            let role = format!(" role=\"{role}\"");
            assert!(tags.iter().all(|it| it.contains(&role)), "{element}: {html}");
        }
    }

    #[test]
    fn cells_with_an_email_address_have_the_class_that_gives_them_room() {
        let html = render(list("", vec![row("ada@example.org", 20), row("Ask @ada", 9)]));

        assert_eq!(html.matches("<td role=\"cell\" class=\"address\"").count(), 1, "{html}");
        assert!(html.contains("class=\"address\" data-label=\"Name\">ada@example.org"), "{html}");
    }

    #[test]
    fn texts_of_the_query_are_escaped_in_links() {
        let rows = (0..60).map(|it| row(&format!("\"><b>{it}"), it)).collect();
        let html = render(list("search=%22%3E%3Cb%3E&sort=name", rows));

        assert!(!html.contains("<b>"), "{html}");
        for part in [
            "aria-sort=\"ascending\"><a href=\"?search=%22%3E%3Cb%3E&#38;sort=-name\">Name</a>",
            "class=\"number\"><a href=\"?search=%22%3E%3Cb%3E&#38;sort=members\">Members</a>",
            "<a href=\"?search=%22%3E%3Cb%3E&#38;sort=name&#38;after=50.%22%3E%3Cb%3E",
            "<input type=\"hidden\" name=\"sort\" value=\"name\">",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
