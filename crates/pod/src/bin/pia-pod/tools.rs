//! Tools of the reference pod.

use async_trait::async_trait;
use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use pia_kernel::Clock;
use pia_pod::{CallContext, Tool, ToolDescription};
use serde_json::{Value, json};

/// Current time in a time zone.
pub(crate) struct CurrentTime<C>(pub(crate) C);

#[async_trait]
impl<C: Clock + 'static> Tool for CurrentTime<C> {
    fn description(&self) -> ToolDescription {
        let parameters = json!({
            "type": "object",
            "properties": {
                "timeZone": { "type": "string", "description": "IANA name, as Europe/Berlin" },
            },
            "required": ["timeZone"],
        });

        let description = "Returns the current date and time in a time zone.";
        ToolDescription {
            idempotent: true,
            ..ToolDescription::new("current_time", description, parameters)
        }
    }

    async fn call(&self, arguments: Value, _: CallContext) -> Result<Value, String> {
        let name = text_argument(&arguments, "timeZone")?;
        let Ok(zone) = Tz::from_str_insensitive(name) else {
            return Err(format!("there is no time zone {name}"));
        };
        let time = DateTime::<Utc>::from(self.0.now()).with_timezone(&zone);
        Ok(json!({
            "time": time.to_rfc3339_opts(SecondsFormat::Secs, true),
            "weekday": time.format("%A").to_string(),
            "timeZone": zone.name(),
        }))
    }
}

/// Number of words in a text.
pub(crate) struct CountWords;

#[async_trait]
impl Tool for CountWords {
    fn description(&self) -> ToolDescription {
        let parameters = json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        });
        let description = "Counts the words, lines and characters of a text.";
        ToolDescription {
            idempotent: true,
            ..ToolDescription::new("count_words", description, parameters)
        }
    }

    async fn call(&self, arguments: Value, _: CallContext) -> Result<Value, String> {
        let text = text_argument(&arguments, "text")?;
        Ok(json!({
            "words": text.split_whitespace().count(),
            "lines": text.lines().count(),
            "characters": text.chars().count(),
        }))
    }
}

/// Returns an argument that must be a string.
fn text_argument<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, String> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("the argument {name} must be a string"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pia_kernel::Timestamp;

    use super::*;

    struct Midsummer;

    impl Clock for Midsummer {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH + Duration::from_hours(495_012)
        }
    }

    async fn call(tool: impl Tool, arguments: Value) -> Result<Value, String> {
        tool.call(arguments, CallContext::default()).await
    }

    #[tokio::test]
    async fn the_time_is_that_of_the_zone() {
        let berlin = call(CurrentTime(Midsummer), json!({ "timeZone": "europe/berlin" })).await;
        let nowhere = call(CurrentTime(Midsummer), json!({ "timeZone": "Mars/Olympus" })).await;

        let time = "2026-06-21T14:00:00+02:00";
        let expected = json!({ "time": time, "weekday": "Sunday", "timeZone": "Europe/Berlin" });
        assert_eq!(berlin, Ok(expected));
        assert_eq!(nowhere, Err("there is no time zone Mars/Olympus".to_owned()));
    }

    #[tokio::test]
    async fn words_are_counted() {
        let counted = call(CountWords, json!({ "text": "two words\nand three more" })).await;
        let missing = call(CountWords, json!({ "text": 5 })).await;

        assert_eq!(counted, Ok(json!({ "words": 5, "lines": 2, "characters": 24 })));
        assert_eq!(missing, Err("the argument text must be a string".to_owned()));
    }
}
