//! Query parameters, each at most once.

use actix_web::HttpRequest;
use actix_web::web::Query;
use pia_web::{ApiError, FieldError};

/// The parameters of a query. One that stands there twice is refused where it
/// is requested: two readers might take different ones.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(super) fn from_request(request: &HttpRequest) -> Result<Self, ApiError> {
        match Query::<Vec<(String, String)>>::from_query(request.query_string()) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(fault("", "The query string is malformed.")),
        }
    }

    pub(super) fn single(&self, name: &str) -> Result<Option<String>, ApiError> {
        let mut input = self.0.iter().filter(|(it, _)| it == name);
        match (input.next(), input.next()) {
            (first, None) => Ok(first.map(|(_, value)| value.clone())),
            _ => Err(fault(name, "Each query parameter may appear only once.")),
        }
    }
}

fn fault(field: &str, message: &str) -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: field.to_owned(),
        code: "invalid",
        message: message.to_owned(),
    }])
}
