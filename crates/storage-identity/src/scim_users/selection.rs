//! Selection of users by the conditions of a SCIM filter.

use pia_identity::TextMatch;
use pia_storage::text_search::{
    like_containing, like_ending_with, like_exactly, like_starting_with,
};

/// Returns the users that meet all conditions, on either backend: a boxed query
/// that has yet to be ordered.
macro_rules! select_users {
    ($conditions:expr) => {{
        use pia_identity::{ScimUserCondition, ScimUserText, TextMatch};
        use pia_storage::text_search::lower;

        let users = accounts::table
            .left_join(scim_users::table)
            .inner_join(user_groups::table)
            .filter(scim_users::withdrawn_at.is_null());
        let mut query = users.into_boxed();
        for condition in $conditions {
            let unlinked = scim_users::user_name_folded.is_null();
            query = match condition {
                ScimUserCondition::Id(id) => query.filter(accounts::id.eq(DbUid(id.0))),
                ScimUserCondition::Never => query.filter(accounts::id.is_null()),
                ScimUserCondition::Active(true) => query.filter(accounts::deactivated_at.is_null()),
                ScimUserCondition::Active(false) => {
                    query.filter(accounts::deactivated_at.is_not_null())
                }
                ScimUserCondition::ChangedAfter(at) => {
                    let is_created_after = scim_users::updated_at
                        .nullable()
                        .is_null()
                        .and(accounts::created_at.gt(DbInstant(*at)));
                    query.filter(scim_users::updated_at.gt(DbInstant(*at)).or(is_created_after))
                }
                // Equal names are found by an index.
                ScimUserCondition::Text(ScimUserText::UserName, TextMatch::Equals, name) => {
                    let name = super::scim_users::row::fold_user_name(name);
                    let forms = pia_identity::stored_forms(&name);
                    let address = unlinked.and(accounts::email_folded.eq_any(forms));
                    query.filter(scim_users::user_name_folded.eq(name).or(address))
                }
                ScimUserCondition::Text(ScimUserText::Email, TextMatch::Equals, email) => {
                    query.filter(accounts::email_folded.eq_any(pia_identity::stored_forms(email)))
                }
                ScimUserCondition::Text(ScimUserText::ExternalId, TextMatch::Equals, id) => {
                    query.filter(scim_users::external_id.eq(id.clone()))
                }
                ScimUserCondition::Text(attribute, text_match, value) => {
                    let pattern = self::selection::pattern(*text_match, value);
                    match attribute {
                        ScimUserText::UserName => {
                            let displayed = lower(accounts::email.nullable()).like(pattern.clone());
                            let address = accounts::email_folded
                                .like(pattern.clone())
                                .escape('\\')
                                .or(displayed.escape('\\'));
                            let name = scim_users::user_name_folded.like(pattern).escape('\\');
                            query.filter(name.or(unlinked.and(address)))
                        }
                        ScimUserText::Email => {
                            // Addresses of internationalised domains have two spellings.
                            let folded = accounts::email_folded.like(pattern.clone());
                            let displayed = lower(accounts::email.nullable()).like(pattern);
                            query.filter(folded.escape('\\').or(displayed.escape('\\')))
                        }
                        ScimUserText::ExternalId => {
                            query.filter(lower(scim_users::external_id).like(pattern).escape('\\'))
                        }
                        ScimUserText::DisplayName => {
                            query.filter(lower(accounts::display_name).like(pattern).escape('\\'))
                        }
                        ScimUserText::GivenName => {
                            query.filter(lower(scim_users::given_name).like(pattern).escape('\\'))
                        }
                        ScimUserText::FamilyName => {
                            query.filter(lower(scim_users::family_name).like(pattern).escape('\\'))
                        }
                    }
                }
                ScimUserCondition::Present(attribute) => match attribute {
                    // Every user has both.
                    ScimUserText::UserName | ScimUserText::Email => query,
                    ScimUserText::ExternalId => query.filter(scim_users::external_id.is_not_null()),
                    ScimUserText::DisplayName => query.filter(accounts::display_name.is_not_null()),
                    ScimUserText::GivenName => query.filter(scim_users::given_name.is_not_null()),
                    ScimUserText::FamilyName => query.filter(scim_users::family_name.is_not_null()),
                },
            };
        }
        query
    }};
}

pub(super) use select_users;

/// Returns the `LIKE` pattern of the texts that match a condition's value.
pub(super) fn pattern(text_match: TextMatch, value: &str) -> String {
    match text_match {
        TextMatch::Equals => like_exactly(value),
        TextMatch::Contains => like_containing(value),
        TextMatch::StartsWith => like_starting_with(value),
        TextMatch::EndsWith => like_ending_with(value),
    }
}
