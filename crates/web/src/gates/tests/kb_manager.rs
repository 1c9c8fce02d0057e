//! Tests of routes for managers of knowledge bases.

use pia_identity::{CallerState, Role};
use pia_kernel::SessionId;

use super::*;

fn rows() -> Vec<Route> {
    let feature = Some(Feature::Knowledge);
    vec![
        Route { access: Access::KbManager, ..route("/kb") },
        Route { access: Access::KbManager, feature, ..route("/licensed") },
    ]
}

async fn get_as(role: Role, path: &str) -> RecordedError {
    let mut accounts = MockAccountStore::new();
    accounts.expect_caller_state().returning(move |user, session, _| {
        Ok(Some(CallerState { role, ..CallerState::new(user, session) }))
    });
    let gates = gates_for(accounts, rows(), licence(None));
    let issued = gates.tokens.issue(UserId::generate(), SessionId::generate()).unwrap();
    let token = format!("Bearer {}", issued.token.expose());
    let request = test::TestRequest::with_uri(path).insert_header(("authorization", token));
    send_through(gates, rows, request).await
}

#[actix_web::test]
async fn kb_managers_and_administrators_are_admitted() {
    for role in [Role::KbManager, Role::Admin] {
        assert_eq!(get_as(role, "/kb").await.status, 200, "{role:?}");
    }
}

#[actix_web::test]
async fn other_accounts_do_not_manage_knowledge_bases() {
    for role in [Role::User, Role::OrgManager] {
        for path in ["/kb", "/licensed"] {
            assert_eq!(error(&get_as(role, path).await), (403, "not_a_kb_manager"), "{role:?}");
        }
    }
}

#[actix_web::test]
async fn managers_need_the_feature_and_a_token() {
    let unlicensed = get_as(Role::KbManager, "/licensed").await;
    let anonymous = get(rows, licence(None), "/kb").await;

    assert_eq!(error(&unlicensed), (403, "feature_not_licensed"));
    assert_eq!(error(&anonymous), (401, "unauthorized"));
}
