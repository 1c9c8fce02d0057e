//! Tests of the administration of assignments.

use pia_kernel::ScheduleId;

use super::*;
use crate::fakes::{NOW, brief, clock};
use crate::{
    MessageAuthor, MockAssignmentStore, MockOperatorStore, MockRunStore, MockScheduleStore,
    MockWorkflowEngine,
};

/// Stores of the administration, with the expectations of a test.
#[derive(Default)]
struct MockStores {
    assignments: MockAssignmentStore,
    operators: MockOperatorStore,
    schedules: MockScheduleStore,
}

fn administration_with(stores: MockStores) -> AssignmentAdministration {
    let mut engine = MockWorkflowEngine::new();
    engine.expect_stop().withf(|_, mode| *mode == StopMode::Terminate).returning(|_, _| Ok(()));
    AssignmentAdministration {
        assignments: Arc::new(stores.assignments),
        runs: Arc::new(MockRunStore::new()),
        schedules: Arc::new(stores.schedules),
        operators: Arc::new(stores.operators),
        engine: Arc::new(engine),
        clock: clock(),
    }
}

#[tokio::test]
async fn a_reason_is_cut_and_belongs_to_its_author() {
    let mut assignments = MockAssignmentStore::new();
    assignments.expect_terminate().returning(|_, end, effects| {
        assert_eq!(effects.audit.len(), 1);
        let is_reason = utf16_len(&end.event.message) == MAX_ERROR_CHARS;
        assert_eq!(end.event.author == MessageAuthor::Other, is_reason);
        Ok(true)
    });
    let administration = administration_with(MockStores { assignments, ..MockStores::default() });

    for reason in [None, Some(" "), Some("x".repeat(2000).as_str())] {
        let id = AssignmentId::generate();
        assert!(administration.terminate(None, id, reason).await.unwrap());
    }
}

#[tokio::test]
async fn built_in_operators_keep_their_ids() {
    let mut operators = MockOperatorStore::new();
    operators.expect_put_built_in().returning(|operators| {
        let names: Vec<_> = operators.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["Research", "Brief"]);
        let id = operators[1].id.to_string();
        assert_eq!(id, "00000000-0000-7000-8000-000000000102");
        Ok(())
    });

    let administration = administration_with(MockStores { operators, ..MockStores::default() });

    administration.put_built_in().await.unwrap();
}

#[tokio::test]
async fn an_unusable_skill_is_refused_before_anything_is_stored() {
    let administration = administration_with(MockStores::default());
    let no_steps = Skill { steps: Vec::new(), ..brief() };
    let unnamed = Skill { name: "two words".to_owned(), ..brief() };
    let mut silent = brief();
    silent.steps[0].instructions = " ".to_owned();
    let mut two_lines = brief();
    two_lines.steps[0].title = "a\nb".to_owned();

    let mut endless = brief();
    endless.steps[0].max_output = Some(0);

    for (name, skill, field) in [
        ("", Some(brief()), OperatorField::Name),
        ("Name", None, OperatorField::Skill),
        ("Name", Some(no_steps), OperatorField::Steps),
        ("Name", Some(unnamed), OperatorField::Skill),
        ("Name", Some(silent), OperatorField::StepInstructions(0)),
        ("Name", Some(two_lines), OperatorField::StepTitle(0)),
        ("Name", Some(endless), OperatorField::StepOutput(0)),
        ("a\0", Some(brief()), OperatorField::Name),
    ] {
        let draft = OperatorDraft { name: name.to_owned(), is_active: Some(true), skill };
        let err = administration.create(None, draft).await.unwrap_err();
        assert!(matches!(err, OperatorError::Invalid(it, _) if it == field), "{name}: {err:?}");
    }
}

#[tokio::test]
async fn a_page_of_schedules_ends_with_the_cursor_of_the_next() {
    let entry = ScheduleEntry {
        id: ScheduleId::generate(),
        user: UserId::generate(),
        skill: "brief".to_owned(),
        cron: "0 0 * * *".to_owned(),
        time_zone: "UTC".to_owned(),
        next_at: None,
        last: None,
        created_at: NOW,
    };
    let mut schedules = MockScheduleStore::new();
    let entries = vec![entry.clone(); 3];
    schedules
        .expect_page()
        .withf(|user, page| user.is_none() && page.limit == 3)
        .returning(move |_, _| Ok(entries.clone()));
    let administration = administration_with(MockStores { schedules, ..MockStores::default() });

    let request = PageRequest { after: None, limit: 2 };
    let page = administration.schedules(None, request).await.unwrap();

    assert_eq!(page.next, Some(Cursor { at: NOW, id: entry.id.0 }));
    assert_eq!(page.items, [entry.clone(), entry]);
}
