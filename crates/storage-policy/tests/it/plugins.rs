//! Contract tests of plugins, their files and trusted certificates.

use bytes::Bytes;
use futures_util::future::join_all;
use pia_kernel::{CertificateId, GroupId, GroupSelection, PluginId};
use pia_policy::{
    CertificateStore, PluginChangeOutcome, PluginContent, PluginDraft, PluginStore, PluginUpdate,
    PublishedPlugin, SignedPackage, TrustedCertificate,
};
use pia_storage::Database;
use pia_storage_policy::{SqlCertificates, SqlPlugins};
use uuid::Uuid;

use crate::people::{DEFAULT, START, catalogue_version, count_noted, create_group, noting};
use crate::personas::exactly;

pia_testkit::contract! {
    a_plugin_is_stored_listed_replaced_and_deleted,
    a_built_in_plugin_can_only_be_disabled,
    one_of_concurrent_updates_of_one_version_is_stored,
    groups_get_only_their_plugins,
    concurrent_changes_of_groups_are_all_stored,
    a_package_of_a_trusted_signer_is_read_from_any_offset,
    an_icon_is_replaced_and_removed,
    one_of_concurrent_equal_certificates_is_stored,
}

const MEMORY: PluginId = PluginId(Uuid::from_u128(0x1000_0000_0000_0000_0000_0000_0000_0001));
const SIGNER: &str = "A618531235640D4C44DD66FEC183F2B342C716A0";

fn content(name: &str) -> PluginContent {
    let draft = PluginDraft {
        kind: Some("mcp_server".to_owned()),
        name: Some(name.to_owned()),
        config_json: Some(r#"{"transport":"stdio"}"#.to_owned()),
        ..PluginDraft::default()
    };
    draft.validate().unwrap()
}

pub(crate) async fn create_plugin(plugins: &SqlPlugins, name: &str) -> PublishedPlugin {
    let plugin = PublishedPlugin {
        id: PluginId::generate(),
        content: content(name),
        is_built_in: false,
        is_active: true,
        package: None,
        icon_url: None,
        updated_at: START,
    };
    plugins.create(plugin.clone(), noting("create")).await.unwrap();
    plugin
}

fn update(name: &str) -> PluginUpdate {
    PluginUpdate { content: content(name), is_active: Some(false), expected: None }
}

fn certificate() -> TrustedCertificate {
    TrustedCertificate {
        id: CertificateId::generate(),
        name: "Example Plugins".to_owned(),
        thumbprint: SIGNER.to_owned(),
        der: vec![48, 0],
        updated_at: START,
    }
}

fn package(file: &Bytes, hash: &str) -> (SignedPackage, Bytes) {
    let package =
        SignedPackage { hash: hash.to_owned(), size: file.len() as u64, signer: SIGNER.to_owned() };
    (package, file.clone())
}

async fn a_plugin_is_stored_listed_replaced_and_deleted(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let plugin = create_plugin(&plugins, "Tickets").await;
    assert_eq!(plugins.find(plugin.id).await.unwrap(), Some(plugin.clone()));
    let listed_plugins = plugins.all().await.unwrap();
    let names: Vec<_> = listed_plugins.iter().map(|it| &*it.plugin.content.name).collect();
    assert_eq!(names, ["Memory", "Reminder", "Todo", "Tickets"]);

    let replacement_outcome =
        plugins.replace(plugin.id, update("Desk"), START, noting("update")).await;
    assert_eq!(replacement_outcome.unwrap(), PluginChangeOutcome::Done);
    let stored_plugin = plugins.find(plugin.id).await.unwrap().unwrap();
    assert_eq!(stored_plugin.content, content("Desk"));
    assert!(!stored_plugin.is_active);
    assert!(stored_plugin.updated_at > plugin.updated_at);

    let version = catalogue_version(&db).await;
    for expected in [PluginChangeOutcome::Done, PluginChangeOutcome::Unknown] {
        let deletion_outcome = plugins.delete(plugin.id, START, noting("delete")).await;
        assert_eq!(deletion_outcome.unwrap(), expected);
    }
    assert_eq!(plugins.find(plugin.id).await.unwrap(), None);
    assert_eq!(catalogue_version(&db).await, version + 1);
    assert_eq!(count_noted(&db, "delete").await, 1);
}

async fn a_built_in_plugin_can_only_be_disabled(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let off = plugins.replace(MEMORY, update("Memory"), START, noting("update")).await;
    assert_eq!(off.unwrap(), PluginChangeOutcome::Done);
    assert!(plugins.find(MEMORY).await.unwrap().is_some_and(|it| !it.is_active));

    let file = Bytes::from_static(b"MSCF");
    let refusals = [
        plugins.delete(MEMORY, START, noting("refused")).await,
        plugins.assign(MEMORY, exactly(&[DEFAULT]), noting("refused")).await,
        plugins.store_icon(MEMORY, None, START, noting("refused")).await,
        plugins.store_package(MEMORY, package(&file, "a"), START, noting("refused")).await,
    ];
    assert!(refusals.into_iter().all(|it| it.unwrap() == PluginChangeOutcome::BuiltIn));
    assert_eq!(count_noted(&db, "refused").await, 0);
}

async fn one_of_concurrent_updates_of_one_version_is_stored(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let plugin = create_plugin(&plugins, "Tickets").await;
    let expecting = PluginUpdate { expected: Some(plugin.updated_at), ..update("Desk") };

    let replacements =
        (0..20).map(|_| plugins.replace(plugin.id, expecting.clone(), START, noting("one")));
    let outcomes = join_all(replacements).await.into_iter().map(Result::unwrap);

    assert_eq!(outcomes.filter(|it| *it == PluginChangeOutcome::Done).count(), 1);
    assert_eq!(count_noted(&db, "one").await, 1);
}

async fn groups_get_only_their_plugins(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let plugin = create_plugin(&plugins, "Tickets").await;
    let sales = create_group(&db, "Sales").await;
    let unknown_group = GroupId::generate();
    let refused_outcome = plugins
        .assign(plugin.id, exactly(&[sales, unknown_group]), noting("assign"))
        .await
        .unwrap();
    assert_eq!(refused_outcome, PluginChangeOutcome::UnknownGroup(unknown_group));
    assert_eq!(plugins.groups_of(plugin.id).await.unwrap(), Some(Vec::new()));

    plugins.assign(plugin.id, exactly(&[sales]), noting("assign")).await.unwrap();

    assert_eq!(plugins.groups_of(plugin.id).await.unwrap(), Some(vec![sales]));
    assert!(plugins.of_group(sales, plugin.id).await.unwrap().is_some());
    assert!(plugins.of_group(DEFAULT, plugin.id).await.unwrap().is_none());
    assert!(plugins.of_group(DEFAULT, MEMORY).await.unwrap().is_some());
    assert_eq!(plugins.groups_of(PluginId::generate()).await.unwrap(), None);
    for (of, expected) in [
        (sales, &["Memory", "Reminder", "Todo", "Tickets"][..]),
        (DEFAULT, &["Memory", "Reminder", "Todo"]),
    ] {
        let names = plugins.names_of_group(of).await.unwrap();
        assert_eq!(names.iter().map(|it| it.1.as_str()).collect::<Vec<_>>(), expected);
    }
}

async fn concurrent_changes_of_groups_are_all_stored(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let plugin = create_plugin(&plugins, "Tickets").await.id;
    plugins.assign(plugin, exactly(&[DEFAULT]), noting("assign")).await.unwrap();
    let mut groups = Vec::new();
    for name in ["A", "B", "C", "D", "E", "F"] {
        groups.push(create_group(&db, name).await);
    }

    let changes = groups.iter().map(|&group| {
        let change = GroupSelection::Changed { added: vec![group], removed: vec![DEFAULT] };
        let instance = SqlPlugins::new(db.clone());
        async move { instance.assign(plugin, change, noting("assign")).await.unwrap() }
    });
    let outcomes = join_all(changes).await;

    assert_eq!(outcomes, [PluginChangeOutcome::Done; 6]);
    assert_eq!(plugins.groups_of(plugin).await.unwrap(), Some(groups));
}

async fn a_package_of_a_trusted_signer_is_read_from_any_offset(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let certificates = SqlCertificates::new(db.clone());
    let plugin = create_plugin(&plugins, "Tickets").await;
    let file: Bytes =
        (0..600_000_u32).map(|it| it.to_le_bytes()[0] ^ it.to_le_bytes()[2]).collect();
    let store = async |hash| {
        plugins
            .store_package(plugin.id, package(&file, hash), START, noting("store"))
            .await
            .unwrap()
    };
    assert_eq!(store("first").await, PluginChangeOutcome::Untrusted);

    certificates.add(certificate(), noting("trust")).await.unwrap();
    assert_eq!(store("first").await, PluginChangeOutcome::Done);

    for start in [0, 1, 262_143, 262_144, 599_999] {
        let mut content = Vec::new();
        loop {
            let offset = (start + content.len()) as u64;
            let piece = plugins.package_bytes(plugin.id, "first", offset).await.unwrap();
            let Some(bytes) = piece else { break };
            content.extend(bytes);
        }
        assert!(content == file[start..], "{start}");
    }
    assert_eq!(store("second").await, PluginChangeOutcome::Done);
    assert_eq!(plugins.package_bytes(plugin.id, "first", 0).await.unwrap(), None);

    let stored_package = plugins.find(plugin.id).await.unwrap().unwrap().package.unwrap();
    assert_eq!(stored_package.hash, "second");
    assert_eq!(stored_package.size, 600_000);

    plugins.delete(plugin.id, START, noting("delete")).await.unwrap();
    assert_eq!(plugins.package_bytes(plugin.id, "second", 0).await.unwrap(), None);
}

async fn an_icon_is_replaced_and_removed(db: Database) {
    let plugins = SqlPlugins::new(db.clone());
    let plugin = create_plugin(&plugins, "Tickets").await;
    for icon in [Some("one"), Some("two"), None] {
        let png = icon.map(|it| Bytes::from_static(it.as_bytes()));
        plugins.store_icon(plugin.id, png, START, noting("icon")).await.unwrap();
        let stored_icon = plugins.icon(plugin.id).await.unwrap();
        assert_eq!(stored_icon.as_deref(), icon.map(str::as_bytes));
        let url = plugins.find(plugin.id).await.unwrap().unwrap().icon_url;
        assert_eq!(url, icon.map(|_| format!("/api/plugins/{}/icon", plugin.id)));
    }
}

async fn one_of_concurrent_equal_certificates_is_stored(db: Database) {
    let certificates = SqlCertificates::new(db.clone());
    let additions = (0..20).map(|_| certificates.add(certificate(), noting("trust")));
    let added_count =
        join_all(additions).await.into_iter().map(Result::unwrap).filter(|it| *it).count();
    let listed_certificates = certificates.all().await.unwrap();
    assert_eq!(added_count, 1);
    assert_eq!(listed_certificates.len(), 1);
    assert_eq!(count_noted(&db, "trust").await, 1);

    assert!(certificates.remove(listed_certificates[0].id, noting("remove")).await.unwrap());
    assert!(!certificates.remove(listed_certificates[0].id, noting("remove")).await.unwrap());
    assert_eq!(certificates.all().await.unwrap().len(), 0);
    assert_eq!(count_noted(&db, "remove").await, 1);
}
