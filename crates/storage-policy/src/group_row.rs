//! Rows of `user_groups`.

use diesel::prelude::*;
use pia_kernel::GroupId;
use pia_policy::{Group, GroupName};
use pia_storage::schema::user_groups;
use pia_storage::{DbInstant, DbUid};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = user_groups)]
pub(crate) struct GroupRow {
    id: DbUid,
    pub(crate) name: String,
    is_default: bool,
    created_at: DbInstant,
    name_folded: String,
    external_id: Option<String>,
}

impl From<Group> for GroupRow {
    fn from(group: Group) -> Self {
        Self {
            id: DbUid(group.id.0),
            name_folded: group.name.folded(),
            name: group.name.as_str().to_owned(),
            is_default: group.is_default,
            external_id: group.external_id,
            created_at: DbInstant(group.created_at),
        }
    }
}

impl From<GroupRow> for Group {
    fn from(row: GroupRow) -> Self {
        Self {
            id: GroupId(row.id.0),
            name: GroupName::from_stored(row.name),
            is_default: row.is_default,
            external_id: row.external_id,
            created_at: row.created_at.0,
        }
    }
}
