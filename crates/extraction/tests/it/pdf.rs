//! PDF.

use pia_knowledge::{ContentType, ExtractError};

use crate::fixtures::{error, file, text_of};

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
