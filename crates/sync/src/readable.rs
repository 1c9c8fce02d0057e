//! Checks that every device can read an item. A device that cannot discards
//! the response that contains it, and repeats the request for ever.

use serde_json::{Map, Value};

use crate::item::ItemRejection;

/// Maximum nesting of an item. Devices read 64 levels, of which the response
/// around it takes some.
const MAX_DEPTH: usize = 60;
/// Settings that name modes by their numbers.
const MODE_KEYED_SETTINGS: [&str; 2] = ["modeProviderDefaults", "modePersonaDefaults"];

/// Rejects fields that are nested deeper than devices read.
pub(crate) fn check_depth(fields: &Map<String, Value>) -> Result<(), ItemRejection> {
    // The item itself is the first level.
    let is_too_deep = fields.values().any(|it| is_deeper(it, MAX_DEPTH - 1));
    if is_too_deep { Err(ItemRejection::TooDeep) } else { Ok(()) }
}

/// Rejects a job whose `timeOfDay` is invalid.
pub(crate) fn check_time_of_day(fields: &Map<String, Value>) -> Result<(), ItemRejection> {
    let time = fields.get("timeOfDay").and_then(Value::as_str);
    if time.is_none_or(is_time_of_day) { Ok(()) } else { Err(ItemRejection::Unreadable) }
}

/// Rejects settings that name a mode by anything but its number.
pub(crate) fn check_modes(fields: &Map<String, Value>) -> Result<(), ItemRejection> {
    let mut maps = MODE_KEYED_SETTINGS.iter().filter_map(|it| fields.get(*it)?.as_object());
    let is_readable = maps.all(|it| it.keys().all(|mode| is_mode(mode)));
    if is_readable { Ok(()) } else { Err(ItemRejection::Unreadable) }
}

/// Returns whether a value has more than `levels` levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let inner = |it: &Value| is_deeper(it, levels.saturating_sub(1));
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inner),
        Value::Object(fields) => levels == 0 || fields.values().any(inner),
        _ => false,
    }
}

/// Returns whether a text is `HH:mm:ss` within one day, with up to seven
/// fractional digits.
fn is_time_of_day(text: &str) -> bool {
    let (time, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = time.split(':');
    let is_time = is_two_digits_below(parts.next(), 24)
        && is_two_digits_below(parts.next(), 60)
        && is_two_digits_below(parts.next(), 60)
        && parts.next().is_none();
    let is_fraction = is_digits(fraction) && (1..=7).contains(&fraction.len());
    is_time && is_fraction
}

fn is_two_digits_below(text: Option<&str>, limit: u8) -> bool {
    text.filter(|it| it.len() == 2 && is_digits(it))
        .and_then(|it| it.parse::<u8>().ok())
        .is_some_and(|it| it < limit)
}

/// Returns whether a text is the number of a mode, known or not.
fn is_mode(text: &str) -> bool {
    is_digits(text.strip_prefix('-').unwrap_or(text)) && text.parse::<i32>().is_ok()
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::channel::Channel;

    fn checked(channel: Channel, fields: &Value) -> Result<(), ItemRejection> {
        let fields = fields.as_object().unwrap();
        check_depth(fields)?;
        (channel.rules().check)(fields)
    }

    #[test]
    fn a_job_runs_at_a_time_of_the_day() {
        let check_time =
            |time: &str| checked(Channel::ScheduledJobs, &json!({ "timeOfDay": time }));

        for time in ["00:00:00", "23:59:59", "08:30:00.5", "23:59:59.9999999"] {
            assert_eq!(check_time(time), Ok(()), "{time}");
        }
        for time in [
            "",
            "8:30:00",
            "24:00:00",
            "08:60:00",
            "08:30:60",
            "08:30",
            "08:30:00.",
            "08:30:00.12345678",
            "08:30:00Z",
            "08:30:00:00",
            "-8:30:00",
            "+8:30:00",
            "soon",
            "08:30:00 ",
        ] {
            assert_eq!(check_time(time), Err(ItemRejection::Unreadable), "{time}");
        }
        assert_eq!(checked(Channel::Todos, &json!({ "timeOfDay": "soon" })), Ok(()));
    }

    #[test]
    fn modes_are_named_by_numbers() {
        for key in MODE_KEYED_SETTINGS {
            let check_mode =
                |mode: &str| checked(Channel::Settings, &json!({ key: { mode: "x" } }));

            for mode in ["0", "2", "-1", "77", "2147483647"] {
                assert_eq!(check_mode(mode), Ok(()), "{key} {mode}");
            }
            for mode in ["", "x", "-", "+1", "1.5", " 1", "2147483648", "9".repeat(99).as_str()] {
                assert_eq!(check_mode(mode), Err(ItemRejection::Unreadable), "{key} {mode}");
            }
        }
    }

    #[test]
    fn an_item_is_no_deeper_than_every_device_reads() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |it, _| json!([it]));
        let check_levels = |levels| checked(Channel::Memories, &json!({ "x": nested(levels) }));

        assert_eq!(check_levels(59), Ok(()));
        assert_eq!(check_levels(60), Err(ItemRejection::TooDeep));
        let objects = (0..60).fold(json!(1), |it, _| json!({ "x": it }));
        assert_eq!(checked(Channel::Todos, &objects), Ok(()));
        assert_eq!(checked(Channel::Todos, &json!({ "x": objects })), Err(ItemRejection::TooDeep));
    }
}
