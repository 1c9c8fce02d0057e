//! Forms of a page that the licence does not permit.

use std::mem;

use pia_identity::Role;

use crate::auth::notice::LICENCE_EXPIRED;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::form::{FieldControl, Form};
use crate::ui::view::{Fact, Link, Notice, SectionPart, View};
use crate::ui::{Cell, Field};

/// Removes the forms that the licence does not permit. A sentence takes the place of a form whose
/// feature is not licensed. After the end of the licence, the values of a form remain, and one
/// notice above the page replaces the sentences.
pub(crate) fn omit_forms(page: &PageContext, view: &mut View) {
    let mut has_expired = false;
    view.sections.retain_mut(|section| {
        let parts = mem::take(&mut section.parts);
        let was_empty = parts.is_empty();
        for part in parts {
            section.parts.extend(permitted_parts(page, part, &mut has_expired));
        }
        was_empty || !section.parts.is_empty()
    });

    if has_expired && view.notice.is_none() {
        let link = Link {
            label: page.t(common::RENEW_LICENCE).to_owned(),
            path: "admin/licence".to_owned(),
        };
        let is_admin = page.caller.role == Role::Admin;
        let link = is_admin.then_some(link);
        view.notice = Some(Notice { link, ..Notice::new(page.t(common::LICENCE_EXPIRED)) });
    }
}

/// Returns the parts in place of one, which are itself if the licence permits its forms.
fn permitted_parts(
    page: &PageContext,
    part: SectionPart,
    has_expired: &mut bool,
) -> Vec<SectionPart> {
    match part {
        SectionPart::Form(form) => match page.licence_refusal(&form.action) {
            None => vec![SectionPart::Form(form)],
            Some(LICENCE_EXPIRED) => {
                *has_expired = true;
                stored_values(&form)
            }
            Some(_) => vec![SectionPart::Paragraph(page.t(common::NOT_LICENSED).to_owned())],
        },
        SectionPart::Table(mut table) => {
            for row in &mut table.rows {
                row.forms.retain(|form| {
                    let refusal = page.licence_refusal(&form.action);
                    *has_expired |= refusal == Some(LICENCE_EXPIRED);
                    refusal.is_none()
                });
            }
            vec![SectionPart::Table(table)]
        }
        other => vec![other],
    }
}

/// Returns the values of a form that changes an entry, to be read. The form of a new entry, whose
/// required fields are empty, has none.
fn stored_values(form: &Form) -> Vec<SectionPart> {
    if form.fields.iter().any(|it| it.is_required && it.display_value().is_empty()) {
        return Vec::new();
    }

    let mut facts = Vec::new();
    let mut texts = Vec::new();
    for field in form.fields.iter().filter(|it| is_readable(it)) {
        let label = field.label.clone();
        let value = field.display_value();
        if matches!(field.control, FieldControl::Lines { .. }) && !value.is_empty() {
            texts.extend([SectionPart::Paragraph(label), SectionPart::Code(value)]);
        } else {
            facts.push(Fact { label, value: Cell::text(value) });
        }
    }

    let facts = (!facts.is_empty()).then_some(SectionPart::Facts(facts));
    facts.into_iter().chain(texts).collect()
}

/// Returns whether a field has a value to be read. Passwords and files are never sent back.
fn is_readable(field: &Field) -> bool {
    !matches!(
        field.control,
        FieldControl::Hidden(_)
            | FieldControl::File(_)
            | FieldControl::Input { kind: "password", .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_an_entry_stay_readable_without_its_secrets() {
        let form = Form::new("admin/personas/1", "Save changes")
            .field(Field::text("name", "Name", "Sales"))
            .field(Field::select("mode", "Mode", [("a", "Chat"), ("b", "Code")], "b"))
            .field(Field::password("key", "Key", "new-password").optional())
            .field(Field::lines("prompt", "Prompt", "Be\nbrief").optional())
            .hidden("version", "1");

        let parts = stored_values(&form);

        let [SectionPart::Facts(facts), SectionPart::Paragraph(label), SectionPart::Code(text)] =
            parts.as_slice()
        else {
            panic!("other parts");
        };
        let values: Vec<_> = facts.iter().map(|it| it.value.text.as_str()).collect();
        assert_eq!(values, ["Sales", "Code"]);
        assert_eq!((label.as_str(), text.as_str()), ("Prompt", "Be\nbrief"));
    }

    #[test]
    fn the_form_of_a_new_entry_has_no_values() {
        let form = Form::new("admin/groups", "Create group")
            .field(Field::text("name", "Name", ""))
            .field(Field::text("days", "Days", "7"));

        assert!(stored_values(&form).is_empty());
    }
}
