//! The benchmark of pods, from a connected one to its report.
//!
//! Instances run in this process (`instance.rs`), and a real pod of the crate `pod`
//! connects to the first. On PostgreSQL a second instance calls the same pod through
//! the relay.

mod figures;
mod instance;
mod round;

use pia_identity::DEFAULT_GROUP;
use pia_kernel::SystemClock;
use pia_pods::{ConnectorDraft, Connectors, GrantedPods, NoToolServers, PodRegistry};
use pia_storage::Database;
use pia_storage_pods::{SqlConnectors, SqlPodRegistry};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;

use crate::failure::Outcome;
use crate::measured::{self, Figures};
use crate::options::Options;
use crate::postgres::OwnDatabase;
use crate::servers::{log_progress, publish};
use crate::{database, machine};
use figures::Metric;
use instance::Instance;
use round::Round;

const READING: &str = "\
A pod of the crate `pia-pod` has a tool that echoes its arguments, and is connected to an instance in the
process of the benchmark. \"Raw echo\" is a text over a WebSocket of the same server, as the limit. A call is
that of a chat: the grant is checked, the arguments are checked, and the pod is called; the audit log is
written afterwards, which \"record\" is alone. Grants are read once a second, so that the first call in a
while reads them. With PostgreSQL, another instance calls the same pod, through rows and notifications;
\"direct\" is the alternative: a request over a persistent, unencrypted HTTP connection to the pod's
instance, without the audit.
";

/// Number of requests of each figure, and of rounds.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rounds: u32,
    requests: usize,
    quick: bool,
}

impl Plan {
    fn from_options(options: &Options) -> Self {
        let plan = if options.quick {
            Self { rounds: 2, requests: 100, quick: true }
        } else {
            Self { rounds: 5, requests: 1_000, quick: false }
        };
        Self { rounds: options.rounds.unwrap_or(plan.rounds), ..plan }
    }
}

/// Runs the rounds, prints the report and writes it to a file if requested.
///
/// Fails if a call fails, never because of a time.
pub fn pods(options: &Options) -> Outcome<()> {
    let plan = Plan::from_options(options);
    let dir = tempfile::tempdir()?;
    let postgres = options.postgres_url.as_deref().map(OwnDatabase::create).transpose()?;
    let mut facts = machine::describe(dir.path());
    let mut urls = vec![("SQLite", None)];
    if let Some(own) = &postgres {
        facts.push(("PostgreSQL", own.describe()?));
        urls.push(("PostgreSQL", Some(own.url.as_str())));
    }

    let runtime = Runtime::new()?;
    let mut figures = Figures::default();
    for (place, (name, url)) in urls.iter().enumerate() {
        let db = runtime.block_on(database::open(dir.path(), *url))?;
        let token = runtime.block_on(create_token(&db))?;
        let instance = Instance::start(&runtime, &db)?;
        let other = url.is_some().then(|| Instance::start(&runtime, &db)).transpose()?;
        let _pod = instance.connect_pod(&runtime, &token)?;
        let round = Round { plan, runtime: &runtime, instance: &instance, other: other.as_ref() };
        round.until_ready()?;

        for number in 1..=plan.rounds {
            log_progress(&format!("{name}, round {number} of {}", plan.rounds));
            round.run(|metric, value| figures.record(place, metric, value))?;
        }
    }

    let names: Vec<_> = urls.iter().map(|it| it.0).collect();

    publish(options, "pods", &render(plan, &names, &facts, &figures))
}

/// Creates a connector that is granted to the default group. Returns its token.
async fn create_token(db: &Database) -> Outcome<pia_kernel::Secret<String>> {
    let registry: Arc<dyn PodRegistry> =
        Arc::new(SqlPodRegistry::new(db.clone(), TaskTracker::new()));
    let connectors = Connectors {
        store: Arc::new(SqlConnectors::new(db.clone())),
        granted: GrantedPods::new(Arc::clone(&registry), Arc::new(SystemClock)),
        registry,
        servers: Arc::new(NoToolServers),
        clock: Arc::new(SystemClock),
    };

    let groups = vec![DEFAULT_GROUP];
    let draft = ConnectorDraft { name: "echo".to_owned(), groups, skill: None, mcp: None };
    let created = connectors.create(None, draft).await?;

    created.token.ok_or_else(|| "no token".into())
}

fn render(
    plan: Plan,
    names: &[&str],
    facts: &[(&'static str, String)],
    figures: &Figures<Metric>,
) -> String {
    let Plan { rounds, requests, quick } = plan;
    let trial_note = if quick { " **A quick run: a trial, not a result.**" } else { "" };
    let parts = [
        format!("## Pods\n\nMedians over {rounds} rounds of {requests} requests.{trial_note}"),
        figures.medians(names).render(),
        READING.to_owned(),
        "### Aims of pods".to_owned(),
        figures.aims_by("Database", names).render(),
        measured::machine(facts).render(),
    ];
    parts.map(|it| it.trim_end().to_owned()).join("\n\n") + "\n"
}
