//! Tests over each workflow engine.

use pia_server_testkit::harness::TestConfig;

tokio::task_local! {
    /// Address of the engine of a test.
    static ADDRESS: String;
}

/// Generates a test of each case for each database, with roles too, and for each
/// engine of this build.
macro_rules! over_each_engine {
    ($($case:ident),* $(,)?) => {
        pia_server_testkit::on_databases_with_roles!($($case),*);
        #[cfg(feature = "temporal")]
        mod temporal {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let database = pia_testkit::databases::TestDatabase::sqlite();
                let case = Box::pin(super::$case(database));
                crate::assignments::engines::over_temporal(case).await;
            }
        )*}
    };
}

pub(crate) use over_each_engine;

/// Runs a test over the Temporal server that `TEST_TEMPORAL` names.
#[cfg(feature = "temporal")]
pub(crate) async fn over_temporal(case: impl Future<Output = ()>) {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let address =
        std::env::var("TEST_TEMPORAL").expect("TEST_TEMPORAL is not set: run `cargo xtask test`");
    ADDRESS.scope(address, case).await;
}

/// Switches assignments on, over the engine of the test. Servers on the database
/// with this URL share a task queue.
pub(crate) fn with_engine(setting: TestConfig, url: &str) -> TestConfig {
    let address = ADDRESS.try_with(String::clone).unwrap_or_else(|_unset| "embedded".to_owned());
    setting
        .with("Operators__Enabled", true)
        .with("Workflow__Address", address)
        .with("Workflow__TaskQueue", url)
}
