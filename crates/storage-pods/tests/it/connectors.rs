//! Contract tests of connectors.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_kernel::{
    ConnectorId, GroupId, GroupSelection, OperatorId, Secret, SideEffects, Timestamp,
};
use pia_pods::{
    Connector, ConnectorChangeOutcome, ConnectorStore, ConnectorTokenHash, ConnectorTokenId,
    McpEndpoint, NewConnector, NewConnectorToken, PodId, TokenRotation, ValidToken,
};
use pia_storage::schema::user_groups;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_pods::SqlConnectors;
use uuid::Uuid;

pia_testkit::contract! {
    a_connector_is_created_with_its_operator_and_token,
    a_refused_connector_leaves_nothing,
    the_token_of_an_mcp_server_is_sealed,
    one_of_concurrent_connectors_of_a_name_is_created,
    a_token_is_valid_until_it_expires_or_is_revoked,
    a_single_token_is_revoked,
    a_rotated_token_remains_valid_for_a_while,
    tokens_are_limited_when_pods_rotate_them,
    grants_apply_to_the_operator_too,
    concurrent_changes_of_groups_are_all_stored,
    a_deleted_connector_loses_its_operator_and_tokens,
}

/// Group that every database has.
pub(crate) const DEFAULT: GroupId =
    GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));

/// Returns a time, in seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn store(db: &Database) -> SqlConnectors {
    SqlConnectors::new(db.clone())
}

fn token(number: u8) -> NewConnectorToken {
    NewConnectorToken {
        hash: ConnectorTokenHash([number; 32]),
        created_at: at(0),
        expires_at: at(100),
    }
}

fn valid_token(number: u8) -> ValidToken {
    let NewConnectorToken { hash, created_at, expires_at } = token(number);
    ValidToken { hash, created_at, expires_at }
}

async fn revoke(
    db: &Database,
    id: ConnectorId,
    token: Option<ConnectorTokenId>,
) -> ConnectorChangeOutcome {
    store(db).revoke_tokens(id, token, SideEffects::default()).await.unwrap()
}

fn connector(name: &str, skill: Option<&str>) -> NewConnector {
    let connector = Connector {
        id: ConnectorId::generate(),
        name: name.to_owned(),
        operator: skill.map(|_| OperatorId::generate()),
        groups: vec![DEFAULT],
        created_at: at(0),
        tokens: Vec::new(),
        mcp_url: None,
    };
    NewConnector { connector, skill: skill.map(str::to_owned), token: Some(token(1)), mcp: None }
}

async fn create(db: &Database, request: &NewConnector) -> ConnectorChangeOutcome {
    store(db).create(request.clone(), SideEffects::default()).await.unwrap()
}

/// Creates a connector with a token whose hash has these bytes.
pub(crate) async fn create_connector(db: &Database, name: &str, bytes: u8) -> ConnectorId {
    let request = NewConnector { token: Some(token(bytes)), ..connector(name, None) };
    assert_eq!(create(db, &request).await, ConnectorChangeOutcome::Done);
    request.connector.id
}

async fn create_group(db: &Database, name: &str) -> GroupId {
    let group = GroupId::generate();
    let insertion = diesel::insert_into(user_groups::table).values((
        user_groups::id.eq(DbUid(group.0)),
        user_groups::name.eq(name),
        user_groups::name_folded.eq(name),
        user_groups::is_default.eq(false),
        user_groups::created_at.eq(DbInstant(at(0))),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    result.unwrap();
    group
}

fn count_done(outcomes: &[ConnectorChangeOutcome]) -> usize {
    outcomes.iter().filter(|it| **it == ConnectorChangeOutcome::Done).count()
}

/// Returns the connector of the token whose hash has these bytes.
async fn owner(db: &Database, number: u8, now: Timestamp) -> Option<ConnectorId> {
    store(db).find_token(ConnectorTokenHash([number; 32]), now).await.unwrap()
}

async fn a_connector_is_created_with_its_operator_and_token(db: Database) {
    let request = connector("Planner", Some("travel-plan"));
    assert_eq!(create(&db, &request).await, ConnectorChangeOutcome::Done);

    let expected = Connector { tokens: vec![valid_token(1)], ..request.connector.clone() };
    assert_eq!(store(&db).list(at(1)).await.unwrap(), [expected]);
    assert_eq!(owner(&db, 1, at(1)).await, Some(request.connector.id));
    assert_eq!(store(&db).count_members(vec![DEFAULT]).await.unwrap(), 0);
}

async fn a_refused_connector_leaves_nothing(db: Database) {
    let valid = connector("First", Some("plan"));
    assert_eq!(create(&db, &valid).await, ConnectorChangeOutcome::Done);

    let with_used_name = NewConnector { token: Some(token(2)), ..connector("fIRST", None) };
    assert_eq!(create(&db, &with_used_name).await, ConnectorChangeOutcome::NameTaken);

    let with_used_skill =
        NewConnector { token: Some(token(3)), ..connector("Third", Some("PLAN")) };
    assert_eq!(create(&db, &with_used_skill).await, ConnectorChangeOutcome::SkillTaken);

    let mut with_unknown_group = connector("Fourth", Some("other"));
    with_unknown_group.connector.groups.push(GroupId::generate());
    with_unknown_group.token = Some(token(4));
    assert_eq!(create(&db, &with_unknown_group).await, ConnectorChangeOutcome::UnknownGroup);

    for number in 2..=4 {
        assert_eq!(owner(&db, number, at(1)).await, None);
    }
    assert_eq!(store(&db).list(at(1)).await.unwrap().len(), 1);

    with_unknown_group.connector.groups.pop();
    assert_eq!(create(&db, &with_unknown_group).await, ConnectorChangeOutcome::Done);
}

async fn the_token_of_an_mcp_server_is_sealed(db: Database) {
    create_connector(&db, "Weather", 1).await;

    let mut server = connector("Files", None);
    let url = "https://mcp.example/mcp".to_owned();
    server.connector.mcp_url = Some(url.clone());
    server.mcp = Some(McpEndpoint { url, token: Some(Secret::new("s3cret".to_owned())) });
    server.token = None;
    assert_eq!(create(&db, &server).await, ConnectorChangeOutcome::Done);

    let [(id, endpoint)] = store(&db).mcp_servers().await.unwrap().try_into().unwrap();
    assert_eq!(id, server.connector.id);
    assert_eq!(endpoint.url.as_str(), "https://mcp.example/mcp");
    assert_eq!(endpoint.token.unwrap().expose(), "s3cret");
    let connectors = store(&db).list(at(1)).await.unwrap();
    assert_eq!(connectors[0], server.connector);
}

async fn one_of_concurrent_connectors_of_a_name_is_created(db: Database) {
    let requests: Vec<_> = (1..=8)
        .map(|number| NewConnector {
            token: Some(token(number)),
            ..connector("Same", Some("same"))
        })
        .collect();

    let outcomes = join_all(requests.iter().map(|it| create(&db, it))).await;

    assert_eq!(count_done(&outcomes), 1, "{outcomes:?}");
    assert_eq!(store(&db).list(at(1)).await.unwrap().len(), 1);
}

async fn a_token_is_valid_until_it_expires_or_is_revoked(db: Database) {
    let id = create_connector(&db, "Weather", 1).await;
    let outcome = store(&db).add_token(id, token(2), SideEffects::default()).await.unwrap();
    assert_eq!(outcome, ConnectorChangeOutcome::Done);
    assert_eq!(owner(&db, 1, at(99)).await, Some(id));
    assert_eq!(owner(&db, 1, at(100)).await, None);
    assert_eq!(store(&db).list(at(1)).await.unwrap()[0].tokens, [valid_token(1), valid_token(2)]);

    assert_eq!(revoke(&db, id, None).await, ConnectorChangeOutcome::Done);
    assert_eq!(owner(&db, 1, at(1)).await, None);
    assert_eq!(owner(&db, 2, at(1)).await, None);
    assert_eq!(store(&db).list(at(1)).await.unwrap()[0].tokens, []);

    let unknown = ConnectorId::generate();
    let outcome = store(&db).add_token(unknown, token(3), SideEffects::default()).await.unwrap();
    assert_eq!(outcome, ConnectorChangeOutcome::NotFound);
    assert_eq!(revoke(&db, unknown, None).await, ConnectorChangeOutcome::NotFound);
}

async fn a_single_token_is_revoked(db: Database) {
    let id = create_connector(&db, "Weather", 1).await;
    let unrelated = create_connector(&db, "Other", 9).await;
    store(&db).add_token(id, token(2), SideEffects::default()).await.unwrap();
    let first_token = Some(token(1).hash.id());

    assert_eq!(revoke(&db, unrelated, first_token).await, ConnectorChangeOutcome::NotFound);
    let outcomes = join_all((0..4).map(|_| revoke(&db, id, first_token))).await;

    assert_eq!(count_done(&outcomes), 1, "{outcomes:?}");
    assert_eq!(owner(&db, 1, at(1)).await, None);
    assert_eq!(owner(&db, 2, at(1)).await, Some(id));
    assert_eq!(owner(&db, 9, at(1)).await, Some(unrelated));
}

async fn rotate(db: &Database, id: ConnectorId, old: u8, new: u8) -> ConnectorChangeOutcome {
    let new = NewConnectorToken { created_at: at(10), expires_at: at(200), ..token(new) };
    let rotation = TokenRotation {
        pod: PodId(Uuid::now_v7()),
        old: ConnectorTokenHash([old; 32]),
        old_expires_at: at(20),
        new,
        limit: 3,
    };
    store(db).rotate_token(id, rotation, SideEffects::default()).await.unwrap()
}

async fn a_rotated_token_remains_valid_for_a_while(db: Database) {
    let id = create_connector(&db, "Weather", 1).await;
    let unrelated = create_connector(&db, "Other", 9).await;

    assert_eq!(rotate(&db, unrelated, 1, 2).await, ConnectorChangeOutcome::NotFound);
    assert_eq!(rotate(&db, id, 1, 2).await, ConnectorChangeOutcome::Done);
    assert_eq!(owner(&db, 1, at(19)).await, Some(id));
    assert_eq!(owner(&db, 1, at(20)).await, None);
    assert_eq!(owner(&db, 2, at(199)).await, Some(id));

    // Its pod ended before it stored the new one.
    assert_eq!(rotate(&db, id, 1, 3).await, ConnectorChangeOutcome::Done);

    revoke(&db, id, None).await;
    assert_eq!(rotate(&db, id, 2, 4).await, ConnectorChangeOutcome::NotFound);
}

async fn tokens_are_limited_when_pods_rotate_them(db: Database) {
    let id = create_connector(&db, "Weather", 1).await;

    let outcomes = join_all((2..=9).map(|new| rotate(&db, id, 1, new))).await;

    assert_eq!(count_done(&outcomes), 2, "{outcomes:?}");
    assert!(outcomes.contains(&ConnectorChangeOutcome::TooManyTokens));
}

async fn grants_apply_to_the_operator_too(db: Database) {
    let planner = connector("Planner", Some("plan"));
    assert_eq!(create(&db, &planner).await, ConnectorChangeOutcome::Done);
    let id = planner.connector.id;
    let connectors = store(&db);
    let grant =
        |groups| connectors.grant(id, GroupSelection::Exactly(groups), SideEffects::default());

    let with_unknown_group = vec![DEFAULT, GroupId::generate()];
    assert_eq!(grant(with_unknown_group).await.unwrap(), ConnectorChangeOutcome::UnknownGroup);
    assert_eq!(store(&db).list(at(1)).await.unwrap()[0].groups, [DEFAULT]);

    assert_eq!(grant(Vec::new()).await.unwrap(), ConnectorChangeOutcome::Done);
    assert!(store(&db).list(at(1)).await.unwrap()[0].groups.is_empty());

    assert_eq!(grant(vec![DEFAULT, DEFAULT]).await.unwrap(), ConnectorChangeOutcome::Done);
    assert_eq!(store(&db).list(at(1)).await.unwrap()[0].groups, [DEFAULT]);

    let unknown = ConnectorId::generate();
    let none = GroupSelection::Exactly(Vec::new());
    let outcome = store(&db).grant(unknown, none, SideEffects::default()).await.unwrap();
    assert_eq!(outcome, ConnectorChangeOutcome::NotFound);
}

async fn concurrent_changes_of_groups_are_all_stored(db: Database) {
    let planner = connector("Planner", Some("plan"));
    assert_eq!(create(&db, &planner).await, ConnectorChangeOutcome::Done);
    let id = planner.connector.id;
    let mut groups = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        groups.push(create_group(&db, name).await);
    }

    let changes = groups.iter().map(|&group| {
        let change = GroupSelection::Changed { added: vec![group], removed: vec![DEFAULT] };
        let instance = store(&db);
        async move { instance.grant(id, change, SideEffects::default()).await.unwrap() }
    });
    let outcomes = join_all(changes).await;

    assert_eq!(count_done(&outcomes), groups.len(), "{outcomes:?}");
    assert_eq!(store(&db).list(at(1)).await.unwrap()[0].groups, groups);
}

async fn a_deleted_connector_loses_its_operator_and_tokens(db: Database) {
    let planner = connector("Planner", Some("plan"));
    assert_eq!(create(&db, &planner).await, ConnectorChangeOutcome::Done);
    let id = planner.connector.id;
    let connectors = store(&db);
    let delete = || connectors.delete(id, SideEffects::default());

    assert_eq!(delete().await.unwrap(), ConnectorChangeOutcome::Done);
    assert_eq!(delete().await.unwrap(), ConnectorChangeOutcome::NotFound);
    assert_eq!(owner(&db, 1, at(1)).await, None);
    // The name of the skill is free again.
    assert_eq!(
        create(&db, &connector("Planner", Some("plan"))).await,
        ConnectorChangeOutcome::Done
    );
}
