//! Query parameters, each at most once.

use actix_web::HttpRequest;
use actix_web::web::Query;
use pia_web::{ApiError, FieldError};

/// Parameters of a query. A repeated one is refused when it is read: two
/// readers might use different values.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(super) fn from_request(request: &HttpRequest) -> Result<Self, ApiError> {
        match Query::<Vec<(String, String)>>::from_query(request.query_string()) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(invalid("", "The query string is malformed.")),
        }
    }

    pub(super) fn single(&self, name: &str) -> Result<Option<String>, ApiError> {
        let mut values = self.0.iter().filter(|(it, _)| it == name);
        match (values.next(), values.next()) {
            (first, None) => Ok(first.map(|(_, value)| value.clone())),
            _ => Err(invalid(name, "Each query parameter may appear only once.")),
        }
    }
}

fn invalid(field: &str, message: &str) -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: field.to_owned(),
        code: "invalid",
        message: message.to_owned(),
    }])
}
