//! The tables. One description serves both backends.

#![expect(missing_docs, reason = "columns are explained where they are used")]

diesel::table! {
    use diesel::sql_types::{Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    accounts (id) {
        id -> Uid,
        email -> Text,
        email_folded -> Text,
        display_name -> Nullable<Text>,
        provider -> Text,
        password_hash -> Nullable<Text>,
        customer_type -> Integer,
        company_name -> Nullable<Text>,
        created_at -> Instant,
        deactivated_at -> Nullable<Instant>,
    }
}

diesel::table! {
    locks (name) {
        name -> Text,
        turn -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    sessions (id) {
        id -> Uid,
        user_id -> Uid,
        began_at -> Instant,
        used_at -> Instant,
        expires_at -> Instant,
        method -> Text,
        device_id -> Nullable<Text>,
        app_version -> Nullable<Text>,
        os_version -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        signed_in_from -> Nullable<Text>,
        used_from -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::{Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    sign_ins (id) {
        id -> Uid,
        at -> Instant,
        user_id -> Uid,
        outcome -> Text,
        method -> Text,
        address -> Nullable<Text>,
        device_id -> Nullable<Text>,
        app_version -> Nullable<Text>,
        os_version -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        session_id -> Nullable<Uid>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable};
    use crate::sql_types::{Instant, Uid};

    refresh_tokens (hash) {
        hash -> Binary,
        session_id -> Uid,
        spent_at -> Nullable<Instant>,
    }
}

diesel::table! {
    attempts (who) {
        who -> Text,
        tat_micros -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::Text;
    use crate::sql_types::{Instant, Uid};

    audit_entries (id) {
        id -> Uid,
        at -> Instant,
        subject -> Uid,
        action -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Text};
    use crate::sql_types::{Instant, Uid};

    ai_usage (id) {
        id -> Uid,
        at -> Instant,
        user_id -> Uid,
        mode -> Text,
        provider -> Text,
        model -> Text,
        input_tokens -> BigInt,
        cached_input_tokens -> BigInt,
        output_tokens -> BigInt,
        estimated -> Bool,
        outcome -> Text,
    }
}

diesel::table! {
    master_key (id) {
        id -> Integer,
        key_id -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::Binary;
    use crate::sql_types::Uid;

    person_salts (user_id) {
        user_id -> Uid,
        salt -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable};
    use crate::sql_types::{Instant, Uid};

    totp_factors (user_id) {
        user_id -> Uid,
        secret -> Binary,
        begun_at -> Instant,
        enabled_at -> Nullable<Instant>,
        last_step -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::Binary;
    use crate::sql_types::Uid;

    recovery_codes (user_id, hash) {
        user_id -> Uid,
        hash -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Integer};
    use crate::sql_types::{Instant, Uid};

    factor_challenges (hash) {
        hash -> Binary,
        user_id -> Uid,
        expires_at -> Instant,
        tries -> Integer,
    }
}

diesel::joinable!(sessions -> accounts (user_id));
diesel::allow_tables_to_appear_in_same_query!(accounts, sessions, refresh_tokens, sign_ins);
diesel::allow_tables_to_appear_in_same_query!(accounts, factor_challenges);
