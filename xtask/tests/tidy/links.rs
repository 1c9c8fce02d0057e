//! Check of the links in documents.

use std::path::{Path, PathBuf};

use super::{display_path, files_below, read_text, refuse, root};

#[test]
fn links_of_documents_have_targets() {
    let dead_links = documents().into_iter().flat_map(|file| {
        let text = read_text(&file);
        links(&text)
            .into_iter()
            .filter(|link| !has_target(&file, link))
            .map(|link| format!("{}: {link}", display_path(&file)))
            .collect::<Vec<_>>()
    });
    refuse(dead_links, "links without a target");
}

#[test]
fn links_are_found_outside_of_code() {
    let text = "See [one](a.md) and [two](b.md#c).\n\n```\n[no](link.md)\n```\n`[no](code.md)`";

    assert_eq!(links(text), ["a.md", "b.md#c"]);
}

#[test]
fn anchors_are_those_of_forges() {
    assert_eq!(anchor("## What `dev` does, and why?"), "what-dev-does-and-why");
}

fn documents() -> Vec<PathBuf> {
    let mut documents = files_below(&root().join("docs"), "md");
    documents.extend(["README.md", "CHANGELOG.md"].map(|it| root().join(it)));
    documents
}

/// Returns the targets of a document's links, except in code.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        if !is_fenced {
            let prose: String = line.split('`').step_by(2).collect();
            let targets = prose.split("](").skip(1).filter_map(|it| it.split_once(')'));
            links.extend(targets.map(|(target, _)| target.to_owned()));
        }
    }
    links
}

fn has_target(file: &Path, link: &str) -> bool {
    if ["http://", "https://", "mailto:"].iter().any(|it| link.starts_with(it)) {
        return true;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { file.to_owned() } else { file.with_file_name(path) };
    target.exists() && (heading.is_empty() || has_heading(&target, heading))
}

fn has_heading(document: &Path, heading: &str) -> bool {
    read_text(document).lines().any(|it| it.starts_with('#') && anchor(it) == heading)
}

/// Returns the anchor of a heading.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let anchor_chars = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    anchor_chars.map(|it| if it == ' ' { '-' } else { it }).collect()
}
