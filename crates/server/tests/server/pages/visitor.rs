//! Browser without a script that signs in to the pages, and the accounts that it
//! signs in to.

use pia_identity::Role;
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};

use super::{FORM, HTML, form};

/// Address of the administrator of [`start_with_admin`].
pub(super) const ADA: &str = "ada@example.org";

/// Browser that signed in with a form, without a script.
pub(super) struct Visitor<'a> {
    app: &'a TestApp,
    pub(super) cookie: String,
}

impl<'a> Visitor<'a> {
    /// Signs in at the sign-in page of a folder: `admin`, `account`.
    pub(super) async fn sign_in(app: &'a TestApp, folder: &str, email: &str) -> Self {
        let answer = sign_in(app, folder, &[("email", email), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("a cookie").split(';').next();
        Self { app, cookie: cookie.expect("a value").to_owned() }
    }

    pub(super) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], "").await
    }

    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TestResponse {
        self.send("POST", path, &[&[FORM][..], headers].concat(), body).await
    }

    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TestResponse {
        let own = [HTML, ("cookie", self.cookie.as_str())];
        let headers = [&own[..], headers].concat();
        self.app.anonymous().send(method, path, &headers, body.as_bytes()).await
    }

    /// Sends a form with this CSRF token as a browser sends one with files.
    pub(super) async fn upload(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TestResponse {
        let token = body.strip_prefix("csrfToken=").unwrap_or_default();
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"csrfToken\"\r\n\r\n{token}\r\n--b--\r\n"
        );
        let multipart = [("content-type", "multipart/form-data; boundary=b")];
        self.send("POST", path, &[&multipart[..], headers].concat(), &body).await
    }

    /// Sends a form of a page with its CSRF token.
    pub(super) async fn submit(&self, path: &str) -> TestResponse {
        let body = form(&[("csrfToken", &self.csrf_token().await)]);
        self.post(path, &[], &body).await
    }

    /// Returns the CSRF token of a page's forms.
    pub(super) async fn csrf_token(&self) -> String {
        let page = self.get("/account").await;
        let text = page.text();
        let (_, after) = text.split_once("name=\"csrfToken\" value=\"").expect("a form");
        after.split('"').next().expect("a value").to_owned()
    }
}

pub(super) async fn sign_in(app: &TestApp, folder: &str, fields: &[(&str, &str)]) -> TestResponse {
    let body = form(fields);
    let path = format!("/{folder}/sign-in");
    app.anonymous().send("POST", &path, &[FORM, HTML], body.as_bytes()).await
}

/// Starts a server that requires no second factor, with an administrator.
pub(super) async fn start_with_admin(config: TestConfig) -> TestApp {
    let app = config.with("Admin:RequireSecondFactor", false).start().await;
    app.sign_up(ADA).await;
    app.admin(&format!("grant {ADA} --role admin")).await.expect("a role");
    app
}

/// Creates an account with a role. Returns its address.
pub(super) async fn sign_up_with_role(app: &TestApp, role: Role) -> String {
    let email = format!("{}@example.org", role.name());
    app.sign_up(&email).await;
    app.admin(&format!("grant {email} --role {}", role.name())).await.expect("a role");
    email
}
