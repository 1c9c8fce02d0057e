//! Tests of single forms, each sent as its page has it.

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::console::Console;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

use super::html::{PageForm, PageParts};
use super::planted;
use super::strangers::resolve;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    a_plugin_stays_at_its_version_when_it_is_saved,
    a_form_changes_only_the_settings_of_a_group_that_were_changed_in_it,
    a_prompt_that_someone_else_changed_is_not_overwritten,
    an_operator_that_someone_else_changed_is_not_overwritten,
    a_refused_url_of_a_webhook_stays_in_its_field,
    a_group_that_is_gone_is_named_at_its_field,
    another_range_of_usage_has_the_order_the_search_and_the_person,
    a_search_without_a_question_is_refused,
    credits_are_added_once_by_a_form_that_is_sent_twice,
    an_empty_name_of_a_base_stays_beside_its_error,
);

const GROUP: &str = "/admin/groups/00000000-0000-7000-8000-000000000001";

/// Form of a page that was opened.
struct OpenForm<'a> {
    visitor: &'a Visitor<'a>,
    path: String,
    form: PageForm,
}

impl<'a> OpenForm<'a> {
    /// Opens a page with a form whose target ends with this text.
    async fn open(visitor: &'a Visitor<'a>, page: &str, target: &str) -> Self {
        let text = visitor.get(page).await.text();
        let mut forms = PageParts::parse(&text).forms.into_iter();
        let form = forms.find(|it| it.action.ends_with(target)).expect("a form");
        let path = resolve(page, &form.action).expect("a path");
        Self { visitor, path, form }
    }

    /// Sends it with these values in place of those of the page.
    async fn send(&self, values: &[(&str, &str)]) -> TestResponse {
        self.visitor.post(&self.path, &[], &self.form.encode_with(values)).await
    }
}

async fn a_plugin_stays_at_its_version_when_it_is_saved(database: TestDatabase) {
    let configuration = r#"{"transport":"stdio","command":"tickets.exe"}"#;
    let app = start_with_admin(TestConfig::on(database)).await;
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let plugin = json!({
        "kind": "mcp_server", "name": "Tickets", "version": "2.5", "configJson": configuration,
    });
    let created = console.write("POST", "/api/admin/plugins", plugin).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let id = created.body["id"].as_str().expect("an id");
    let page = format!("/admin/plugins/{id}");

    let renaming = [("name", "Issues"), ("configJson", configuration)];
    let renamed = OpenForm::open(&ada, &page, "/save").await.send(&renaming).await;
    let after_renaming = console.get(&format!("/api/admin/plugins/{id}")).await;
    let update = [("name", "Issues"), ("version", "2.6"), ("configJson", configuration)];
    let updated = OpenForm::open(&ada, &page, "/save").await.send(&update).await;
    let after_update = console.get(&format!("/api/admin/plugins/{id}")).await;

    assert_eq!(renamed.status, 303, "{}", renamed.text());
    assert_eq!(after_renaming.body["name"], "Issues", "{}", after_renaming.text());
    assert_eq!(after_renaming.body["version"], "2.5", "{}", after_renaming.text());
    assert_eq!(updated.status, 303, "{}", updated.text());
    assert_eq!(after_update.body["version"], "2.6", "{}", after_update.text());
}

async fn a_form_changes_only_the_settings_of_a_group_that_were_changed_in_it(
    database: TestDatabase,
) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let earlier = OpenForm::open(&ada, GROUP, "/settings").await;
    let later = OpenForm::open(&ada, GROUP, "/settings").await;

    let with_limit = earlier.send(&[("credits.daily", "500")]).await;
    let refused = later.send(&[("credits.weekly", "many")]).await;
    let text = refused.text();
    let mut refused_forms = PageParts::parse(&text).forms.into_iter();
    let form = refused_forms.find(|it| it.action.ends_with("/settings")).expect("a form");
    let again = OpenForm { form, path: later.path.clone(), visitor: &ada };
    let with_other_limit = again.send(&[("credits.weekly", "900")]).await;
    let unchanged = later.send(&[]).await;

    for answer in [with_limit, with_other_limit, unchanged] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert_eq!(refused.status, 400, "{text}");
    let settings = console.get(&format!("/api{GROUP}/settings")).await;
    assert_eq!(settings.body["credits"]["daily"], 500, "{}", settings.text());
    assert_eq!(settings.body["credits"]["weekly"], 900, "{}", settings.text());
    assert_eq!(app.count("audit_entries WHERE action = 'Group.SettingsChanged'").await, 2);
}

/// Creates a knowledge base. Returns the path of its page.
async fn create_base(app: &TestApp, ada: &Visitor<'_>) -> String {
    app.admin("kb create Handbook default").await.expect("a base");
    let list = ada.get("/admin/knowledge").await.text();
    let mut ids = list.split("admin/knowledge/").filter_map(|it| it.get(..36));
    let id = ids.find_map(|it| Uuid::try_parse(it).ok()).expect("an id");
    format!("/admin/knowledge/{id}")
}

async fn a_prompt_that_someone_else_changed_is_not_overwritten(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let page = format!("{}/settings", create_base(&app, &ada).await);
    let form = OpenForm::open(&ada, &page, "/prompt").await;

    let first = form.send(&[("prompt", "For rules.\r\nAlways.")]).await;
    let second = form.send(&[("prompt", "Never.")]).await;
    let unchanged = form.send(&[]).await;
    let reopened = OpenForm::open(&ada, &page, "/prompt").await;
    let third = reopened.send(&[("prompt", "For rules only.")]).await;

    for answer in [first, unchanged, third] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    let refusal = second.text();
    assert_eq!(second.status, 412, "{refusal}");
    for part in ["Someone else changed this", "\nNever.</textarea>"] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
    let after = ada.get(&page).await.text();
    assert!(after.contains("\nFor rules only.</textarea>"), "{after}");
    assert_eq!(app.count("audit_entries WHERE action = 'KnowledgeBase.PromptUpdated'").await, 2);
}

async fn an_operator_that_someone_else_changed_is_not_overwritten(database: TestDatabase) {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(database, &upstream)).await;
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let operators = console.get("/api/admin/operators").await.body;
    let id = operators[0]["id"].as_str().expect("an id");
    let page = format!("/admin/operators/{id}");
    let form = OpenForm::open(&ada, &page, "/edit").await;

    let first = form.send(&[("name", "Briefings")]).await;
    let second = form.send(&[("name", "Summaries")]).await;
    let third = OpenForm::open(&ada, &page, "/edit").await.send(&[("name", "Notes")]).await;

    for answer in [first, third] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    let refusal = second.text();
    assert_eq!(second.status, 412, "{refusal}");
    for part in ["Someone else changed this", "value=\"Summaries\"", "<h1>Briefings</h1>"] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
}

async fn a_refused_url_of_a_webhook_stays_in_its_field(database: TestDatabase) {
    const URL: &str = "http://hooks.example/done";
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(database, &upstream)).await;
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let operators = console.get("/api/admin/operators").await.body;
    let id = operators[0]["id"].as_str().expect("an id");
    let page = format!("/admin/operators/{id}");

    let answer = OpenForm::open(&ada, &page, "/webhook").await.send(&[("url", URL)]).await;

    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains(&format!("value=\"{URL}\"")), "{}", answer.text());
}

async fn an_empty_name_of_a_base_stays_beside_its_error(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let page = format!("{}/settings", create_base(&app, &ada).await);

    let answer = OpenForm::open(&ada, &page, "/rename").await.send(&[("name", " ")]).await;

    assert_eq!(answer.status, 400, "{}", answer.text());
    let field = "name=\"name\" type=\"text\" value=\"\"";
    assert!(answer.text().contains(field), "{}", answer.text());
}

async fn a_group_that_is_gone_is_named_at_its_field(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let bob = app.sign_up("bob@example.org").await.user.expect("an id");
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let group = console.write("POST", "/api/admin/groups", json!({ "name": "Sales" })).await;
    let group = group.body["id"].as_str().expect("an id");
    let document = json!({ "enforce": { "theme": "dark" } }).to_string();
    let draft = json!({ "name": "Theme", "document": document });
    let policy = console.write("POST", "/api/admin/client-policies", draft).await;
    let policy = policy.body["id"].as_str().unwrap_or_else(|| panic!("{}", policy.text()));
    let of_user = OpenForm::open(&ada, &format!("/admin/users/{bob}"), "/group").await;
    let of_policy = OpenForm::open(&ada, &format!("/admin/policies/{policy}"), "/publish").await;
    let path = format!("/api/admin/groups/{group}");
    assert_eq!(console.write("DELETE", &path, Value::Null).await.status, 200);

    for form in [of_user, of_policy] {
        let answer = form.send(&[("group", group)]).await;
        let page = answer.text();

        assert_eq!(answer.status, 400, "{page}");
        assert!(page.contains("-group\">Group: This group does not exist any more."), "{page}");
    }
}

async fn another_range_of_usage_has_the_order_the_search_and_the_person(database: TestDatabase) {
    const OF_MODELS: &str = "&sort=-calls&search=gpt";
    const OF_PERSON: &str = "&user=ada%40example.org";
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let ranges = |page: &str, parameters: &str| {
        let links = PageParts::parse(page).links;
        links.iter().filter(|it| it.contains("from=") && it.ends_with(parameters)).count()
    };

    let of_models = ada.get(&format!("/admin/usage?by=model{OF_MODELS}")).await.text();
    let of_person = ada.get(&format!("/admin/usage?by=user{OF_PERSON}")).await.text();

    assert_eq!(ranges(&of_models, OF_MODELS), 4, "{of_models}");
    assert_eq!(ranges(&of_person, OF_PERSON), 4, "{of_person}");
    for field in ["name=\"sort\" value=\"-calls\"", "name=\"search\" value=\"gpt\""] {
        assert!(of_models.contains(field), "{field}: {of_models}");
    }
    assert_eq!(of_person.matches("name=\"user\"").count(), 1, "{of_person}");
}

async fn a_search_without_a_question_is_refused(database: TestDatabase) {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(database, &upstream)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let page = format!("{}/search", create_base(&app, &ada).await);

    let answer = OpenForm::open(&ada, &page, "/search").await.send(&[("question", " ")]).await;

    let text = answer.text();
    assert_eq!(answer.status, 400, "{text}");
    assert!(text.contains("<a href=\"#search-question\">"), "{text}");
    assert!(!text.contains("No passage is relevant enough"), "{text}");
}

async fn credits_are_added_once_by_a_form_that_is_sent_twice(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let form = OpenForm::open(&ada, GROUP, "/top-up").await;

    let first = form.send(&[("credits", "100")]).await;
    let second = form.send(&[("credits", "100")]).await;
    let count = app.count("audit_entries WHERE action = 'Group.ToppedUp'").await;
    let reopened = OpenForm::open(&ada, GROUP, "/top-up").await;
    let third = reopened.send(&[("credits", "100")]).await;

    for answer in [first, third] {
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    let page = second.text();
    assert_eq!(second.status, 400, "{page}");
    assert!(page.contains("Credits were added in the meantime."), "{page}");
    assert_eq!(count, 1);
}
