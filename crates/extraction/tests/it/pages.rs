//! Web pages, and texts.

use pia_extraction::extract_here;
use pia_knowledge::{ContentType, ExtractError};

use crate::fixtures::{error, markdown, text_of};

fn page(html: &str) -> String {
    markdown(ContentType::Html, html.as_bytes())
}

#[test]
fn a_page_is_its_main_text_with_headings_lists_and_tables() {
    let expected = "# Reisekosten\u{ad}richtlinie\n\n\
        Für Dienstreisen gilt:\nsiehe Übersicht.\n\n\
        ## Übernachtungen\n\n\
        - Frühstück\n- Parkgebühren\n  1. Kurz\n  2. Lang\n\n\
        | Stadt | Betrag |\n|---|---|\n| München | 150 |\n\n\
        ```\neins\n  zwei\n```";
    assert_eq!(text_of(ContentType::Html, "policy.html"), expected);
}

#[test]
fn a_page_without_a_main_element_is_extracted_below_its_title() {
    let html = "<title>Titel</title><header>Kopf</header><p>Eins<p hidden>Zwei<p>Drei\
        <div aria-hidden=true>Vier</div><script>Fünf</script><svg><title>Sechs</title></svg>\
        <noscript>Sieben</noscript><template>Acht</template><img alt='Ein Bild'>";
    assert_eq!(page(html), "# Titel\n\nKopf\n\nEins\n\nDrei\n\nEin Bild");
}

#[test]
fn a_table_that_arranges_texts_is_these_texts() {
    let html = "<table><tr><td><h2>Links</h2><p>eins</p></td><td><table><tr><td>a<td>b\
        <tr><td>1<td>2</table></td></tr></table>";
    assert_eq!(page(html), "## Links\n\neins\n\n| a | b |\n|---|---|\n| 1 | 2 |");
}

#[test]
fn text_of_a_page_does_not_become_markdown() {
    assert_eq!(page("<p># kein Titel<p>Text<br>---<br>Ende"), "\\# kein Titel\n\nText\nEnde");
}

#[test]
fn a_page_is_read_in_the_encoding_that_it_declares() {
    let script = format!("<script charset=utf-8>{}</script>", " ".repeat(2_000));
    for declaration in [
        "<meta http-equiv=content-type content='text/html; charset=iso-8859-15'>",
        "<meta content=text/html; charset = iso-8859-15 http-equiv=Content-Type>",
        "<?xml version='1.0' encoding='iso-8859-15'?>",
        &format!("{script}<meta charset=\"iso-8859-15\">"),
    ] {
        let html = [declaration.as_bytes(), b"<p>Gr\xf6\xdfe 5 \xa4"].concat();
        assert_eq!(markdown(ContentType::Html, &html), "Größe 5 €", "{declaration}");
    }
}

#[test]
fn a_page_without_text_has_none() {
    assert_eq!(
        error(ContentType::Html, b"<img src=a.png><script>x</script>"),
        ExtractError::NoText
    );
}

#[test]
fn a_text_is_left_as_it_is_without_its_byte_order_mark() {
    let text = extract_here(ContentType::Text, "\u{feff}# Größe\n".as_bytes()).unwrap();
    assert_eq!(text.text, "# Größe\n");
    assert!(!text.is_markdown);
    let text = extract_here(ContentType::Markdown, "# Größe\n".as_bytes()).unwrap();
    assert!(text.is_markdown);
    assert_eq!(error(ContentType::Text, b"Gr\xf6\xdfe"), ExtractError::Damaged);
}
