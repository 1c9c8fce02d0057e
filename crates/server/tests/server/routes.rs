//! Tests of the route table, against an independent list of its rows.

use pia_identity::Role;
use pia_server_testkit::client::Client;
use pia_server_testkit::console::{Console, scim_client};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Licensing, OpenApiDocument,
    RateLimit, Route,
};
use serde_json::Value;

/// All routes: the required access and licence, and the rate limit. A new route
/// must be added here too.
const EXPECTED: &str = "
    GET  /health                   anyone    unlicensed health
    GET  /ready                    anyone    unlicensed free
    GET  /metrics                  operator  unlicensed free
    GET  /api/capabilities         anyone    ended      global
    GET  /openapi/v1.json          anyone    ended      global
    GET  /kb/{documentId}          signed-in ended      global   Knowledge
    POST /mcp                      signed-in ended      global   Knowledge
    GET  /api/e2ee/status          signed-in ended      global
    POST /api/e2ee/devices/register  signed-in  licensed  global  E2EE
    GET  /api/e2ee/devices         signed-in ended      global   E2EE
    GET  /api/e2ee/devices/{deviceId}/status  signed-in  ended  global  E2EE
    POST /api/e2ee/devices/approve  signed-in  licensed  global  E2EE
    POST /api/e2ee/devices/{deviceId}/revoke  signed-in  ended  global  E2EE
    GET  /api/e2ee/devices/{deviceId}/wrapped-umk  signed-in  ended  global  E2EE
    POST /api/e2ee/devices/{deviceId}/wrapped-umk  signed-in  licensed  global  E2EE
    GET  /api/e2ee/recovery/wrapped-umk  signed-in  ended  global  E2EE
    POST /api/e2ee/recovery/wrapped-umk  signed-in  licensed  global  E2EE
    PUT  /api/e2ee/recovery/proof-key  signed-in  licensed  global  E2EE
    POST /api/e2ee/recovery/activate  signed-in  licensed  global  E2EE
    POST /auth/register            anyone    licensed   auth
    POST /auth/login/local         anyone    ended      local-auth
    POST /auth/login/mfa           anyone    ended      local-auth
    POST /auth/mfa/totp/begin      owner     ended      global
    POST /auth/mfa/totp/verify     owner     ended      global
    POST /auth/mfa/disable         owner     ended      global
    POST /auth/mfa/recovery-codes/regenerate  owner     ended  global
    POST /auth/webauthn/register/begin     owner  ended  global
    POST /auth/webauthn/register/complete  owner  ended  global
    GET  /auth/webauthn/credentials        owner  ended  global
    PATCH /auth/webauthn/credentials/{id} owner    ended      global
    DELETE /auth/webauthn/credentials/{id} owner  ended  global
    POST /auth/webauthn/login/begin     anyone  ended  local-auth
    POST /auth/webauthn/login/complete  anyone  ended  local-auth
    GET  /auth/login               anyone    ended      auth     OAuth
    GET  /auth/callback            anyone    ended      auth     OAuth
    POST /auth/token               anyone    ended      auth     OAuth
    POST /auth/refresh             anyone    ended      auth
    POST /auth/logout              anyone    ended      auth
    GET  /auth/me                  signed-in ended      auth
    POST /auth/business-profile    signed-in licensed   auth
    POST /auth/forgot-password     anyone    ended      auth
    POST /auth/reset-password      anyone    ended      auth
    POST /auth/password            owner     ended      auth
    GET  /auth/verify-email        anyone    ended      auth
    POST /auth/resend-verification anyone    ended      auth
    POST /api/auth/register        anyone    licensed   auth
    POST /api/auth/login           anyone    ended      local-auth
    GET  /auth/sessions            signed-in ended      global
    POST /auth/sessions/revoke-others  owner     ended  global
    DELETE /auth/sessions/{sessionId}  owner     ended  global
    GET  /auth/app-passwords       owner     ended      global
    POST /auth/app-passwords       owner     licensed   global
    DELETE /auth/app-passwords/{appPasswordId}  owner  ended  global
    GET  /auth/api-keys            owner     ended      global
    POST /auth/api-keys            owner     licensed   global
    DELETE /auth/api-keys/{apiKeyId}  owner  ended      global
    GET  /auth/login-history       signed-in ended      global
    GET  /auth/mfa                 signed-in ended      global
    GET  /auth/account             signed-in  ended      global
    GET  /auth/account/export      owner     ended      global
    POST /auth/account/delete      leaver    ended      global
    GET  /api/ai/status            signed-in ended      global   AiProxy
    GET  /api/ai/templates         signed-in ended      global   AiProxy
    GET  /api/ai/credits           signed-in ended      global   AiProxy
    GET  /api/ai/models            signed-in ended      global   AiProxy
    GET  /api/ai/models/{model}    signed-in ended      global   AiProxy
    POST /api/ai/generate-prompt   signed-in licensed   ai       AiProxy
    POST /api/ai/optimize          signed-in licensed   ai       AiProxy
    POST /api/ai/chat              signed-in licensed   ai       AiProxy
    POST /api/ai/chat/completions  signed-in licensed   ai       AiProxy
    GET  /v1/models                signed-in ended      global   AiProxy
    GET  /v1/models/{model}        signed-in ended      global   AiProxy
    POST /v1/chat/completions      signed-in licensed   ai       AiProxy
    GET  /api/ai/v1/models         signed-in ended      global   AiProxy
    GET  /api/ai/v1/models/{model} signed-in ended      global   AiProxy
    POST /v1/responses             signed-in licensed   ai       AiProxy
    POST /api/ai/v1/responses      signed-in licensed   ai       AiProxy
    POST /v1/embeddings            signed-in licensed   ai       AiProxy
    POST /api/ai/v1/embeddings     signed-in licensed   ai       AiProxy
    POST /api/ai/v1/chat/completions signed-in licensed ai       AiProxy
    GET  /api/sync/pull            signed-in ended      sync     Sync
    POST /api/sync/push            signed-in licensed   sync     Sync
    GET  /api/sync/status          signed-in ended      sync     Sync
    GET  /api/sync/events          signed-in ended      sync     Sync
    GET  /api/sync/quota           signed-in ended      sync     Sync
    GET  /api/sync/debug-state     signed-in ended      sync     Sync
    DELETE /api/sync/reset         owner    licensed   sync     Sync
    GET  /api/v1/chats             signed-in ended      sync     Sync
    GET  /api/v1/chats/{id}        signed-in ended      sync     Sync
    PUT  /api/v1/chats/{id}        signed-in licensed   sync     Sync
    DELETE /api/v1/chats/{id}      signed-in licensed   sync     Sync
    GET  /api/conversations        signed-in ended      sync     Sync
    POST /api/conversations/sync   signed-in licensed   sync     Sync
    GET  /                         anyone    ended      global
    GET  /admin/setup              anyone    unlicensed global
    GET  /admin/setup/style.css    anyone    unlicensed global
    GET  /admin/setup/icon.svg     anyone    unlicensed global
    POST /admin/setup              anyone    unlicensed auth
    POST /admin/setup/license      anyone    unlicensed auth
    POST /admin/setup/administrator  anyone  licensed   auth
    GET  /auth/style.css           anyone    unlicensed global
    GET  /auth/icon.svg            anyone    unlicensed global
    GET  /favicon.ico              anyone    unlicensed global
    GET  /auth/register.html       anyone    ended      global
    POST /auth/register.html       anyone    licensed   auth
    GET  /auth/forgot-password.html  anyone  ended      global
    POST /auth/forgot-password.html  anyone  ended      auth
    GET  /auth/resend-verification.html  anyone  ended  global
    POST /auth/resend-verification.html  anyone  ended  auth
    GET  /auth/reset-password.html  anyone   ended      global
    POST /auth/reset-password.html  anyone   ended      auth
    GET  /auth/verify-email.html   anyone    ended      global
    POST /auth/verify-email.html   anyone    ended      auth
    GET  /auth/error               anyone    ended      global
    POST /admin/login              anyone    ended      local-auth
    POST /admin/logout             console   ended      global
    GET  /api/admin/session        console   ended      global
    POST /api/admin/session/proof  console   ended      global
    GET  /api/admin/openapi.json   console   ended      global
    GET  /api/admin/problems       admins    ended      global
    GET  /api/admin/maintenance    admins    ended      global
    GET  /api/admin/devices        admins    ended      global
    GET  /api/admin/client-policies              admins  ended     global
    GET  /api/admin/client-policies/{id}         admins  ended     global
    GET  /api/admin/client-policies/{id}/groups  admins  ended     global
    POST /api/admin/client-policies              admins  licensed  global  GroupManagement
    PUT  /api/admin/client-policies/{id}         admins  licensed  global  GroupManagement
    DELETE /api/admin/client-policies/{id}       admins  licensed  global  GroupManagement
    GET  /api/admin/client-policies/{id}/versions  admins  ended   global
    GET  /api/admin/client-policies/{id}/versions/{number}  admins  ended  global
    GET  /api/admin/client-policies/{id}/versions/{number}/comparison  admins  ended  global
    POST /api/admin/client-policies/{id}/versions/{number}/restore  admins  licensed  global  GroupManagement
    GET  /api/admin/groups/{id}/client-policy    group-managers  ended     global
    PUT  /api/admin/groups/{id}/client-policy    admins  licensed  global  GroupManagement
    GET  /api/admin/groups                       admins  ended     global
    GET  /api/admin/groups/{id}                  group-managers  ended     global
    POST /api/admin/groups                       admins  licensed  global  GroupManagement
    PUT  /api/admin/groups/{id}                  admins  licensed  global  GroupManagement
    DELETE /api/admin/groups/{id}                admins  licensed  global  GroupManagement
    GET  /api/admin/groups/{id}/settings         group-managers  ended     global
    PATCH /api/admin/groups/{id}/settings        admins  licensed  global  GroupManagement
    GET  /api/admin/groups/{id}/credits          group-managers  ended     global
    POST /api/admin/groups/{id}/top-ups          admins  licensed  global
    PUT  /api/admin/users/{id}/group             admins  licensed  global  GroupManagement
    POST /api/ai-feedback          signed-in ended      feedback
    GET  /api/admin/ai-feedback                  admins  ended     global
    GET  /api/admin/ai-feedback/{id}             admins  ended     global
    PATCH /api/admin/ai-feedback/{id}            admins  licensed  global
    GET  /api/certificates/trusted signed-in ended      global
    GET  /api/plugins/{pluginId}/cab   signed-in  ended  global
    GET  /api/plugins/{pluginId}/icon  signed-in  ended  global
    GET  /api/admin/plugins                      admins  ended     global
    GET  /api/admin/plugins/{id}                 admins  ended     global
    GET  /api/admin/plugins/{id}/groups          admins  ended     global
    POST /api/admin/plugins                      admins  licensed  global  GroupManagement
    PUT  /api/admin/plugins/{id}                 admins  licensed  global  GroupManagement
    DELETE /api/admin/plugins/{id}               admins  licensed  global  GroupManagement
    PUT  /api/admin/plugins/{id}/groups          admins  licensed  global  GroupManagement
    PUT  /api/admin/plugins/{id}/package         admins  licensed  global  GroupManagement
    PUT  /api/admin/plugins/{id}/icon            admins  licensed  global  GroupManagement
    DELETE /api/admin/plugins/{id}/icon          admins  licensed  global  GroupManagement
    GET  /api/admin/certificates                 admins  ended     global
    POST /api/admin/certificates                 admins  licensed  global  GroupManagement
    DELETE /api/admin/certificates/{id}          admins  licensed  global  GroupManagement
    GET  /api/admin/groups/{id}/members          group-managers  ended     global
    GET  /api/admin/users                        admins  ended     global
    PUT  /api/admin/license                      admins  ended     global
    GET  /api/admin/settings                     admins  ended     global
    PUT  /api/admin/settings/{key}               admins  licensed  global
    DELETE /api/admin/settings/{key}             admins  licensed  global
    GET  /api/admin/users/{id}/effective         admins  ended     global
    GET  /api/admin/users/{id}/sessions          admins  ended     global
    POST /api/admin/users/{id}/end-sessions      admins  ended     global
    POST /api/admin/users/{id}/lift-wait         admins  ended     global
    POST /api/admin/users/{id}/reset-factor      admins  ended     global
    GET  /api/admin/outbox                       admins  ended     global
    POST /api/admin/outbox/test                  admins  licensed  global
    POST /api/admin/outbox/{id}/retry            admins  licensed  global
    POST /api/admin/outbox/{id}/discard          admins  licensed  global
    GET  /api/admin/models                       admins  ended     global
    POST /api/admin/models/{key}/test-call       admins  licensed  global  AiProxy
    GET  /api/admin/usage                        managers  ended     global
    GET  /api/admin/usage/hours                  admins  ended     global
    GET  /api/admin/usage/export                 managers  ended     global
    GET  /api/admin/audit                        admins  ended     global
    GET  /api/admin/audit/export                 admins  ended     global
    GET  /api/admin/managed-personas             admins  ended     global
    GET  /api/admin/managed-personas/{id}        admins  ended     global
    GET  /api/admin/managed-personas/{id}/groups admins  ended     global
    GET  /api/admin/managed-personas/{id}/plugins admins ended     global
    POST /api/admin/managed-personas             admins  licensed  global  GroupManagement
    PUT  /api/admin/managed-personas/{id}        admins  licensed  global  GroupManagement
    DELETE /api/admin/managed-personas/{id}      admins  licensed  global  GroupManagement
    PUT  /api/admin/managed-personas/{id}/groups admins  licensed  global  GroupManagement
    PUT  /api/admin/managed-personas/{id}/plugins admins licensed  global  GroupManagement
    GET  /api/admin/scim-tokens                  admins  ended     global
    POST /api/admin/scim-tokens                  admins  licensed  global  GroupManagement
    DELETE /api/admin/scim-tokens/{id}           admins  ended     global
    GET  /api/kb-manager/knowledge-bases  kb-manager  ended  global  Knowledge
    GET  /api/kb-manager/knowledge-bases/{kbId}/stats  kb-manager  ended  global  Knowledge
    GET  /api/kb-manager/knowledge-bases/{kbId}/prompt  kb-manager  ended  global  Knowledge
    PUT  /api/kb-manager/knowledge-bases/{kbId}/prompt  kb-manager  licensed  global  Knowledge
    GET  /api/kb-manager/knowledge-bases/{kbId}/documents  kb-manager  ended  global  Knowledge
    POST /api/kb-manager/knowledge-bases/{kbId}/documents  kb-manager  licensed  global  Knowledge
    DELETE /api/kb-manager/knowledge-bases/{kbId}/documents/{docId}  kb-manager  licensed  global  Knowledge
    GET  /api/kb-manager/knowledge-bases/{kbId}/documents/{docId}/content  kb-manager  ended  global  Knowledge
    PUT  /api/kb-manager/knowledge-bases/{kbId}/documents/{docId}/content  kb-manager  licensed  global  Knowledge
    POST /api/kb-manager/knowledge-bases/{kbId}/documents/{docId}/retry  kb-manager  licensed  global  Knowledge
    GET  /api/kb/{kbId}/documents  service  ended  global  Knowledge
    GET  /api/kb/{kbId}/documents/{id}  service  ended  global  Knowledge
    POST /api/kb/{kbId}/documents  service  licensed  global  Knowledge
    DELETE /api/kb/{kbId}/documents/{id}  service  licensed  global  Knowledge
    GET  /api/admin/knowledge-bases  admins  ended  global
    GET  /api/admin/knowledge-bases/{id}  admins  ended  global
    GET  /api/admin/knowledge-bases/{id}/stats  admins  ended  global
    GET  /api/admin/knowledge-bases/{id}/documents  admins  ended  global
    POST /api/admin/knowledge-bases  admins  licensed  global  Knowledge
    PUT  /api/admin/knowledge-bases/{id}  admins  licensed  global  Knowledge
    DELETE /api/admin/knowledge-bases/{id}  admins  licensed  global  Knowledge
    POST /api/admin/knowledge-bases/{id}/search  console-kb-managers  licensed  global  Knowledge
    PUT  /api/admin/knowledge-bases/{id}/groups  admins  licensed  global  Knowledge
    GET  /api/admin/managed-personas/{id}/knowledge-bases  admins  ended  global
    PUT  /api/admin/managed-personas/{id}/knowledge-bases  admins  licensed  global  Knowledge
    GET  /api/assignments          signed-in ended      sync     AiProxy
    POST /api/assignments          signed-in licensed   sync     AiProxy
    GET  /api/assignments/skills   signed-in ended      sync     AiProxy
    GET  /api/assignments/{id}     signed-in ended      sync     AiProxy
    POST /api/assignments/{id}/cancel   signed-in ended  sync  AiProxy
    POST /api/assignments/{id}/collect  signed-in ended  sync  AiProxy
    GET  /api/assignments/schedules       signed-in ended     sync  AiProxy
    POST /api/assignments/schedules       signed-in licensed  sync  AiProxy
    PUT  /api/assignments/schedules/{id}  signed-in licensed  sync  AiProxy
    DELETE /api/assignments/schedules/{id}  signed-in ended   sync  AiProxy
    GET  /api/admin/assignments  admins  ended  global
    GET  /api/admin/assignments/queue  admins  ended  global
    GET  /api/admin/assignments/schedules  admins  ended  global
    POST /api/admin/assignments/{id}/terminate  admins  licensed  global  AiProxy
    GET  /api/admin/operators  admins  ended  global
    POST /api/admin/operators  admins  licensed  global  AiProxy
    PUT  /api/admin/operators/{id}  admins  licensed  global  AiProxy
    PUT  /api/admin/operators/{id}/groups  admins  licensed  global  AiProxy
    DELETE /api/admin/operators/{id}  admins  licensed  global  AiProxy
    PUT  /api/admin/operators/{id}/webhook  admins  licensed  global  AiProxy
    DELETE /api/admin/operators/{id}/webhook  admins  licensed  global  AiProxy
    GET  /api/admin/operators/{id}/webhook/deliveries  admins  ended  global
    GET  /api/admin/connectors  admins  ended  global
    POST /api/admin/connectors  admins  licensed  global  AiProxy
    GET  /api/admin/connectors/pods  admins  ended  global
    POST /api/admin/connectors/pods/{id}/drain  admins  licensed  global  AiProxy
    DELETE /api/admin/connectors/{id}  admins  licensed  global  AiProxy
    PUT  /api/admin/connectors/{id}/groups  admins  licensed  global  AiProxy
    POST /api/admin/connectors/{id}/tokens  admins  licensed  global  AiProxy
    DELETE /api/admin/connectors/{id}/tokens  admins  licensed  global  AiProxy
    DELETE /api/admin/connectors/{id}/tokens/{tokenId}  admins  licensed  global  AiProxy
    GET  /api/admin/connectors/{id}/tools  admins  ended  global
    POST /api/admin/connectors/{id}/test-call  admins  licensed  global  AiProxy
    GET  /api/kb-manager/unanswered-questions  kb-manager  ended  global  Knowledge
    DELETE /api/kb-manager/unanswered-questions/{id}  kb-manager  licensed  global  Knowledge
    GET  /api/admin/groups/{id}/unanswered-questions  admins  ended  global
    DELETE /api/admin/groups/{id}/unanswered-questions/{questionId}  admins  licensed  global  Knowledge
    GET  /scim/v2/ServiceProviderConfig  anyone  ended  scim  GroupManagement
    GET  /scim/v2/ResourceTypes          anyone  ended  scim  GroupManagement
    GET  /scim/v2/ResourceTypes/{name}   anyone  ended  scim  GroupManagement
    GET  /scim/v2/Schemas                anyone  ended  scim  GroupManagement
    GET  /scim/v2/Schemas/{name}         anyone  ended  scim  GroupManagement
    GET  /scim/v2/Users           users   ended     scim  GroupManagement
    GET  /scim/v2/Users/{id}      users   ended     scim  GroupManagement
    POST /scim/v2/Users           users   licensed  scim  GroupManagement
    PUT  /scim/v2/Users/{id}      users   licensed  scim  GroupManagement
    PATCH /scim/v2/Users/{id}     users   licensed  scim  GroupManagement
    DELETE /scim/v2/Users/{id}    users   licensed  scim  GroupManagement
    GET  /scim/v2/Groups          groups  ended     scim  GroupManagement
    GET  /scim/v2/Groups/{id}     groups  ended     scim  GroupManagement
    POST /scim/v2/Groups          groups  licensed  scim  GroupManagement
    PUT  /scim/v2/Groups/{id}     groups  licensed  scim  GroupManagement
    PATCH /scim/v2/Groups/{id}    groups  licensed  scim  GroupManagement
    DELETE /scim/v2/Groups/{id}   groups  licensed  scim  GroupManagement
    POST /hubs/pod-uplink/negotiate  pod  licensed  pod-uplink
    GET  /hubs/pod-uplink            pod  licensed  pod-uplink
    GET  /auth/pages.js            anyone    unlicensed global
    GET  /admin/login              anyone    ended      global
    POST /admin/sign-in            anyone    ended      local-auth
    POST /admin/sign-in/factor     anyone    ended      local-auth
    POST /admin/sign-in/passkey    anyone    ended      local-auth
    GET  /account/login            anyone    ended      global
    POST /account/sign-in          anyone    ended      local-auth
    POST /account/sign-in/factor   anyone    ended      local-auth
    POST /account/sign-in/passkey  anyone    ended      local-auth
    GET  /.well-known/change-password  anyone  ended    global
    GET  /.well-known/passkey-endpoints  anyone  ended  global
";

/// Key of the ingest routes.
const KEY: &str = "kb-9f2c4e7a1b3d5f60";

/// Forms of one's own account that need a licence in force, as writing does.
const CHANGES_OF_ACCOUNTS: [&str; 6] = [
    "/account",
    "/account/name",
    "/account/email",
    "/account/email/confirm",
    "/account/api-keys",
    "/account/app-passwords",
];

/// Paths for administrators who owe the verification of their address: they change the settings
/// that require it.
const OPEN_TO_UNVERIFIED: [&str; 7] = [
    "/admin/first-steps",
    "/admin/licence",
    "/admin/mail",
    "/admin/settings",
    "/api/admin/license",
    "/api/admin/outbox",
    "/api/admin/settings",
];

/// Folders of the pages for accounts that owe their declaration or the verification of their
/// address: their JSON routes are below `/auth`.
const OPEN_PAGES: [&str; 10] = [
    "/account",
    "/account/name",
    "/account/email",
    "/account/security",
    "/account/passkeys",
    "/account/app-passwords",
    "/account/api-keys",
    "/account/sessions",
    "/account/sign-out",
    "/account/data",
];

fn table() -> Vec<Route> {
    pia_server::routes()
}

/// Configures a server with the key of the ingest routes.
fn with_ingest_key() -> TestConfig {
    TestConfig::on(TestDatabase::sqlite()).with("Knowledge__IngestApiKey", KEY)
}

fn format_route(route: &Route) -> String {
    let access = match route.access {
        Access::Anonymous => "anyone",
        Access::Bearer => "signed-in",
        Access::KbManager => "kb-manager",
        Access::Owner => "owner",
        Access::OwnerOrGone => "leaver",
        Access::Console([Role::Admin, Role::KbManager]) => "console-kb-managers",
        Access::Console(roles) if roles.contains(&Role::KbManager) => "console",
        Access::Console(roles) if roles.contains(&Role::OrgManager) => "managers",
        Access::Console(_) => "admins",
        Access::GroupConsole(_) => "group-managers",
        Access::ConsolePage(_) | Access::GroupPage(_) | Access::AccountPage => "page",
        Access::Operator => "operator",
        Access::Scim(scope) => scope.name(),
        Access::Service => "service",
        Access::Pod => "pod",
    };
    let licensing = match route.licensing {
        Licensing::NotNeeded => "unlicensed",
        Licensing::MayHaveEnded => "ended",
        Licensing::InForce => "licensed",
    };
    let budget = match route.rate_limit {
        RateLimit::Unlimited => "free",
        RateLimit::AtGate(budget) | RateLimit::InHandler(budget) => budget.name(),
    };
    let feature = route.feature.map_or("", |it| it.name());
    let line = format!("{} {} {access} {licensing} {budget} {feature}", route.method, route.path);
    line.trim_end().to_owned()
}

/// Announces a body of this length and sends none, so that an answer did not wait for it.
async fn announce(
    caller: &Client,
    route: &Route,
    length: usize,
) -> pia_server_testkit::client::TestResponse {
    let length = length.to_string();
    let elsewhere = ("x-forwarded-for", "192.0.2.1");
    let headers =
        [("content-length", length.as_str()), ("content-type", "application/json"), elsewhere];
    let is_signed_in = caller.access.is_some();
    let headers = if is_signed_in { &headers[..2] } else { &headers[..] };
    caller.send(route.method.as_str(), route.path, headers, b"").await
}

#[test]
fn the_table_has_the_expected_routes() {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut expected: Vec<String> =
        EXPECTED.lines().map(words).filter(|line| !line.is_empty()).collect();
    let mut table: Vec<String> =
        table().into_iter().filter(|it| !is_page(it)).map(|it| format_route(&it)).collect();

    expected.sort();
    table.sort();

    assert_eq!(table, expected);
}

/// Returns whether a row is a page for browsers that are signed in.
fn is_page(route: &Route) -> bool {
    matches!(route.access, Access::ConsolePage(_) | Access::GroupPage(_) | Access::AccountPage)
}

/// Pages follow one rule each, so they are not listed.
#[test]
fn pages_have_the_access_of_their_folders() {
    let all = &Role::ALL[1..];
    let knowledge = &[Role::Admin, Role::KbManager][..];
    let managers = &[Role::Admin, Role::OrgManager][..];
    let open: &[(&str, &[Role])] = &[
        ("/admin", all),
        ("/admin/knowledge", knowledge),
        ("/admin/my-group", managers),
        ("/admin/usage", managers),
    ];
    for route in table().into_iter().filter(is_page) {
        let is_account = route.path == "/account" || route.path.starts_with("/account/");
        assert_eq!(is_account, route.access == Access::AccountPage, "{}", route.path);
        assert!(is_account || route.path.starts_with("/admin"), "{}", route.path);
        if let Access::ConsolePage(roles) = route.access {
            let area = route.path.split('/').take(3).collect::<Vec<_>>().join("/");
            let area = open.iter().find(|it| it.0 == area);
            let allowed = area.map_or(&[Role::Admin][..], |it| it.1);
            assert!(roles.iter().all(|it| allowed.contains(it)), "{}", route.path);
        }
        if let Access::GroupPage(_) = route.access {
            assert!(route.path.starts_with("/admin/groups/{id}"), "{}", route.path);
        }
        let writes = route.method == "POST";
        // What an expired licence permits too: to secure accounts and the server, and to renew.
        let always = ["/admin/users", "/admin/scim", "/admin/audit", "/admin/licence"];
        let may_end = if is_account {
            !CHANGES_OF_ACCOUNTS.contains(&route.path)
        } else {
            always.iter().any(|it| route.path.starts_with(it))
        };
        let is_expected = match route.licensing {
            Licensing::NotNeeded => false,
            Licensing::MayHaveEnded => !writes || may_end,
            Licensing::InForce => writes && !(is_account && may_end),
        };
        assert!(is_expected, "{}", route.path);
        assert!(writes || route.method == "GET", "{}", route.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn anonymous_callers_are_refused_before_the_body_is_read() {
    let app = with_ingest_key().start().await;
    let protected_routes: Vec<Route> =
        table().into_iter().filter(|it| it.access != Access::Anonymous).collect();

    for route in &protected_routes {
        let answer = announce(&app.anonymous(), route, 5).await;

        assert_eq!(answer.refusal(), (401, "unauthorized"), "{}", format_route(route));
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{}", format_route(route));
    }
    assert_eq!(protected_routes.iter().filter(|it| !is_page(it)).count(), 232);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_announced_as_too_large_is_refused_before_it_is_read() {
    let app = with_ingest_key().with("Admin:RequireSecondFactor", false).start().await;
    let ada = app.signed_in().await;
    let service = [("x-service-key", KEY)];
    let manager = app.sign_up("eve@example.org").await;
    app.admin("grant eve@example.org --role kb_manager").await.expect("a role");
    app.sign_up("bob@example.org").await;
    let console = Console::open(&app, "bob@example.org").await;

    let identity_provider = scim_client(&app, &console).await;

    for route in &table() {
        let length = (route.body_limit + 1).to_string();
        let answer = if route.credentials == AcceptedCredentials::ConsoleCookie
            || route.credentials == AcceptedCredentials::BrowserCookie
        {
            let headers =
                [("content-length", length.as_str()), ("x-csrf-token", &console.csrf_token)];
            console.send(route.method.as_str(), route.path, &headers, &Value::Null).await
        } else if let Access::Scim(_) = route.access {
            announce(&identity_provider, route, route.body_limit + 1).await
        } else if route.access == Access::Service {
            let headers = [service[0], ("content-length", length.as_str())];
            app.anonymous().send(route.method.as_str(), route.path, &headers, b"").await
        } else if route.access == Access::KbManager {
            announce(&manager, route, route.body_limit + 1).await
        } else {
            announce(&ada, route, route.body_limit + 1).await
        };

        assert_eq!(answer.refusal(), (413, "body_too_large"), "{}", format_route(route));
        if route.path.starts_with("/scim/") {
            continue;
        }
        let limit = answer.body["limit"].as_u64().or(answer.body["error"]["limit"].as_u64());
        assert_eq!(limit, Some(route.body_limit as u64), "{}", format_route(route));
    }
}

/// Returns the first two segments of a row's path.
fn folder(route: &Route) -> &'static str {
    let end = route.path.match_indices('/').nth(2).map(|it| it.0);
    route.path.get(..end.unwrap_or(route.path.len())).expect("a folder")
}

/// Paths imply properties that the gates take from the rows alone.
#[test]
fn rows_match_their_paths() {
    let mut wrong = Vec::new();
    for route in table() {
        let below = |prefixes: &[&str]| prefixes.iter().any(|it| route.path.starts_with(it));
        let guards = matches!(
            route.rate_limit,
            RateLimit::AtGate(Budget::Auth | Budget::LocalAuth)
                | RateLimit::InHandler(Budget::Auth | Budget::LocalAuth)
        );
        let anonymous = route.access == Access::Anonymous;
        let takes_keys =
            route.access == Access::Bearer && below(&["/api/ai/", "/v1/", "/kb/", "/mcp"]);

        let accounts = if anonymous {
            route.accounts
        } else if below(&["/auth/"]) || OPEN_PAGES.contains(&folder(&route)) {
            AccountScope::Any
        } else if below(&OPEN_TO_UNVERIFIED) {
            AccountScope::Declared
        } else {
            AccountScope::Complete
        };

        let expected_properties = (
            takes_keys,
            accounts,
            (anonymous && guards) || route.access == Access::Pod,
            below(&["/admin", "/api/admin"]) && route.document != OpenApiDocument::Own,
        );
        let actual = (
            route.credentials == AcceptedCredentials::SessionOrApiKey,
            route.accounts,
            route.counted_against == CountedAgainst::Address,
            route.document == OpenApiDocument::Admin,
        );
        if actual != expected_properties {
            wrong.push((format_route(&route), actual, expected_properties));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_is_not_found() {
    let app = TestApp::spawn().await;

    for path in ["/nowhere", "/auth/me/", "/auth/me/x", "//auth/me", "/AUTH/ME", "/auth/%zz"] {
        for method in ["GET", "POST", "DELETE", "HEAD"] {
            let answer = app.anonymous().send(method, path, &[], b"").await;

            assert_eq!(answer.status, 404, "{method} {path}");
            if method != "HEAD" {
                assert_eq!(answer.refusal(), (404, "not_found"), "{method} {path}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_method_is_refused_with_the_allowed_ones() {
    let app = TestApp::spawn().await;

    for (path, allowed) in [
        ("/health", "GET, HEAD"),
        ("/auth/login/local", "POST"),
        ("/auth/sessions/revoke-others", "POST"),
        ("/auth/sessions/5", "DELETE"),
        ("/admin/setup", "GET, HEAD, POST"),
    ] {
        let others = ["PUT", "DELETE", "PATCH", "OPTIONS", "INVENTED"];
        for method in others.into_iter().filter(|it| *it != allowed) {
            let answer = app.anonymous().send(method, path, &[], b"").await;

            assert_eq!(answer.refusal(), (405, "method_not_allowed"), "{method} {path}");
            assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_answers_like_get_without_the_body() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Server__PublicUrl", "http://test")
        .start()
        .await;
    let ada = app.signed_in().await;

    for route in table().into_iter().filter(|it| it.method == "GET") {
        let get_answer = ada.get(route.path).await;
        let head = ada.send("HEAD", route.path, &[], b"").await;

        assert_eq!(head.status, get_answer.status, "{}", route.path);
        assert_eq!(
            head.header("content-type"),
            get_answer.header("content-type"),
            "{}",
            route.path
        );
        assert!(head.bytes.is_empty(), "{}", route.path);
        assert_eq!(get_answer.bytes.is_empty(), get_answer.status == 302, "{}", route.path);
    }
}
