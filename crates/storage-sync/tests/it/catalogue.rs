//! Contract tests of the operators' catalogue.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Clock, SystemClock, Timestamp};
use pia_storage::schema::{
    client_policies, group_personas, group_plugins, managed_personas, plugins, user_groups,
};
use pia_storage::{Database, DbInstant, DbUid, on_conn};
use pia_sync::{Catalogue, Channel, ItemRejection, Policy, SyncReader};
use uuid::Uuid;

use crate::person::{Person, item, run};

pia_testkit::contract! {
    every_group_has_the_built_in_plugins_and_no_policy,
    a_group_has_what_is_granted_to_it,
    devices_cannot_change_managed_personas,
    a_catalogue_is_read_again_when_its_version_changes,
}

const GROUP: Uuid = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001);

async fn load_catalogue(person: &Person, version: i64) -> Catalogue {
    person.reader.catalogue(GROUP, version).await.unwrap()
}

async fn create_persona(db: &Database, id: u128, deleted_at: Option<Timestamp>) {
    let now = DbInstant(SystemClock.now());
    let row = (
        managed_personas::id.eq(DbUid(Uuid::from_u128(id))),
        managed_personas::name.eq("Ada"),
        managed_personas::system_prompt.eq("Count."),
        managed_personas::expertise.eq(Some("[\"numbers\"]")),
        managed_personas::tool_scope.eq(2),
        managed_personas::schema_version.eq(1),
        managed_personas::is_active.eq(true),
        managed_personas::created_at.eq(now),
        managed_personas::updated_at.eq(now),
        managed_personas::deleted_at.eq(deleted_at.map(DbInstant)),
    );
    let insertion = diesel::insert_into(managed_personas::table).values(row);
    run(async { on_conn!(db.writer(), |conn| insertion.execute(conn).await?) }).await;
    let grant_row = (
        group_personas::group_id.eq(DbUid(GROUP)),
        group_personas::persona_id.eq(DbUid(Uuid::from_u128(id))),
    );
    let grant = diesel::insert_into(group_personas::table).values(grant_row);
    run(async { on_conn!(db.writer(), |conn| grant.execute(conn).await?) }).await;
}

async fn create_plugin(db: &Database, id: u128, granted: bool) {
    let row = (
        plugins::id.eq(DbUid(Uuid::from_u128(id))),
        plugins::kind.eq("mcp_server"),
        plugins::name.eq("Weather"),
        plugins::config_json.eq("{}"),
        plugins::version.eq("1.0.0"),
        plugins::is_preloaded.eq(false),
        plugins::is_active.eq(true),
        plugins::updated_at.eq(DbInstant(SystemClock.now())),
    );
    let insertion = diesel::insert_into(plugins::table).values(row);
    run(async { on_conn!(db.writer(), |conn| insertion.execute(conn).await?) }).await;
    if granted {
        let grant_row = (
            group_plugins::group_id.eq(DbUid(GROUP)),
            group_plugins::plugin_id.eq(DbUid(Uuid::from_u128(id))),
        );
        let grant = diesel::insert_into(group_plugins::table).values(grant_row);
        run(async { on_conn!(db.writer(), |conn| grant.execute(conn).await?) }).await;
    }
}

async fn every_group_has_the_built_in_plugins_and_no_policy(db: Database) {
    let person = Person::of(db).await;

    let catalogue = load_catalogue(&person, 1).await;

    let names: Vec<_> = catalogue.plugins.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["Memory", "Todo", "Reminder"]);
    assert!(catalogue.plugins.iter().all(|it| it.kind == "builtin_tool_pack" && it.is_active));
    assert_eq!(catalogue.policy, Policy { document: "{}".to_owned(), updated_at: None });
    assert!(catalogue.personas.is_empty() && catalogue.recently_removed.is_empty());
}

async fn a_group_has_what_is_granted_to_it(db: Database) {
    let person = Person::of(db.clone()).await;
    create_persona(&db, 1, None).await;
    create_persona(&db, 2, Some(SystemClock.now())).await;
    create_persona(&db, 3, Some(Timestamp::UNIX_EPOCH)).await;
    create_plugin(&db, 0x2000_0000_0000_0000_0000_0000_0000_0001, true).await;
    create_plugin(&db, 0x2000_0000_0000_0000_0000_0000_0000_0002, false).await;
    let policy_row = (
        client_policies::id.eq(DbUid(Uuid::from_u128(5))),
        client_policies::name.eq("Strict"),
        client_policies::document.eq("{\"enforce\":{}}"),
        client_policies::updated_at.eq(DbInstant(Timestamp::UNIX_EPOCH)),
    );
    let insertion = diesel::insert_into(client_policies::table).values(policy_row);
    run(async { on_conn!(db.writer(), |conn| insertion.execute(conn).await?) }).await;
    let assign = diesel::update(user_groups::table.find(DbUid(GROUP)))
        .set(user_groups::client_policy_id.eq(DbUid(Uuid::from_u128(5))));
    run(async { on_conn!(db.writer(), |conn| assign.execute(conn).await?) }).await;

    let catalogue = load_catalogue(&person, 1).await;

    assert_eq!(catalogue.plugins.len(), 4);
    assert_eq!(catalogue.personas.len(), 1);
    assert_eq!(catalogue.personas[0].expertise, Some(vec!["numbers".to_owned()]));
    assert_eq!(catalogue.recently_removed, [Uuid::from_u128(2)]);
    assert_eq!(catalogue.policy.document, "{\"enforce\":{}}");
    assert_eq!(catalogue.policy.updated_at, Some(Timestamp::UNIX_EPOCH));
}

async fn devices_cannot_change_managed_personas(db: Database) {
    let person = Person::of(db.clone()).await;
    create_persona(&db, 1, None).await;
    let persona_item = |id| item(Channel::Personas, id, 5);

    let conflicts = person.push(10, vec![persona_item(1), persona_item(9)]).await.conflicts;

    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].refusal, Some(ItemRejection::Managed));
    let pulled = person.since(Timestamp::UNIX_EPOCH).await;
    assert_eq!(pulled.iter().map(|it| it.0).collect::<Vec<_>>(), [persona_item(9).key]);
}

async fn a_catalogue_is_read_again_when_its_version_changes(db: Database) {
    let person = Person::of(db.clone()).await;
    let before = load_catalogue(&person, 1).await;
    create_persona(&db, 1, None).await;

    assert_eq!(load_catalogue(&person, 1).await, before);
    assert_eq!(load_catalogue(&person, 2).await.personas.len(), 1);
}
