//! Tests of `pia-server admin group …`, by which operators administer groups.

use pia_policy::{Edition, Terms};
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

on_both_databases!(
    groups_are_made_named_filled_and_taken_away,
    what_members_may_is_displayed_and_changed_all_or_nothing,
    models_that_are_none_are_set_with_a_warning,
    what_is_done_to_groups_is_in_the_audit_log,
    without_the_feature_there_is_one_group_whose_members_may_what_is_set,
);

async fn report_of(app: &TestApp, line: &str) -> String {
    app.admin(line).await.unwrap_or_else(|err| err.to_string())
}

/// Name of the group in the account's export.
async fn group_of(person: &Client) -> String {
    let json = [("Accept", "application/json")];
    let export = person.send("GET", "/auth/account/export", &json, b"").await;
    export.body["data"]["account"][0]["group"].as_str().unwrap_or_default().to_owned()
}

async fn groups_are_made_named_filled_and_taken_away(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let default = "00000000-0000-7000-8000-000000000001";

    let created = report_of(&app, "group create Sales").await;
    let id = created.split(' ').next_back().unwrap_or_default().trim_end().to_owned();
    let taken = report_of(&app, "group create SALES").await;
    let added = report_of(&app, "group add ADA@example.org sales").await;
    let inside = group_of(&ada).await;
    let listed = report_of(&app, "group list").await;
    let full = report_of(&app, &format!("group delete {id}")).await;
    let renamed = report_of(&app, &format!("group rename {id} Support")).await;
    report_of(&app, "group add ada@example.org default").await;
    let deleted = report_of(&app, "group delete support").await;

    assert!(created.starts_with("Group Sales created: "), "{created}");
    assert_eq!(taken, "another group has this name; names are case-insensitive");
    assert_eq!(added, "User ada@example.org moved to group Sales\n");
    assert_eq!(inside, "Sales");
    assert_eq!(
        listed,
        format!("{default} Default (default), members: 0\n{id} Sales, members: 1\n")
    );
    assert!(full.contains("the group is in use by 1 member"), "{full}");
    assert_eq!(renamed, "Group Sales renamed to Support\n");
    assert_eq!(deleted, "Group Support deleted\n");
    assert_eq!(group_of(&ada).await, "Default");
    for (line, why) in [
        ("group delete default", "the default group cannot be deleted"),
        ("group delete Sales", "no group has the name or id Sales"),
        ("group show 0199f0e0-0000-7000-8000-000000000001", "no group has the name or id 0"),
        ("group add ada@example.org Sales", "no group has the name or id Sales"),
        ("group add nobody@example.org default", "no account has the address nobody@"),
    ] {
        let reported = report_of(&app, line).await;
        assert!(reported.starts_with(why), "{reported}");
    }
    assert_eq!(
        report_of(&app, "group list").await,
        format!("{default} Default (default), members: 1\n")
    );
}

async fn what_members_may_is_displayed_and_changed_all_or_nothing(database: TestDatabase) {
    let app = with_catalogue(TestConfig::on(database)).start().await;
    report_of(&app, "group create Sales").await;

    let before = report_of(&app, "group show sales").await;
    let set = "group set Sales quota.KnowledgeBases=10 credits.weekly=5000 credits.pool=true \
               mode.assistant=big persona.FAST=small models=big,small";
    let change_report = report_of(&app, set).await;
    let refused = report_of(&app, "group set Sales credits.daily=7 credits.hourly=-1").await;
    let presented = report_of(&app, "group show Sales").await;
    let cleared = report_of(
        &app,
        "group set Sales quota.KnowledgeBases= credits.weekly= credits.pool= mode.Assistant= \
         persona.fast= models=",
    )
    .await;
    let default_group = report_of(&app, "group show default").await;

    let settings = |of: &str| of.split_once('\n').map(|(_, rest)| rest.to_owned());
    assert_eq!(
        settings(&before).as_deref(),
        Some(
            "quota.KnowledgeBases=5 (default)\nquota.KnowledgeDocuments=100 (default)\n\
             quota.KnowledgeStorageBytes=52428800 (default)\n\
             quota.MonthlyEmbeddingTokens=5000000 (default)\nquota.ManagedPersonas=50 (default)\n\
             quota.UserStorageBytes= (default)\n\
             credits.hourly=0 (no limit)\ncredits.daily=0 (no limit)\n\
             credits.weekly=0 (no limit)\ncredits.group-daily=0 (no limit)\n\
             credits.group-weekly=0 (no limit)\ncredits.pool=false\nmodels=\n"
        )
    );
    for line in [
        "quota.KnowledgeBases=10\n",
        "credits.weekly=5000\n",
        "credits.pool=true\n",
        "mode.Assistant=big\n",
        "persona.fast=small\n",
        "models=big,small\n",
    ] {
        assert!(change_report.contains(line), "{change_report}");
    }
    assert_eq!(refused, "a limit is a whole number, 0 to 1000000000000");
    assert_eq!(settings(&presented), Some(change_report));
    assert_eq!(Some(cleared), settings(&before));
    assert_eq!(settings(&default_group), settings(&before));
}

async fn models_that_are_none_are_set_with_a_warning(database: TestDatabase) {
    let app = with_catalogue(TestConfig::on(database)).start().await;

    let set = "group set default mode.Research=web persona.code=BIG models=small,typo,Web,typo";
    let set = report_of(&app, set).await;
    let presented = report_of(&app, "group show default").await;
    let cleared = report_of(&app, "group set default mode.Research= persona.code= models=").await;

    let warnings = "warning: `web` is a web search, not a chat model; it is ignored\n\
                    warning: `typo` is not an entry of Ai:Providers; it is ignored\n";
    assert!(set.ends_with(warnings), "{set}");
    assert_eq!(set.matches("warning").count(), 2, "{set}");
    for line in ["mode.Research=web\n", "persona.code=BIG\n", "models=small,typo,Web\n"] {
        assert!(presented.contains(line), "{presented}");
    }
    assert!(!presented.contains("warning") && !cleared.contains("warning"), "{presented}{cleared}");
}

/// Configures the models `big` and `small`, and the search `web`.
fn with_catalogue(setting: TestConfig) -> TestConfig {
    let entries = [("big", "OpenAI"), ("small", "OpenAI"), ("web", "Linkup")];
    entries.into_iter().enumerate().fold(setting, |setting, (at, (id, kind))| {
        let name = |key: &str| format!("Ai__Providers__{at}__{key}");
        setting
            .with(&name("Id"), id)
            .with(&name("ProviderType"), kind)
            .with(&name("ApiKey"), "sk-of-an-entry")
            .with(&name("Model"), if kind == "Linkup" { "fast" } else { id })
    })
}

async fn what_is_done_to_groups_is_in_the_audit_log(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    app.sign_up("ada@example.org").await;

    for line in [
        "group create Sales",
        "group rename Sales Support",
        "group set Support credits.daily=5",
        "group add ada@example.org Support",
        "group add ada@example.org Default",
        "group delete Support",
    ] {
        report_of(&app, line).await;
    }

    for (action, many) in [
        ("Group.Created", 1),
        ("Group.Renamed", 1),
        ("Group.SettingsChanged", 1),
        ("Group.MemberAdded", 2),
        ("Group.Deleted", 1),
    ] {
        let named = format!("audit_entries WHERE action = '{action}' AND object LIKE 'group:%'");
        assert_eq!(app.count(&named).await, many, "{action}");
    }
    let sides = "audit_identities WHERE part = 'subject' AND entry_id IN \
                 (SELECT id FROM audit_entries WHERE action = 'Group.MemberAdded')";
    assert_eq!(app.count(sides).await, 2);
}

async fn without_the_feature_there_is_one_group_whose_members_may_what_is_set(
    database: TestDatabase,
) {
    let community = Terms::new("A test", Edition::Community, terms().issued_at);
    let app = TestConfig::on(database).licensed(Some(community)).start().await;

    let created = report_of(&app, "group create Sales").await;
    let set = report_of(&app, "group set default credits.daily=5").await;

    assert_eq!(created, "no valid licence includes GroupManagement");
    assert!(set.contains("credits.daily=5\n"), "{set}");
    assert_eq!(app.count("user_groups").await, 1);
}
