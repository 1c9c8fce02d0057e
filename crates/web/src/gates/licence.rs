//! Licence of the server, and the features that it includes.

use actix_web::http::{Method, StatusCode};
use pia_identity::Role;
use pia_policy::Licensed;

use super::Gates;
use crate::ApiError;
use crate::routes::{Access, Licensing, Route};

impl Gates {
    /// Returns whether the licence includes the feature of the route that a request
    /// with this method and path reaches.
    pub fn includes_feature_of(&self, method: &Method, path: &str) -> bool {
        self.find_route(method, path).is_none_or(|it| self.check_feature(it).is_ok())
    }

    /// Checks that the licence permits a request with this method and path.
    pub fn check_licence_of(&self, method: &Method, path: &str) -> Result<(), ApiError> {
        let Some(route) = self.find_route(method, path) else { return Ok(()) };
        self.check_licence(route.licensing)?;
        self.check_feature(route)
    }

    /// Returns whether a request with this method and path reaches a page, or a form, that is
    /// open to administrators only.
    pub fn is_for_administrators(&self, method: &Method, path: &str) -> bool {
        let route = self.find_route(method, path);
        route.is_some_and(|it| it.access == Access::ConsolePage(&[Role::Admin]))
    }

    /// Checks that the licence permits what a route, or a part of it, requires.
    pub fn check_licence(&self, required: Licensing) -> Result<(), ApiError> {
        if required == Licensing::NotNeeded {
            return Ok(());
        }

        let state = self.licence.get();
        match (state.at(self.clock.now()), required) {
            (Licensed::Not, _) => {
                let message = "This server has no licence yet. Its operator must install one.";
                Err(ApiError::refused(StatusCode::FORBIDDEN, "no_license", message)
                    .with("setupUrl", self.setup_url.as_str()))
            }
            (Licensed::Expired(_), Licensing::InForce) => {
                let message = "The server's licence has ended: until it is renewed, data can be \
                               read but not changed.";
                Err(ApiError::refused(StatusCode::FORBIDDEN, "license_expired", message))
            }
            (Licensed::Expired(_) | Licensed::Valid(_), _) => Ok(()),
        }
    }

    fn find_route(&self, method: &Method, path: &str) -> Option<&Route> {
        self.table.iter().find(|it| it.method == *method && it.matches(path))
    }

    pub(super) fn check_feature(&self, route: &Route) -> Result<(), ApiError> {
        match route.feature {
            Some(feature) if !self.licence.get().includes(feature, self.clock.now()) => {
                Err(ApiError::not_licensed(feature))
            }
            _ => Ok(()),
        }
    }
}
