//! Sums of usage as a CSV file.
//!
//! Columns depend on the grouping: sums by user have no details. A field that
//! begins like a formula is escaped, since the file is opened in spreadsheets and
//! contains names that users chose.

use pia_assistant::{Micros, UsageDetails, UsageGrouping, UsageSubject, UsageSum};

/// Returns the sums as CSV (RFC 4180), with a header.
pub(super) fn usage_csv(by: UsageGrouping, sums: &[UsageSum]) -> String {
    let subject_columns: &[&str] = match by {
        UsageGrouping::Day => &["day"],
        UsageGrouping::Group => &["groupId", "groupName"],
        UsageGrouping::Model => &["provider", "model"],
        UsageGrouping::User => &["userId", "email"],
    };

    let detail_columns: &[&str] = match by {
        UsageGrouping::User => &[],
        _ => &["failed", "inputTokens", "cachedInputTokens", "outputTokens", "meanMillis"],
    };

    let mut csv = String::new();
    push_line(&mut csv, [subject_columns, &["calls", "credits"], detail_columns].concat());

    for sum in sums {
        let mut fields = subject_fields(&sum.subject);
        fields.extend([sum.calls.to_string(), format_credits(sum.spent)]);
        if let Some(details) = sum.details {
            fields.extend(detail_fields(details));
        }

        push_line(&mut csv, &fields);
    }

    csv
}

fn subject_fields(subject: &UsageSubject) -> Vec<String> {
    match subject {
        UsageSubject::Day(day) => vec![day.to_string()],
        UsageSubject::Group { id, name } => vec![id.to_string(), name.clone().unwrap_or_default()],
        UsageSubject::Model { provider, name } => vec![provider.clone(), name.clone()],
        UsageSubject::User { id, email } => vec![id.to_string(), email.clone().unwrap_or_default()],
    }
}

fn detail_fields(details: UsageDetails) -> [String; 5] {
    let mean_millis = details.mean_millis().map(|it| it.to_string()).unwrap_or_default();
    [
        details.failed.to_string(),
        details.input_tokens.to_string(),
        details.cached_input_tokens.to_string(),
        details.output_tokens.to_string(),
        mean_millis,
    ]
}

/// Formats credits with their six decimals.
fn format_credits(spent: Micros) -> String {
    format!("{}.{:06}", spent.rounded_down(), spent.0.rem_euclid(1_000_000))
}

fn push_line<T: AsRef<str>>(csv: &mut String, fields: impl IntoIterator<Item = T>) {
    let formatted: Vec<_> = fields.into_iter().map(|it| format_field(it.as_ref())).collect();
    csv.push_str(&formatted.join(","));
    csv.push_str("\r\n");
}

/// Formats a field. A text that a spreadsheet would take for a formula gets an
/// apostrophe: names come from other people.
fn format_field(text: &str) -> String {
    // Spreadsheets of some languages separate cells at a semicolon.
    let cells: Vec<_> = text
        .split(';')
        .map(|it| if is_formula(it) { format!("'{it}") } else { it.to_owned() })
        .collect();
    let field = cells.join(";");
    if field.contains([',', ';', '"', '\r', '\n']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }

    field
}

fn is_formula(cell: &str) -> bool {
    cell.starts_with(['\t', '\r', '\n']) || cell.trim_start().starts_with(['=', '+', '-', '@'])
}

#[cfg(test)]
mod tests {
    use pia_kernel::{GroupId, UserId};
    use uuid::Uuid;

    use super::*;

    fn sum(subject: UsageSubject, details: Option<UsageDetails>) -> UsageSum {
        UsageSum { subject, calls: 3, spent: Micros(2_000_070), details, users: None }
    }

    #[test]
    fn formulas_become_texts() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            (" @SUM(A1)", "' @SUM(A1)"),
            ("\tSales", "'\tSales"),
            ("\nSales", "\"'\nSales\""),
            ("Sales;=1+1", "\"Sales;'=1+1\""),
            ("1=1", "1=1"),
            ("Sales", "Sales"),
            ("", ""),
        ] {
            assert_eq!(format_field(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_cannot_be_formulas_or_end_their_field() {
        let details = UsageDetails {
            failed: 1,
            input_tokens: 9,
            cached_input_tokens: 2,
            output_tokens: 5,
            timed_calls: 2,
            duration_millis: 3001,
        };
        let group = |name: &str| {
            let subject =
                UsageSubject::Group { id: GroupId(Uuid::nil()), name: Some(name.to_owned()) };
            sum(subject, Some(details))
        };
        let untimed = UsageSum { details: Some(UsageDetails::default()), ..group("Einkauf") };
        let sums = [group("=1+1"), group("a, \"b\""), group("Vertrieb"), untimed];

        let csv = usage_csv(UsageGrouping::Group, &sums);

        let id = Uuid::nil();
        let expected = [
            "groupId,groupName,calls,credits,failed,inputTokens,cachedInputTokens,outputTokens,\
             meanMillis",
            &format!("{id},'=1+1,3,2.000070,1,9,2,5,1500"),
            &format!("{id},\"a, \"\"b\"\"\",3,2.000070,1,9,2,5,1500"),
            &format!("{id},Vertrieb,3,2.000070,1,9,2,5,1500"),
            &format!("{id},Einkauf,3,2.000070,0,0,0,0,"),
            "",
        ];
        assert_eq!(csv, expected.join("\r\n"));
    }

    #[test]
    fn users_have_no_details() {
        let subject = UsageSubject::User { id: UserId(Uuid::nil()), email: None };

        let csv = usage_csv(UsageGrouping::User, &[sum(subject, None)]);

        let row = format!("{},,3,2.000070\r\n", Uuid::nil());
        assert_eq!(csv, format!("userId,email,calls,credits\r\n{row}"));
    }
}
