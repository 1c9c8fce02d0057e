//! PDF.

use pia_knowledge::{ContentType, ExtractError};

use crate::fixtures::{error, file, markdown, pdf, text_of};

#[test]
fn a_pdf_has_headings_paragraphs_and_columns() {
    let expected = "# Reisekostenrichtlinie\n\n\
        Für Dienstreisen gilt: Bahnfahrten über 300 Kilometer werden in der zweiten Klasse gebucht.\n\
        Größere Ausgaben müssen vorab genehmigt werden.\n\n\
        ## Übernachtungen\n\n\
        Hotels kosten höchstens 120 Euro pro Nacht.\n\
        Stadt\tHöchstbetrag\tWährung\n\
        München\t150\tEUR\n\
        Zürich\t210\tCHF\n\n\
        Zweite Seite: Äpfel & Öl.";
    assert_eq!(text_of(ContentType::Pdf, "policy.pdf"), expected);
    // Encrypted, but with an empty password.
    assert_eq!(text_of(ContentType::Pdf, "owner.pdf"), expected);
}

#[test]
fn a_pdf_with_an_embedded_font_is_read() {
    let text = text_of(ContentType::Pdf, "embedded.pdf");
    assert_eq!(text, "Łódź und “Zürich” – 5 €, Größe");
}

#[test]
fn a_pdf_that_is_protected_by_a_password_is_encrypted() {
    assert_eq!(error(ContentType::Pdf, &file("encrypted.pdf")), ExtractError::Encrypted);
}

#[test]
fn a_pdf_that_was_scanned_has_no_text() {
    assert_eq!(error(ContentType::Pdf, &file("scanned.pdf")), ExtractError::NoText);
}

#[test]
fn what_is_no_pdf_is_damaged() {
    assert_eq!(error(ContentType::Pdf, b"%PDF-1.7\nnothing"), ExtractError::Damaged);
    assert_eq!(error(ContentType::Pdf, b""), ExtractError::Damaged);
}

#[test]
fn what_is_outside_of_the_page_is_left_out() {
    let content = "BT /F 12 Tf 50 700 Td (Oben) Tj 0 -400 Td (Unten) Tj ET";

    let lower_part = markdown(ContentType::Pdf, &pdf("/CropBox[0 0 600 400]", content));
    let empty_part = markdown(ContentType::Pdf, &pdf("/CropBox[0 0 0 0]", content));

    assert_eq!(lower_part, "Unten");
    // An empty box is invalid, and is ignored.
    assert_eq!(empty_part, "Oben\n\nUnten");
}

#[test]
fn what_is_drawn_twice_to_be_bold_is_read_once() {
    let content = "BT /F 12 Tf 50 700 Td (Fette Allee) Tj 0.4 0 Td (Fette Allee) Tj \
        0 -100 Td (Fette Allee) Tj ET";
    let text = markdown(ContentType::Pdf, &pdf("", content));
    assert_eq!(text, "Fette Allee\n\nFette Allee");
}

#[test]
fn letters_that_are_drawn_from_right_to_left_are_a_word() {
    let content = "BT /F 12 Tf 1 0 0 1 122 700 Tm (t) Tj 1 0 0 1 118 700 Tm (r) Tj \
        1 0 0 1 111.3 700 Tm (o) Tj 1 0 0 1 100 700 Tm (W) Tj ET";
    assert_eq!(markdown(ContentType::Pdf, &pdf("", content)), "Wort");
}
