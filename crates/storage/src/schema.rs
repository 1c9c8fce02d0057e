//! Tables. One description serves both backends.

#![expect(missing_docs, reason = "columns are explained where they are used")]

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Nullable, Text};
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
        role -> Text,
        group_id -> Uid,
        email_verified_at -> Nullable<Instant>,
        credentials_epoch -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{Nullable, Text};
    use crate::sql_types::Instant;

    maintenance_runs (name) {
        name -> Text,
        last_started_at -> Instant,
        last_finished_at -> Nullable<Instant>,
        last_error -> Nullable<Text>,
        instance -> Text,
    }
}

diesel::table! {
    locks (name) {
        name -> Text,
        turn -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{Bool, Nullable, Text};
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
        app_password_id -> Nullable<Uid>,
        console -> Bool,
        account_only -> Bool,
        proved_at -> Nullable<Instant>,
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
        network -> Nullable<Text>,
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
    use diesel::sql_types::{BigInt, Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    audit_entries (id) {
        id -> Uid,
        at -> Instant,
        action -> Text,
        object -> Nullable<Text>,
        request -> Nullable<Text>,
        actor_commitment -> Nullable<Binary>,
        subject_commitment -> Nullable<Binary>,
        changes -> Nullable<Text>,
        position -> Nullable<BigInt>,
        link -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary};
    use crate::sql_types::Instant;

    audit_checkpoints (position) {
        position -> BigInt,
        link -> Binary,
        at -> Instant,
        public_key -> Binary,
        signature -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::Uid;

    audit_identities (entry_id, part) {
        entry_id -> Uid,
        part -> Text,
        user_id -> Nullable<Uid>,
        sealed -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Nullable, Text};
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
        group_id -> Nullable<Uid>,
        api_key_id -> Nullable<Uid>,
        entry_id -> Nullable<Text>,
        connector_tokens -> BigInt,
        input_rate -> BigInt,
        output_rate -> BigInt,
        cached_input_rate -> BigInt,
        connector_rate -> BigInt,
        spent_micros -> BigInt,
        duration_millis -> Nullable<BigInt>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Text};

    use crate::sql_types::Uid;

    usage_by_group (day, group_id, provider, model) {
        day -> Integer,
        group_id -> Uid,
        provider -> Text,
        model -> Text,
        calls -> BigInt,
        failed -> BigInt,
        input_tokens -> BigInt,
        cached_input_tokens -> BigInt,
        output_tokens -> BigInt,
        spent_micros -> BigInt,
        timed_calls -> BigInt,
        duration_millis -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};

    use crate::sql_types::Uid;

    usage_by_user (week, user_id) {
        week -> Integer,
        user_id -> Uid,
        calls -> BigInt,
        spent -> BigInt,
        calls_0 -> BigInt,
        spent_0 -> BigInt,
        calls_1 -> BigInt,
        spent_1 -> BigInt,
        calls_2 -> BigInt,
        spent_2 -> BigInt,
        calls_3 -> BigInt,
        spent_3 -> BigInt,
        calls_4 -> BigInt,
        spent_4 -> BigInt,
        calls_5 -> BigInt,
        spent_5 -> BigInt,
        calls_6 -> BigInt,
        spent_6 -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::Integer;

    use crate::sql_types::Uid;

    usage_users (user_id) {
        user_id -> Uid,
        last_day -> Integer,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};

    usage_days (day) {
        day -> Integer,
        users -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};

    use crate::sql_types::Uid;

    usage_by_hour (hour, user_id) {
        hour -> Integer,
        user_id -> Uid,
        calls -> BigInt,
        failed -> BigInt,
        spent_micros -> BigInt,
        duration_millis -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    credit_windows (key) {
        key -> Text,
        kind -> Text,
        owner_id -> Uid,
        user_id -> Nullable<Uid>,
        group_id -> Nullable<Uid>,
        week -> Nullable<Instant>,
        total -> BigInt,
        used -> BigInt,
        reserved -> BigInt,
        #[sql_name = "last_used"]
        used_last_week -> BigInt,
        buckets -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};
    use crate::sql_types::{Instant, Uid};

    credit_reservations (id, window_key) {
        id -> Uid,
        window_key -> Text,
        instance_id -> Uid,
        amount -> BigInt,
        opened_at -> Instant,
    }
}

diesel::table! {
    use crate::sql_types::{Instant, Uid};

    credit_instances (id) {
        id -> Uid,
        alive_until -> Instant,
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

diesel::table! {
    use diesel::sql_types::{Binary, Text};
    use crate::sql_types::{Instant, Uid};

    trusted_certificates (id) {
        id -> Uid,
        name -> Text,
        thumbprint -> Text,
        der -> Binary,
        updated_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    scim_tokens (id) {
        id -> Uid,
        name -> Text,
        hash -> Binary,
        scopes -> Text,
        created_by -> Nullable<Uid>,
        created_at -> Instant,
        expires_at -> Instant,
        used_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::{Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    scim_users (user_id) {
        user_id -> Uid,
        user_name -> Nullable<Text>,
        user_name_folded -> Nullable<Text>,
        external_id -> Nullable<Text>,
        given_name -> Nullable<Text>,
        family_name -> Nullable<Text>,
        updated_at -> Instant,
        withdrawn_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    setting_overrides (key) {
        key -> Text,
        value -> Text,
        updated_at -> Instant,
        updated_by -> Nullable<Uid>,
        sealed -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{Bool, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    user_groups (id) {
        id -> Uid,
        name -> Text,
        is_default -> Bool,
        created_at -> Instant,
        client_policy_id -> Nullable<Uid>,
        name_folded -> Text,
        external_id -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::{Bool, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    ai_feedback (id) {
        id -> Uid,
        user_id -> Uid,
        schema_version -> Integer,
        message_id -> Uid,
        chat_id -> Nullable<Uid>,
        rating -> Text,
        comment -> Nullable<Text>,
        answer_text -> Nullable<Text>,
        pii_tokenized -> Bool,
        privacy_concern -> Bool,
        model -> Nullable<Text>,
        answered_at -> Instant,
        reported_at -> Instant,
        app_version -> Nullable<Text>,
        locale -> Nullable<Text>,
        extension -> Text,
        received_at -> Instant,
        status -> Text,
        note -> Nullable<Text>,
        updated_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    api_keys (id) {
        id -> Uid,
        user_id -> Uid,
        name -> Text,
        hash -> Binary,
        scopes -> Text,
        weekly_credits -> BigInt,
        created_at -> Instant,
        expires_at -> Nullable<Instant>,
        used_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Nullable, Text};
    use crate::sql_types::Uid;

    group_settings (group_id) {
        group_id -> Uid,
        knowledge_bases -> Nullable<BigInt>,
        knowledge_documents -> Nullable<BigInt>,
        knowledge_storage_bytes -> Nullable<BigInt>,
        monthly_embedding_tokens -> Nullable<BigInt>,
        managed_personas -> Nullable<BigInt>,
        credits_hourly -> BigInt,
        credits_daily -> BigInt,
        credits_weekly -> BigInt,
        credits_group_daily -> BigInt,
        credits_group_weekly -> BigInt,
        credits_pool -> Bool,
        mode_entries -> Text,
        persona_entries -> Text,
        models -> Text,
        user_storage_bytes -> Nullable<BigInt>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    mails (id) {
        id -> Uid,
        user_id -> Nullable<Uid>,
        letter -> Text,
        sealed -> Nullable<Binary>,
        queued_at -> Instant,
        due_at -> Instant,
        tries -> Integer,
        claimed_until -> Nullable<Instant>,
        failed_at -> Nullable<Instant>,
        failure -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Text};
    use crate::sql_types::{Instant, Uid};

    mailed_tokens (hash) {
        hash -> Binary,
        user_id -> Uid,
        purpose -> Text,
        expires_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    app_passwords (id) {
        id -> Uid,
        user_id -> Uid,
        name -> Text,
        hash -> Binary,
        created_at -> Instant,
        used_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    passkeys (id) {
        id -> Uid,
        user_id -> Uid,
        credential_id -> Binary,
        name -> Text,
        credential -> Text,
        counter -> BigInt,
        created_at -> Instant,
        used_at -> Nullable<Instant>,
        blocked_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    passkey_challenges (hash) {
        hash -> Binary,
        user_id -> Nullable<Uid>,
        state -> Text,
        expires_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::Text;
    use crate::sql_types::{Instant, Uid};

    provider_identities (provider, issuer, subject) {
        provider -> Text,
        issuer -> Text,
        subject -> Text,
        user_id -> Uid,
        created_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::Binary;
    use crate::sql_types::Instant;

    provider_flows (hash) {
        hash -> Binary,
        browser -> Binary,
        sealed -> Binary,
        expires_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable};
    use crate::sql_types::{Instant, Uid};

    sign_in_codes (hash) {
        hash -> Binary,
        user_id -> Uid,
        challenge -> Binary,
        expires_at -> Instant,
        burned_at -> Nullable<Instant>,
        session_id -> Nullable<Uid>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    invitations (id) {
        id -> Uid,
        hash -> Binary,
        email_folded -> Nullable<Text>,
        role -> Text,
        group_id -> Nullable<Uid>,
        invited_by -> Nullable<Uid>,
        created_at -> Instant,
        expires_at -> Instant,
    }
}

diesel::table! {
    guesses (who) {
        who -> Text,
        failures -> Integer,
        wait_micros -> BigInt,
        counted_at_micros -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable};
    use crate::sql_types::{Instant, Uid};

    ledgers (user_id) {
        user_id -> Uid,
        epoch -> Binary,
        version -> BigInt,
        last_stamp -> Instant,
        encrypted_at -> Nullable<Instant>,
        umk_version -> Integer,
        reset_at -> Nullable<Instant>,
        stored_bytes -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Bool, Integer, Nullable, SmallInt, Text};
    use crate::sql_types::{Instant, Uid};

    sync_items (user_id, channel, id) {
        user_id -> Uid,
        channel -> SmallInt,
        id -> Uid,
        stamp -> Instant,
        changed_at -> Instant,
        deleted_at -> Nullable<Instant>,
        encrypted -> Bool,
        device_id -> Nullable<Text>,
        size -> Integer,
        digest -> Binary,
        body -> Nullable<Binary>,
        #[sql_name = "beaten"]
        last_rejected_digest -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Bool, Integer, Nullable};
    use crate::sql_types::{Instant, Uid};

    chats (user_id, id) {
        user_id -> Uid,
        id -> Uid,
        stamp -> Instant,
        created_at -> Instant,
        updated_at -> Instant,
        accessed_at -> Nullable<Instant>,
        deleted_at -> Nullable<Instant>,
        encrypted -> Bool,
        size -> Integer,
        body -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    sync_events (id) {
        id -> Uid,
        user_id -> Uid,
        at -> Instant,
        kind -> Text,
        device_id -> Nullable<Text>,
        stored -> Integer,
        deleted -> Integer,
        conflicts -> Integer,
        refused -> Integer,
    }
}

diesel::table! {
    use crate::sql_types::Instant;

    silences (began_at) {
        began_at -> Instant,
        ended_at -> Instant,
    }
}

diesel::table! {
    catalogue (id) {
        id -> Integer,
        version -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::Binary;
    use crate::sql_types::Uid;

    plugin_icons (plugin_id) {
        plugin_id -> Uid,
        png -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Text};
    use crate::sql_types::Uid;

    plugin_packages (plugin_id, hash, first_byte) {
        plugin_id -> Uid,
        hash -> Text,
        first_byte -> BigInt,
        bytes -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    plugins (id) {
        id -> Uid,
        kind -> Text,
        name -> Text,
        description -> Nullable<Text>,
        icon_url -> Nullable<Text>,
        config_json -> Text,
        version -> Text,
        is_preloaded -> Bool,
        is_active -> Bool,
        cab_hash -> Nullable<Text>,
        cab_size -> Nullable<BigInt>,
        updated_at -> Instant,
        deleted_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    group_plugins (group_id, plugin_id) {
        group_id -> Uid,
        plugin_id -> Uid,
    }
}

diesel::table! {
    use diesel::sql_types::{Bool, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    managed_personas (id) {
        id -> Uid,
        name -> Text,
        tagline -> Nullable<Text>,
        system_prompt -> Text,
        guardrails -> Nullable<Text>,
        output_format -> Nullable<Text>,
        expertise -> Nullable<Text>,
        archetype -> Nullable<Text>,
        model_type -> Nullable<Text>,
        emoji -> Nullable<Text>,
        accent_color -> Nullable<Text>,
        tool_scope -> Integer,
        reasoning_effort -> Nullable<Integer>,
        schema_version -> Integer,
        is_active -> Bool,
        created_at -> Instant,
        updated_at -> Instant,
        deleted_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    group_personas (group_id, persona_id) {
        group_id -> Uid,
        persona_id -> Uid,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    persona_plugins (persona_id, plugin_id) {
        persona_id -> Uid,
        plugin_id -> Uid,
    }
}

diesel::table! {
    use diesel::sql_types::{Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    client_policies (id) {
        id -> Uid,
        name -> Text,
        description -> Nullable<Text>,
        document -> Text,
        updated_at -> Instant,
        deleted_at -> Nullable<Instant>,
        name_folded -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::{Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    client_policy_versions (policy_id, number) {
        policy_id -> Uid,
        number -> Integer,
        name -> Text,
        description -> Nullable<Text>,
        document -> Text,
        written_at -> Instant,
        written_by -> Nullable<Uid>,
    }
}

diesel::table! {
    use diesel::sql_types::{Nullable, SmallInt, Text};
    use crate::sql_types::{Instant, Uid};

    devices (id) {
        id -> Uid,
        user_id -> Uid,
        device_id -> Text,
        name -> Text,
        status -> SmallInt,
        agreement_key -> Text,
        signing_key -> Text,
        os_version -> Nullable<Text>,
        app_version -> Nullable<Text>,
        created_at -> Instant,
        activated_at -> Nullable<Instant>,
        revoked_at -> Nullable<Instant>,
        seen_at -> Instant,
        onboarding -> Nullable<Text>,
        onboarding_ends_at -> Nullable<Instant>,
        key_ciphertext -> Nullable<Text>,
        key_salt -> Nullable<Text>,
        key_created_by -> Nullable<Text>,
        key_created_at -> Nullable<Instant>,
        key_signature -> Nullable<Text>,
        key_signature_version -> Nullable<SmallInt>,
        key_onboarding -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    recovery_keys (user_id) {
        user_id -> Uid,
        ciphertext -> Text,
        kdf_salt -> Text,
        kdf_memory_kib -> Integer,
        kdf_time -> Integer,
        kdf_parallelism -> Integer,
        umk_version -> Integer,
        created_at -> Instant,
        proof_key -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    knowledge_bases (id) {
        id -> Uid,
        group_id -> Uid,
        name -> Text,
        name_folded -> Text,
        prompt -> Nullable<Text>,
        model -> Nullable<Text>,
        reindex_model -> Nullable<Text>,
        created_at -> Instant,
        served_at -> Instant,
        miss_count -> BigInt,
        last_missed_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    knowledge_base_groups (base_id, group_id) {
        base_id -> Uid,
        group_id -> Uid,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    persona_knowledge_bases (persona_id, base_id) {
        persona_id -> Uid,
        base_id -> Uid,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    knowledge_documents (id) {
        id -> Uid,
        base_id -> Uid,
        title -> Text,
        source_uri -> Nullable<Text>,
        content_type -> Text,
        content_hash -> Binary,
        size_bytes -> BigInt,
        status -> Text,
        error -> Nullable<Text>,
        chunk_count -> BigInt,
        tokens -> BigInt,
        new_chunks -> BigInt,
        new_embedded -> BigInt,
        new_model -> Nullable<Text>,
        is_held -> Bool,
        reserved_tokens -> BigInt,
        failures -> Integer,
        fence -> BigInt,
        due_at -> Nullable<Instant>,
        retrieval_count -> BigInt,
        last_retrieved_at -> Nullable<Instant>,
        created_at -> Instant,
        updated_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::Binary;
    use crate::sql_types::Uid;

    knowledge_files (document_id) {
        document_id -> Uid,
        content -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
    use crate::sql_types::Uid;

    knowledge_chunks (id) {
        id -> Uid,
        document_id -> Uid,
        is_published -> Bool,
        ordinal -> Integer,
        path -> Text,
        text -> Text,
        hash -> Binary,
        context -> Nullable<Text>,
        vector -> Nullable<Binary>,
        tokens -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    knowledge_removed_chunks (id) {
        id -> Uid,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};
    use crate::sql_types::Uid;

    knowledge_usage (group_id, month, base_id) {
        group_id -> Uid,
        base_id -> Uid,
        month -> Integer,
        tokens -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};
    use crate::sql_types::{Instant, Uid};

    knowledge_questions (id) {
        id -> Uid,
        group_id -> Uid,
        question -> Text,
        seen_count -> BigInt,
        first_seen_at -> Instant,
        last_seen_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    assignments (id) {
        id -> Uid,
        user_id -> Uid,
        skill_name -> Text,
        mode -> Text,
        status -> Text,
        step_count -> Integer,
        tokens_spent -> BigInt,
        tokens_abandoned -> BigInt,
        created_at -> Instant,
        updated_at -> Instant,
        started_at -> Nullable<Instant>,
        completed_at -> Nullable<Instant>,
        plaintext_dropped_at -> Nullable<Instant>,
        due_at -> Nullable<Instant>,
        worker_id -> Nullable<Uid>,
        fence -> BigInt,
        failed_attempts -> Integer,
        restarts -> Integer,
        event_count -> Integer,
        error_code -> Nullable<Text>,
        error_message -> Nullable<Binary>,
        tools -> Nullable<Text>,
        skill -> Text,
        input -> Nullable<Binary>,
        outputs -> Nullable<Binary>,
        artifact_json -> Nullable<Binary>,
        artifact_text -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    assignment_events (id) {
        id -> Uid,
        assignment_id -> Uid,
        ordinal -> Integer,
        key -> Text,
        kind -> Text,
        message -> Nullable<Text>,
        sealed_message -> Nullable<Binary>,
        detail -> Nullable<Text>,
        created_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::Text;
    use crate::sql_types::{Instant, Uid};

    assignment_workers (id) {
        id -> Uid,
        host -> Text,
        started_at -> Instant,
        alive_until -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    assignment_schedules (id) {
        id -> Uid,
        user_id -> Uid,
        skill_name -> Text,
        cron -> Text,
        time_zone -> Text,
        catch_up -> Text,
        next_at -> Nullable<Instant>,
        last_due_at -> Nullable<Instant>,
        last_assignment_id -> Nullable<Uid>,
        last_skip -> Nullable<Text>,
        created_at -> Instant,
        updated_at -> Instant,
        input -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Bool, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    operators (id) {
        id -> Uid,
        name -> Text,
        skill -> Text,
        skill_name_folded -> Text,
        is_custom -> Bool,
        is_active -> Bool,
        updated_at -> Instant,
        webhook_url -> Nullable<Text>,
        webhook_secret -> Nullable<Binary>,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    operator_groups (operator_id, group_id) {
        operator_id -> Uid,
        group_id -> Uid,
    }
}

diesel::table! {
    use diesel::sql_types::{Integer, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    webhook_deliveries (id) {
        id -> Uid,
        user_id -> Uid,
        operator_id -> Uid,
        created_at -> Instant,
        next_at -> Nullable<Instant>,
        delivered_at -> Nullable<Instant>,
        attempts -> Integer,
        failure -> Nullable<Text>,
        payload -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    connectors (id) {
        id -> Uid,
        name -> Text,
        name_folded -> Text,
        operator_id -> Nullable<Uid>,
        created_at -> Instant,
        mcp_url -> Nullable<Text>,
        mcp_token -> Nullable<Binary>,
    }
}

diesel::table! {
    use crate::sql_types::Uid;

    connector_groups (connector_id, group_id) {
        connector_id -> Uid,
        group_id -> Uid,
    }
}

diesel::table! {
    use diesel::sql_types::Binary;
    use crate::sql_types::{Instant, Uid};

    connector_tokens (hash) {
        hash -> Binary,
        connector_id -> Uid,
        created_at -> Instant,
        expires_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
    use crate::sql_types::{Instant, Uid};

    connected_pods (id) {
        id -> Uid,
        connector_id -> Uid,
        token_hash -> Nullable<Binary>,
        host -> Text,
        connected_at -> Instant,
        alive_until -> Instant,
        calls -> BigInt,
        failures -> BigInt,
        milliseconds -> BigInt,
        description -> Text,
        is_draining -> Bool,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Bool, Nullable};
    use crate::sql_types::{Instant, Uid};

    pod_calls (id) {
        id -> Uid,
        pod_id -> Uid,
        expires_at -> Instant,
        is_claimed -> Bool,
        request -> Binary,
        reply -> Nullable<Binary>,
        progress -> Nullable<Binary>,
    }
}

diesel::joinable!(client_policy_versions -> client_policies (policy_id));
diesel::joinable!(knowledge_documents -> knowledge_bases (base_id));
diesel::joinable!(knowledge_chunks -> knowledge_documents (document_id));
diesel::joinable!(assignment_events -> assignments (assignment_id));
diesel::joinable!(operator_groups -> operators (operator_id));
diesel::joinable!(webhook_deliveries -> operators (operator_id));
diesel::joinable!(accounts -> user_groups (group_id));
diesel::joinable!(scim_users -> accounts (user_id));
diesel::joinable!(sessions -> accounts (user_id));
diesel::joinable!(api_keys -> accounts (user_id));
diesel::joinable!(audit_identities -> audit_entries (entry_id));
diesel::allow_tables_to_appear_in_same_query!(audit_entries, audit_identities);
diesel::allow_tables_to_appear_in_same_query!(
    accounts,
    ai_feedback,
    ai_usage,
    api_keys,
    app_passwords,
    assignment_events,
    assignment_schedules,
    assignment_workers,
    assignments,
    catalogue,
    chats,
    client_policies,
    client_policy_versions,
    connected_pods,
    connector_groups,
    connector_tokens,
    connectors,
    credit_instances,
    credit_reservations,
    credit_windows,
    devices,
    factor_challenges,
    group_personas,
    group_plugins,
    group_settings,
    invitations,
    knowledge_base_groups,
    knowledge_bases,
    knowledge_chunks,
    knowledge_documents,
    knowledge_files,
    knowledge_questions,
    knowledge_removed_chunks,
    knowledge_usage,
    ledgers,
    mailed_tokens,
    mails,
    managed_personas,
    operator_groups,
    operators,
    passkey_challenges,
    passkeys,
    persona_knowledge_bases,
    person_salts,
    persona_plugins,
    plugin_icons,
    plugin_packages,
    plugins,
    provider_identities,
    recovery_codes,
    pod_calls,
    recovery_keys,
    refresh_tokens,
    scim_users,
    sessions,
    sign_in_codes,
    sign_ins,
    sync_events,
    sync_items,
    totp_factors,
    trusted_certificates,
    usage_by_group,
    usage_by_user,
    usage_users,
    user_groups,
    webhook_deliveries,
);
