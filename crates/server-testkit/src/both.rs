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

/// Generates a test of each case for each database, and for PostgreSQL with roles
/// of its own for requests and maintenance.
#[macro_export]
macro_rules! on_databases_with_roles {
    ($($case:ident),* $(,)?) => {
        $crate::on_both_databases!($($case),*);
        mod postgres_with_roles {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(pia_testkit::databases::TestDatabase::with_roles().await).await;
            }
        )*}
    };
}
