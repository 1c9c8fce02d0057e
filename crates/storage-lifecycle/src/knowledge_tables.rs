//! Tables of knowledge bases.

use crate::inventory::{ErasurePolicy, InventoryTable, OURS};

/// Tables of knowledge bases.
pub(crate) const KNOWLEDGE_TABLES: &[InventoryTable] = &[
    knowledge_table(
        "knowledge_bases",
        &[
            ("id", OURS),
            ("group_id", OURS),
            ("name", OURS),
            ("name_folded", OURS),
            ("prompt", OURS),
            ("model", OURS),
            ("reindex_model", OURS),
            ("created_at", OURS),
            ("served_at", OURS),
        ],
    ),
    knowledge_table("knowledge_base_groups", &[("base_id", OURS), ("group_id", OURS)]),
    knowledge_table("persona_knowledge_bases", &[("persona_id", OURS), ("base_id", OURS)]),
    KNOWLEDGE_DOCUMENTS,
    knowledge_table("knowledge_files", &[("document_id", OURS), ("content", OURS)]),
    knowledge_table(
        "knowledge_chunks",
        &[
            ("id", OURS),
            ("document_id", OURS),
            ("is_published", OURS),
            ("ordinal", OURS),
            ("path", OURS),
            ("text", OURS),
            ("hash", OURS),
            ("context", OURS),
            ("vector", OURS),
            ("tokens", OURS),
        ],
    ),
    knowledge_table("knowledge_removed_chunks", &[("id", OURS)]),
    knowledge_table(
        "knowledge_usage",
        &[("group_id", OURS), ("base_id", OURS), ("month", OURS), ("tokens", OURS)],
    ),
    KNOWLEDGE_QUESTIONS,
];

const KNOWLEDGE_QUESTIONS: InventoryTable = InventoryTable {
    name: "knowledge_questions",
    erasure: ErasurePolicy::NotPersonal("questions of a group, which do not name who asked them"),
    export: None,
    left_out: &[
        ("id", OURS),
        ("group_id", OURS),
        ("question", OURS),
        ("seen_count", OURS),
        ("first_seen_at", OURS),
        ("last_seen_at", OURS),
    ],
};

/// Returns a table of knowledge bases.
const fn knowledge_table(
    name: &'static str,
    left_out: &'static [(&'static str, &'static str)],
) -> InventoryTable {
    InventoryTable {
        name,
        erasure: ErasurePolicy::NotPersonal(
            "documents of a group, which do not name who stored them",
        ),
        export: None,
        left_out,
    }
}

const KNOWLEDGE_DOCUMENTS: InventoryTable = knowledge_table(
    "knowledge_documents",
    &[
        ("id", OURS),
        ("base_id", OURS),
        ("title", OURS),
        ("source_uri", OURS),
        ("content_type", OURS),
        ("content_hash", OURS),
        ("size_bytes", OURS),
        ("status", OURS),
        ("error", OURS),
        ("chunk_count", OURS),
        ("tokens", OURS),
        ("new_chunks", OURS),
        ("new_embedded", OURS),
        ("new_model", OURS),
        ("is_held", OURS),
        ("reserved_tokens", OURS),
        ("failures", OURS),
        ("fence", OURS),
        ("due_at", OURS),
        ("retrieval_count", OURS),
        ("last_retrieved_at", OURS),
        ("created_at", OURS),
        ("updated_at", OURS),
    ],
);
