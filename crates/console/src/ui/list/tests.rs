//! Tests of the search, the order and the pages of lists.

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
    let requested_list = RequestedList {
        language: Language::En,
        path: "admin/groups".to_owned(),
        query: ListQuery(serde_urlencoded::from_str(query).unwrap()),
    };
    requested_list.table(TITLE, EMPTY, COLUMNS, rows)
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
    assert_eq!(links, [("search=team&sort=-name", "ascending"), ("search=team&sort=members", "")]);
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
fn cells_with_an_address_or_a_time_have_the_class_that_gives_them_room() {
    let time = "26 Nov 2026, 09:42 UTC";
    let rows = vec![row("ada@example.org", 20), row("Ask @ada", 9), row(time, 3)];

    let html = render(list("", rows));

    for (class, text) in [("address", "ada@example.org"), ("time", time)] {
        let start = format!("<td role=\"cell\" class=\"{class}\"");
        assert_eq!(html.matches(&start).count(), 1, "{html}");
        assert!(html.contains(&format!("{start} data-label=\"Name\">{text}")), "{html}");
    }
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
