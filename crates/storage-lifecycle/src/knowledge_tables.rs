//! Tables of knowledge bases, which have no personal data.

use crate::inventory::{BOOKKEEPING, ErasurePolicy, InventoryTable};

/// Tables of knowledge bases.
pub(crate) const KNOWLEDGE_TABLES: &[InventoryTable] = &[
    knowledge_table(
        "knowledge_bases",
        &[
            ("id", BOOKKEEPING),
            ("group_id", BOOKKEEPING),
            ("name", BOOKKEEPING),
            ("name_folded", BOOKKEEPING),
            ("prompt", BOOKKEEPING),
            ("model", BOOKKEEPING),
            ("reindex_model", BOOKKEEPING),
            ("miss_count", BOOKKEEPING),
            ("last_missed_at", BOOKKEEPING),
            ("created_at", BOOKKEEPING),
            ("served_at", BOOKKEEPING),
        ],
    ),
    knowledge_table(
        "knowledge_base_groups",
        &[("base_id", BOOKKEEPING), ("group_id", BOOKKEEPING)],
    ),
    knowledge_table(
        "persona_knowledge_bases",
        &[("persona_id", BOOKKEEPING), ("base_id", BOOKKEEPING)],
    ),
    KNOWLEDGE_DOCUMENTS,
    knowledge_table("knowledge_files", &[("document_id", BOOKKEEPING), ("content", BOOKKEEPING)]),
    knowledge_table(
        "knowledge_chunks",
        &[
            ("id", BOOKKEEPING),
            ("document_id", BOOKKEEPING),
            ("is_published", BOOKKEEPING),
            ("ordinal", BOOKKEEPING),
            ("path", BOOKKEEPING),
            ("text", BOOKKEEPING),
            ("hash", BOOKKEEPING),
            ("context", BOOKKEEPING),
            ("vector", BOOKKEEPING),
            ("tokens", BOOKKEEPING),
        ],
    ),
    knowledge_table("knowledge_removed_chunks", &[("id", BOOKKEEPING)]),
    knowledge_table(
        "knowledge_usage",
        &[
            ("group_id", BOOKKEEPING),
            ("base_id", BOOKKEEPING),
            ("month", BOOKKEEPING),
            ("tokens", BOOKKEEPING),
        ],
    ),
    KNOWLEDGE_QUESTIONS,
];

const KNOWLEDGE_QUESTIONS: InventoryTable = InventoryTable {
    name: "knowledge_questions",
    erasure: ErasurePolicy::NotPersonal("questions of a group, which do not name who asked them"),
    export: None,
    left_out: &[
        ("id", BOOKKEEPING),
        ("group_id", BOOKKEEPING),
        ("question", BOOKKEEPING),
        ("seen_count", BOOKKEEPING),
        ("first_seen_at", BOOKKEEPING),
        ("last_seen_at", BOOKKEEPING),
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
        ("id", BOOKKEEPING),
        ("base_id", BOOKKEEPING),
        ("title", BOOKKEEPING),
        ("source_uri", BOOKKEEPING),
        ("content_type", BOOKKEEPING),
        ("content_hash", BOOKKEEPING),
        ("size_bytes", BOOKKEEPING),
        ("status", BOOKKEEPING),
        ("error", BOOKKEEPING),
        ("chunk_count", BOOKKEEPING),
        ("tokens", BOOKKEEPING),
        ("new_chunks", BOOKKEEPING),
        ("new_embedded", BOOKKEEPING),
        ("new_model", BOOKKEEPING),
        ("is_held", BOOKKEEPING),
        ("reserved_tokens", BOOKKEEPING),
        ("failures", BOOKKEEPING),
        ("fence", BOOKKEEPING),
        ("due_at", BOOKKEEPING),
        ("retrieval_count", BOOKKEEPING),
        ("last_retrieved_at", BOOKKEEPING),
        ("created_at", BOOKKEEPING),
        ("updated_at", BOOKKEEPING),
    ],
);
