//! Documents of offices, and emails.

use pia_knowledge::{ContentType, ExtractError};

use crate::fixtures::{archive, docx, error, file, markdown, text_of};

#[test]
fn a_word_document_has_headings_lists_and_tables() {
    let expected = "# Reisekostenrichtlinie\n\n\
        Für Dienstreisen gilt: Bahnfahrten über 300 Kilometer werden in der zweiten Klasse gebucht. Größere Ausgaben müssen vorab genehmigt werden.\n\n\
        # Übernachtungen\n\n\
        Hotels kosten höchstens 120 Euro pro Nacht.\n\n\
        - Frühstück\n\
        - Parkgebühren\n\n\
        | Stadt | Höchstbetrag |\n\
        |---|---|\n\
        | München | 150 \\| 160 |\n\
        | Zürich | 210 |\n\n\
        ## Ausnahmen\n\n\
        Keine & <niemals>.";
    assert_eq!(text_of(ContentType::Docx, "policy.docx"), expected);
}

#[test]
fn what_was_deleted_or_is_there_twice_is_left_out_of_a_word_document() {
    let document = r"<w:document><w:body><w:p><w:r><w:t>bleibt</w:t></w:r>
        <w:del><w:r><w:delText>weg</w:delText></w:r></w:del>
        <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>Kasten</w:t></w:r></w:p></mc:Choice>
        <mc:Fallback><w:p><w:r><w:t>Kasten</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>
        <w:r><w:instrText>PAGE</w:instrText></w:r></w:p></w:body></w:document>";
    assert_eq!(markdown(ContentType::Docx, &docx(document.as_bytes())), "Kasten\n\nbleibt");
}

#[test]
fn a_presentation_has_slides_with_titles_and_notes() {
    let expected = "## Slide 1: Reisekosten für alle\n\n\
        - Bahn statt Flug\n  - ab 300 Kilometern\n\n\
        Notes: Rückfragen an die Buchhaltung.\n\n\
        ## Slide 2: Höchstbeträge\n\n\
        | Stadt | Betrag |\n|---|---|\n| München | 150 |";
    assert_eq!(text_of(ContentType::Pptx, "policy.pptx"), expected);
}

#[test]
fn diagrams_are_lists() {
    let diagram = "<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>Antrag</a:t></a:r></a:p></dgm:t></dgm:pt>\
        <dgm:pt type='sibTrans'><dgm:t><a:p/></dgm:t></dgm:pt>\
        <dgm:pt><dgm:t><a:p><a:r><a:t>Freigabe</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>";
    let slide =
        "<p:sld><p:sp><p:ph type='title'/><a:p><a:r><a:t>Ablauf</a:t></a:r></a:p></p:sp></p:sld>";
    let relationship = |kind: &str, target: &str| {
        format!("<R><Relationship Id='r1' Type='x/{kind}' Target='{target}'/></R>")
    };
    let parts = [
        ("_rels/.rels", relationship("officeDocument", "ppt/presentation.xml")),
        (
            "ppt/presentation.xml",
            "<p:presentation><p:sldId r:id='r1'/></p:presentation>".to_owned(),
        ),
        ("ppt/_rels/presentation.xml.rels", relationship("slide", "slide.xml")),
        ("ppt/slide.xml", slide.to_owned()),
        ("ppt/_rels/slide.xml.rels", relationship("diagramData", "data.xml")),
        ("ppt/data.xml", diagram.to_owned()),
    ];
    let bytes = archive(parts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes())));

    let text = markdown(ContentType::Pptx, &bytes);

    assert_eq!(text, "## Slide 1: Ablauf\n\n- Antrag\n- Freigabe");
}

#[test]
fn an_email_has_its_main_headers_and_its_text_without_attachments() {
    let expected = "Subject: Änderung der Reisekosten\n\
        From: Jürgen Müller <mueller@example.com>\n\
        To: alle@example.com, Zoë <zoe@example.com>\n\
        Date: 2025-01-31T08:30:00+01:00\n\n\
        Guten Tag,\n\n\
        ab sofort gilt für Übernachtungen ein Höchstbetrag.\n\n\
        \\# kein Titel\n\
        Jürgen";
    assert_eq!(text_of(ContentType::Email, "policy.eml"), expected);
}

#[test]
fn an_email_without_plain_text_is_converted() {
    let expected = "Subject: Nur HTML\nFrom: a@example.com\n\n# Grüße\n\nAus Köln";
    assert_eq!(text_of(ContentType::Email, "html-only.eml"), expected);
}

#[test]
fn an_email_whose_text_is_encrypted_has_none() {
    let email = b"From: a@example.com\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\nMIAGCSqGSIb3DQEHA6CAMIACAQAxggHXMIIB0wIBADCB\r\n";
    assert_eq!(error(ContentType::Email, email), ExtractError::Encrypted);
}

#[test]
fn a_document_that_is_protected_by_a_password_is_encrypted() {
    let bytes = file("encrypted.docx");
    for it in [ContentType::Docx, ContentType::Pptx, ContentType::Xlsx] {
        assert_eq!(error(it, &bytes), ExtractError::Encrypted);
    }
}

#[test]
fn what_is_not_of_its_type_is_damaged() {
    let documents = [
        ("policy.pptx", ContentType::Docx),
        ("policy.docx", ContentType::Pptx),
        ("policy.docx", ContentType::Xlsx),
        ("policy.pdf", ContentType::Docx),
        ("policy.docx", ContentType::Pdf),
        ("policy.csv", ContentType::Email),
    ];
    for (name, content_type) in documents {
        assert_eq!(error(content_type, &file(name)), ExtractError::Damaged, "{name}");
    }
}

#[test]
fn a_document_that_was_cut_off_is_damaged() {
    let documents = [
        ("policy.docx", ContentType::Docx),
        ("policy.pptx", ContentType::Pptx),
        ("policy.xlsx", ContentType::Xlsx),
    ];
    for (name, content_type) in documents {
        let bytes = file(name);
        assert_eq!(error(content_type, &bytes[..bytes.len() / 2]), ExtractError::Damaged, "{name}");
    }
    assert_eq!(error(ContentType::Docx, &archive([])), ExtractError::Damaged);
}

#[test]
fn a_document_without_text_has_none() {
    let document = b"<w:document><w:body><w:p/></w:body></w:document>";
    assert_eq!(error(ContentType::Docx, &docx(document)), ExtractError::NoText);
}
