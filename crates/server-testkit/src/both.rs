//! Tests that run on each database.

/// Generates a test of each case for each database. The case receives a
/// database without rows.
#[macro_export]
macro_rules! on_both_databases {
    ($($case:ident),* $(,)?) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(pia_testkit::databases::TestDatabase::sqlite()).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(pia_testkit::databases::TestDatabase::postgres().await).await;
            }
        )*}
    };
}
