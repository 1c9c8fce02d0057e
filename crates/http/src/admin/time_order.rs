//! Order of lists by time, as queries name it: `?sort=created`.

use pia_kernel::TimeOrder;
use pia_web::{ApiError, FieldError};

/// Parses an order; without one, the newest entry is the first.
pub(super) fn parse_order(sort: Option<&str>) -> Result<TimeOrder, ApiError> {
    match sort {
        None | Some("-created") => Ok(TimeOrder::Newest),
        Some("created") => Ok(TimeOrder::Oldest),
        Some(_) => {
            let field = "sort".to_owned();
            let message = "Choose one of created, -created.".to_owned();
            Err(ApiError::invalid(vec![FieldError { field, code: "unknown", message }]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_that_of_the_console() {
        for (sort, expected) in [
            (None, Some(TimeOrder::Newest)),
            (Some("-created"), Some(TimeOrder::Newest)),
            (Some("created"), Some(TimeOrder::Oldest)),
            (Some("oldest"), None),
        ] {
            assert_eq!(parse_order(sort).ok(), expected, "{sort:?}");
        }
    }
}
