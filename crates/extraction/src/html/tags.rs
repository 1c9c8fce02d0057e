//! Kinds of elements: void, block, heading, hidden.

use html5gum::StartTag;

/// Returns whether an element has no content and no end.
pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Returns whether an element is a paragraph of its own.
pub(super) fn is_block(name: &str) -> bool {
    heading_level(name).is_some()
        || matches!(
            name,
            "address"
                | "article"
                | "aside"
                | "blockquote"
                | "body"
                | "caption"
                | "center"
                | "dd"
                | "details"
                | "div"
                | "dl"
                | "dt"
                | "fieldset"
                | "figcaption"
                | "figure"
                | "footer"
                | "form"
                | "header"
                | "hr"
                | "html"
                | "legend"
                | "li"
                | "main"
                | "ol"
                | "p"
                | "pre"
                | "section"
                | "summary"
                | "table"
                | "ul"
        )
}

/// Returns the level of a heading.
pub(super) fn heading_level(name: &str) -> Option<usize> {
    match name {
        "h1" => Some(1),
        "h2" => Some(2),
        "h3" => Some(3),
        "h4" => Some(4),
        "h5" => Some(5),
        "h6" => Some(6),
        _ => None,
    }
}

/// Returns whether an element is not shown, or is no text.
pub(super) fn is_hidden(name: &str, tag: &StartTag<()>) -> bool {
    let is_no_text = matches!(
        name,
        "audio"
            | "button"
            | "canvas"
            | "datalist"
            | "iframe"
            | "math"
            | "nav"
            | "noframes"
            | "noscript"
            | "object"
            | "script"
            | "select"
            | "style"
            | "svg"
            | "template"
            | "textarea"
            | "video"
    );

    is_no_text
        || (name == "dialog" && attribute(tag, "open").is_none())
        || attribute(tag, "hidden").is_some()
        || attribute(tag, "aria-hidden").is_some_and(|it| it.eq_ignore_ascii_case("true"))
        || attribute(tag, "style").is_some_and(|it| hides(&it))
}

/// Returns the value of an attribute.
pub(super) fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn hides(style: &str) -> bool {
    let compact: String =
        style.chars().filter(|it| !it.is_whitespace()).map(|it| it.to_ascii_lowercase()).collect();
    ["display:none", "visibility:hidden"].iter().any(|it| compact.contains(it))
}
