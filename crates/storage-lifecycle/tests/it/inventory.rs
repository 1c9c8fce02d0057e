//! Contract tests of the inventory against the database's tables.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use pia_kernel::PersonalData;
use pia_storage::{Conn, Database};
use pia_storage_lifecycle::{ErasurePolicy, SqlPersonalData, inventory};

pia_testkit::contract! {
    the_inventory_names_every_column_of_every_table_and_no_other,
    every_section_can_be_read,
}

/// Table of applied migrations, which diesel maintains.
const JOURNAL: &str = "__diesel_schema_migrations";

const SQLITE: &str = "
    SELECT m.name AS table_name, c.name AS column_name
    FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
const POSTGRES: &str = "
    SELECT table_name::text, column_name::text FROM information_schema.columns
    WHERE table_schema = current_schema()";

#[derive(QueryableByName)]
struct Column {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    column_name: String,
}

type Tables = BTreeMap<String, BTreeSet<String>>;

async fn tables(db: &Database) -> Tables {
    let columns: Vec<Column> = match db.reader().await.unwrap() {
        Conn::Sqlite(mut conn) => diesel::sql_query(SQLITE).load(&mut *conn).await.unwrap(),
        Conn::Postgres(mut conn) => diesel::sql_query(POSTGRES).load(&mut *conn).await.unwrap(),
    };
    let mut tables = Tables::new();
    for it in columns.into_iter().filter(|it| it.table_name != JOURNAL) {
        tables.entry(it.table_name).or_default().insert(it.column_name);
    }
    tables
}

async fn the_inventory_names_every_column_of_every_table_and_no_other(db: Database) {
    let listed: Tables = inventory()
        .map(|table| {
            let left_out = table.left_out.iter().map(|(column, _)| *column);
            let columns = table.exported_columns().iter().copied().chain(left_out);
            (table.name.to_owned(), columns.map(str::to_owned).collect())
        })
        .collect();

    assert_eq!(listed, tables(&db).await);
    assert_eq!(listed.len(), inventory().count(), "a table is named twice");
    for table in inventory() {
        assert!(table.left_out.iter().all(|(_, why)| !why.is_empty()), "{}", table.name);
        let impersonal = matches!(table.erasure, ErasurePolicy::NotPersonal(_));
        assert!(!impersonal || table.exported_columns().is_empty(), "{}", table.name);
    }
}

async fn every_section_can_be_read(db: Database) {
    let ada = crate::people::create_person(&db, pia_identity::Role::User).await;
    let data = SqlPersonalData::new(db.clone(), crate::people::sealer(&db));

    for section in data.inventory().sections {
        let page = data.page(ada.user, section, None).await.unwrap();

        let one = ["account", "sessions"].contains(&section);
        assert_eq!(page.rows.len(), usize::from(one), "{section}");
        assert_eq!(page.next, None, "{section}");
    }
    let listed: BTreeSet<&str> = inventory().filter_map(|it| Some(it.export?.name)).collect();
    assert_eq!(listed, data.inventory().sections.into_iter().collect());
    assert!(data.page(ada.user, "nothing", None).await.is_err());
    assert!(data.inventory().left_out.iter().any(|it| it.what == "accounts.passwordHash"));
}
