//! Contract tests of knowledge bases.

use futures_util::future::join_all;
use pia_kernel::{GroupId, GroupSelection, KnowledgeBaseId, PersonaId, SideEffects};
use pia_knowledge::{BaseAccess, BaseChangeOutcome, BaseRef, BaseStore};
use pia_policy::{PersonaAssignmentOutcome, PersonaQuotas, PersonaStore};
use pia_storage::Database;
use pia_storage_knowledge::SqlKnowledgeBases;
use pia_storage_policy::SqlManagedPersonas;

use crate::fixture::{
    DEFAULT, NOW, QUOTAS, base_named, create_base, create_document, create_group, create_persona,
    exactly, ingest, server,
};

pia_testkit::contract! {
    a_base_is_stored_listed_renamed_and_deleted,
    a_manager_sees_the_bases_of_the_group_alone,
    concurrent_bases_do_not_exceed_the_quota_of_the_owner,
    concurrent_changes_of_groups_are_all_stored,
    a_shared_base_counts_for_the_groups_that_search_it,
    a_base_counts_for_the_groups_of_its_personas,
    a_persona_counts_its_bases_for_the_groups_that_get_it,
    statistics_count_documents_and_tokens,
}

fn nothing() -> SideEffects {
    SideEffects::default()
}

async fn a_base_is_stored_listed_renamed_and_deleted(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let law = create_base(&db, "Law", DEFAULT).await;
    let names = async || {
        let listed_bases = bases.list(BaseAccess::Server).await.unwrap();
        listed_bases.into_iter().map(|it| it.base.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["Law", "Travel"]);

    let conflict_outcome =
        bases.create(base_named("TRAVEL", DEFAULT), QUOTAS, nothing()).await.unwrap();
    assert_eq!(conflict_outcome, BaseChangeOutcome::NameTaken);
    let unknown_group = GroupId::generate();
    let unknown_outcome =
        bases.create(base_named("Pay", unknown_group), QUOTAS, nothing()).await.unwrap();
    assert_eq!(unknown_outcome, BaseChangeOutcome::UnknownGroup(unknown_group));
    assert_eq!(bases.rename(law, "travel", nothing()).await.unwrap(), BaseChangeOutcome::NameTaken);
    assert_eq!(bases.rename(law, "Rules", nothing()).await.unwrap(), BaseChangeOutcome::Done);
    assert!(bases.set_prompt(server(law), Some("Search.".to_owned()), nothing()).await.unwrap());

    let entry = bases.find(server(law)).await.unwrap().unwrap();
    assert_eq!(entry.base.name, "Rules");
    assert_eq!(entry.base.prompt.as_deref(), Some("Search."));

    create_document(&db, travel, "one two").await;
    assert_eq!(ingest(&db).await.len(), 2);
    assert!(bases.delete(travel, nothing()).await.unwrap());
    assert!(!bases.delete(travel, nothing()).await.unwrap());
    assert_eq!(names().await, ["Rules"]);
    assert_eq!(bases.find(server(travel)).await.unwrap(), None);
}

async fn a_manager_sees_the_bases_of_the_group_alone(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let own_base = create_base(&db, "Own", sales).await;
    let other_base = create_base(&db, "Other", DEFAULT).await;
    assert_eq!(
        bases.share(other_base, exactly(&[sales]), QUOTAS, nothing()).await.unwrap(),
        BaseChangeOutcome::Done
    );

    let access = BaseAccess::Group(sales);
    let listed_bases = bases.list(access).await.unwrap();
    assert_eq!(listed_bases.iter().map(|it| it.base.id).collect::<Vec<_>>(), [own_base]);
    let foreign_base = BaseRef { access, id: other_base };
    assert_eq!(bases.find(foreign_base).await.unwrap(), None);
    assert_eq!(bases.stats(foreign_base, NOW, QUOTAS).await.unwrap(), None);
    assert!(!bases.set_prompt(foreign_base, None, nothing()).await.unwrap());
    let shared_base = bases.find(server(other_base)).await.unwrap().unwrap();
    assert_eq!(shared_base.shared_with, [sales]);
}

async fn concurrent_bases_do_not_exceed_the_quota_of_the_owner(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let names: Vec<String> = (0..10).map(|it| format!("Base {it}")).collect();
    let creations = names.iter().map(|it| bases.create(base_named(it, DEFAULT), QUOTAS, nothing()));
    let created_count = join_all(creations)
        .await
        .into_iter()
        .map(Result::unwrap)
        .filter(|it| *it == BaseChangeOutcome::Done)
        .count();
    assert_eq!(created_count, 5);
    assert_eq!(bases.list(BaseAccess::Server).await.unwrap().len(), 5);

    let refusal = bases.create(base_named("More", DEFAULT), QUOTAS, nothing()).await.unwrap();
    let BaseChangeOutcome::QuotaExceeded { limit, current, .. } = refusal else {
        panic!("{refusal:?}")
    };
    assert_eq!(limit, 5);
    assert_eq!(current, 6);
}

async fn concurrent_changes_of_groups_are_all_stored(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    let first = create_group(&db, "First").await;
    bases.share(travel, exactly(&[first]), QUOTAS, nothing()).await.unwrap();
    let mut groups = Vec::new();
    for name in ["A", "B", "C", "D", "E", "F"] {
        groups.push(create_group(&db, name).await);
    }

    let changes = groups.iter().map(|&group| {
        let change = GroupSelection::Changed { added: vec![group], removed: vec![first] };
        let instance = SqlKnowledgeBases::new(db.clone());
        async move { instance.share(travel, change, QUOTAS, nothing()).await.unwrap() }
    });
    let outcomes = join_all(changes).await;

    assert!(outcomes.iter().all(|it| *it == BaseChangeOutcome::Done), "{outcomes:?}");
    let mut sharing_groups = bases.find(server(travel)).await.unwrap().unwrap().shared_with;
    sharing_groups.sort_unstable();
    assert_eq!(sharing_groups, groups);
}

async fn a_shared_base_counts_for_the_groups_that_search_it(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let mut ids = Vec::new();
    for name in ["A", "B", "C", "D", "E"] {
        ids.push(create_base(&db, name, DEFAULT).await);
    }
    create_base(&db, "Own", sales).await;
    let groups = exactly(&[sales]);
    let shared_count =
        join_all(ids.iter().map(|it| bases.share(*it, groups.clone(), QUOTAS, nothing())))
            .await
            .into_iter()
            .map(Result::unwrap)
            .filter(|it| *it == BaseChangeOutcome::Done)
            .count();
    assert_eq!(shared_count, 4);

    // What is shared already is not counted again.
    let mut repeated_count = 0;
    let mut refused_count = 0;
    for id in &ids {
        match bases.share(*id, exactly(&[sales]), QUOTAS, nothing()).await.unwrap() {
            BaseChangeOutcome::Done => repeated_count += 1,
            _ => refused_count += 1,
        }
    }
    assert_eq!(repeated_count, 4);
    assert_eq!(refused_count, 1);

    let unknown = bases.share(KnowledgeBaseId::generate(), groups, QUOTAS, nothing());
    assert_eq!(unknown.await.unwrap(), BaseChangeOutcome::Unknown);
}

async fn a_base_counts_for_the_groups_of_its_personas(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let ada = create_persona(&db, &[sales]).await;
    let mut ids = Vec::new();
    for name in ["A", "B", "C"] {
        ids.push(create_base(&db, name, DEFAULT).await);
    }
    let quotas = pia_knowledge::GroupQuotas { bases: 2, ..QUOTAS };
    let full_outcome = bases.bind(ada, &ids, quotas, nothing()).await.unwrap();
    assert!(
        matches!(full_outcome, BaseChangeOutcome::QuotaExceeded { limit: 2, current: 3, .. }),
        "{full_outcome:?}"
    );
    assert_eq!(bases.list_bound(ada).await.unwrap().unwrap(), []);
    assert_eq!(
        bases.bind(ada, &ids[..2], quotas, nothing()).await.unwrap(),
        BaseChangeOutcome::Done
    );
    assert_eq!(bases.list_bound(ada).await.unwrap().unwrap(), ids[..2]);

    // Its bases can be exchanged at the quota.
    assert_eq!(
        bases.bind(ada, &ids[1..], quotas, nothing()).await.unwrap(),
        BaseChangeOutcome::Done
    );

    let unknown_base = KnowledgeBaseId::generate();
    let unknown_outcome = bases.bind(ada, &[unknown_base], quotas, nothing()).await.unwrap();
    assert_eq!(unknown_outcome, BaseChangeOutcome::UnknownBase(unknown_base));
    let unknown_outcome = bases.bind(PersonaId::generate(), &[], quotas, nothing()).await.unwrap();
    assert_eq!(unknown_outcome, BaseChangeOutcome::Unknown);
}

async fn a_persona_counts_its_bases_for_the_groups_that_get_it(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let ada = create_persona(&db, &[]).await;
    let ids = [create_base(&db, "A", DEFAULT).await, create_base(&db, "B", DEFAULT).await];
    assert_eq!(bases.bind(ada, &ids, QUOTAS, nothing()).await.unwrap(), BaseChangeOutcome::Done);

    let personas = SqlManagedPersonas::new(db.clone());
    let quotas = |knowledge_bases| PersonaQuotas { personas: 50, knowledge_bases };
    let refusal = personas.assign(ada, exactly(&[sales]), quotas(1), nothing()).await.unwrap();
    let exceeded =
        PersonaAssignmentOutcome::BaseQuotaExceeded { group: "Sales".to_owned(), limit: 1 };
    assert_eq!(refusal, exceeded);
    let done_outcome = personas.assign(ada, exactly(&[sales]), quotas(2), nothing()).await.unwrap();
    assert_eq!(done_outcome, PersonaAssignmentOutcome::Done);
}

async fn statistics_count_documents_and_tokens(db: Database) {
    let bases = SqlKnowledgeBases::new(db.clone());
    let travel = create_base(&db, "Travel", DEFAULT).await;
    create_document(&db, travel, "one two three").await;
    ingest(&db).await;
    create_document(&db, travel, "four").await;

    let stats = bases.stats(server(travel), NOW, QUOTAS).await.unwrap().unwrap();
    assert_eq!(stats.ready, 1);
    assert_eq!(stats.pending, 1);
    assert_eq!(stats.failed, 0);
    assert_eq!(stats.processing, 0);
    assert_eq!(stats.chunk_count, 3);
    assert_eq!(stats.indexed_tokens, 6);
    assert_eq!(stats.size_bytes, 17);
    assert_eq!(stats.document_limit, 3);
    assert_eq!(stats.byte_limit, 1_000);
    assert_eq!(stats.embedding_tokens_this_month, 6);
    assert_eq!(stats.retrieval_count, 0);
    assert_eq!(stats.last_retrieved_at, None);
}
