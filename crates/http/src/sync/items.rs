//! Items on the wire: the known keys of each channel. Other keys pass through
//! unchanged.
//!
//! The structs serve two purposes: `item_reading` parses pushed items with them,
//! and OpenAPI describes them. Every key is optional, and its spelling is the one
//! that pulls return.

use std::collections::BTreeMap;

use pia_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

/// Defines the wire struct of a channel, with the spelling of its keys. The
/// keys are passed as tokens: the derive of `ToSchema` would not see literals,
/// and use the names of the fields instead.
macro_rules! item {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty => $key:tt),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Serialize, Deserialize, ToSchema)]
        pub(crate) struct $name {
            $(
                $(#[$field_doc])*
                #[serde(rename = $key, default, skip_serializing_if = "Option::is_none")]
                $field: Option<$type>,
            )*
            /// Keys that this version does not know; they pass through
            /// unchanged.
            #[serde(flatten)]
            #[schema(ignore)]
            rest: Map<String, Value>,
        }

        impl Wire for $name {
            const KEYS: &'static [&'static str] = &[$($key),*];
        }
    };
}

/// Wire struct of an item.
pub(super) trait Wire: Serialize + for<'de> Deserialize<'de> {
    /// Keys that it knows.
    const KEYS: &'static [&'static str];
}

item! {
    /// Prompt that rewrites texts.
    SyncTemplate {
        id: Uuid => "id",
        name: String => "name",
        prompt: String => "prompt",
        description: String => "description",
        example_text: String => "ExampleText",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        modified_at: Timestamp => "modifiedAt",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Persona of chats.
    SyncPersona {
        id: Uuid => "id",
        name: String => "name",
        tagline: String => "tagline",
        system_prompt: String => "systemPrompt",
        guardrails: String => "guardrails",
        output_format: String => "outputFormat",
        expertise: Vec<String> => "expertise",
        archetype: String => "archetype",
        model_type: String => "modelType",
        emoji: String => "emoji",
        accent_color: String => "accentColor",
        tool_scope: i32 => "toolScope",
        preferred_provider_id: Uuid => "preferredProviderId",
        reasoning_effort: i32 => "reasoningEffort",
        schema_version: i32 => "schemaVersion",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Provider to which a device sends its own requests to models.
    SyncProvider {
        id: Uuid => "id",
        name: String => "name",
        provider_type: i32 => "providerType",
        endpoint: String => "endpoint",
        model_name: String => "modelName",
        azure_deployment_name: String => "azureDeploymentName",
        api_key: String => "apiKey",
        supports_tool_calling: bool => "supportsToolCalling",
        timeout_seconds: i32 => "timeoutSeconds",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Rewritten text.
    SyncSession {
        id: Uuid => "id",
        original_text: String => "originalText",
        optimized_text: String => "optimizedText",
        template_id: Uuid => "templateId",
        template_name: String => "templateName",
        provider_id: Uuid => "providerId",
        provider_name: String => "providerName",
        was_transcribed: bool => "wasTranscribed",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        tokens_used: i32 => "tokensUsed",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Memory of the assistant.
    SyncMemory {
        id: Uuid => "id",
        kind: String => "type",
        label: String => "label",
        data: String => "data",
        path: String => "path",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        last_accessed_at: Timestamp => "lastAccessedAt",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Task of the to-do list.
    SyncTodo {
        id: Uuid => "id",
        title: String => "title",
        notes: String => "notes",
        priority: i32 => "priority",
        status: i32 => "status",
        #[schema(value_type = Option<String>, format = DateTime)]
        due_date: Timestamp => "dueDate",
        linked_reminder_id: Uuid => "linkedReminderId",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        completed_at: Timestamp => "completedAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        sort_order: i32 => "sortOrder",
        column_id: Uuid => "columnId",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Column of the to-do list.
    SyncKanbanColumn {
        id: Uuid => "id",
        name: String => "name",
        sort_order: i32 => "sortOrder",
        is_default_view: bool => "isDefaultView",
        is_closed_column: bool => "isClosedColumn",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Job that runs at set times.
    SyncScheduledJob {
        id: Uuid => "id",
        owner_device_id: Uuid => "ownerDeviceId",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        name: String => "name",
        query: String => "query",
        kind: i32 => "kind",
        answer_length: i32 => "answerLength",
        granted_tools: Vec<String> => "grantedTools",
        provider_id: Uuid => "providerId",
        recurrence: i32 => "recurrence",
        /// `HH:mm:ss`.
        time_of_day: String => "timeOfDay",
        day_of_week: i32 => "dayOfWeek",
        day_of_month: i32 => "dayOfMonth",
        month: i32 => "month",
        #[schema(value_type = Option<String>, format = DateTime)]
        specific_date: Timestamp => "specificDate",
        status: i32 => "status",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Research and its results.
    SyncResearchSession {
        id: Uuid => "id",
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp => "createdAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp => "updatedAt",
        #[schema(value_type = Option<String>, format = DateTime)]
        completed_at: Timestamp => "completedAt",
        query: String => "query",
        synthesized_result: String => "synthesizedResult",
        steps_json: String => "stepsJson",
        provider_name: String => "providerName",
        status: String => "status",
        provider_id: Uuid => "providerId",
        step_count: i32 => "stepCount",
        scheduled_job_id: Uuid => "scheduledJobId",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// Settings of the app.
    SyncSettings {
        default_output_action: i32 => "defaultOutputAction",
        default_template_id: Uuid => "defaultTemplateId",
        whisper_model: i32 => "whisperModel",
        start_in_advanced_mode: bool => "startInAdvancedMode",
        auto_type_delay_ms: i32 => "autoTypeDelayMs",
        theme: i32 => "theme",
        start_minimized: bool => "startMinimized",
        target_language: i32 => "targetLanguage",
        target_speech_language: i32 => "targetSpeechLanguage",
        default_window_mode: i32 => "defaultWindowMode",
        mode_provider_defaults: BTreeMap<String, Uuid> => "modeProviderDefaults",
        mode_persona_defaults: BTreeMap<String, Uuid> => "modePersonaDefaults",
        use_same_provider_for_all_modes: bool => "useSameProviderForAllModes",
        assistant_default_working_directory: String => "assistantDefaultWorkingDirectory",
        #[schema(value_type = Option<String>, format = DateTime)]
        modified_at: Timestamp => "modifiedAt",
        encrypted_payload: String => "encryptedPayload",
        wrapped_dek: String => "wrappedDek",
    }
}

item! {
    /// State of a plugin: on or off.
    SyncPluginPreference {
        plugin_id: Uuid => "pluginId",
        is_enabled: bool => "isEnabled",
    }
}
