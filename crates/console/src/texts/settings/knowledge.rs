//! Descriptions of the settings of knowledge.

use crate::ui::Text;

/// Descriptions of the settings of knowledge.
pub(super) const KNOWLEDGE: &[(&str, Text)] = &[
    (
        "Knowledge:ConnectionString",
        Text::new(
            "Vector store for documents: embedded:FOLDER for a single instance, or the address of \
             a Qdrant server, such as http://qdrant:6334. Leave it empty to turn knowledge off.",
            "Vektordatenbank für Dokumente: embedded:ORDNER für eine einzelne Instanz oder die \
             Adresse eines Qdrant-Servers, etwa http://qdrant:6334. Ein leerer Wert schaltet \
             Wissen aus.",
        ),
    ),
    (
        "Knowledge:IngestApiKey",
        Text::new(
            "Key with which other systems upload documents: at least 16 random characters. Without \
             it, they cannot.",
            "Schlüssel, mit dem andere Systeme Dokumente hochladen: mindestens 16 zufällige \
             Zeichen. Ohne ihn ist das nicht möglich.",
        ),
    ),
    (
        "Knowledge:Mode",
        Text::new(
            "When documents are searched: UpFront (before the model is called), Tool (when the \
             model asks for it) or Both.",
            "Wann Dokumente durchsucht werden: UpFront (vor dem Aufruf des Modells), Tool (wenn \
             das Modell es verlangt) oder Both (beides).",
        ),
    ),
    (
        "Knowledge:MaxPassages",
        Text::new(
            "Maximum number of passages from documents that the model gets for a question, from 1 \
             to 50, such as 10.",
            "Maximale Anzahl der Textstellen, die das Modell zu einer Frage erhält, von 1 bis 50, \
             etwa 10.",
        ),
    ),
    (
        "Knowledge:MinSimilarity",
        Text::new(
            "How similar a passage must be to the question, from 0 to 1, such as 0.5. Higher \
             values find less, but more to the point.",
            "Wie ähnlich eine Textstelle der Frage sein muss, von 0 bis 1, etwa 0.5. Höhere Werte \
             finden weniger, aber Passenderes.",
        ),
    ),
    (
        "Knowledge:UnansweredQuestions",
        Text::new(
            "Stores questions that no document answers, so that knowledge managers see what is \
             missing. Inform members before you turn it on; turning it off deletes the questions.",
            "Speichert Fragen, die kein Dokument beantwortet, damit Wissensverwalter sehen, was \
             fehlt. Informieren Sie die Mitglieder, bevor Sie das einschalten; Ausschalten löscht \
             die Fragen.",
        ),
    ),
    (
        "Knowledge:Workers",
        Text::new(
            "How many documents an instance processes at the same time, from 1 to 32.",
            "Anzahl der Dokumente, die eine Instanz gleichzeitig verarbeitet, von 1 bis 32.",
        ),
    ),
    (
        "Knowledge:MaxAttempts",
        Text::new(
            "How often processing a document is attempted before it counts as failed, from 1 to \
             100.",
            "Wie oft die Verarbeitung eines Dokuments versucht wird, bevor es als fehlgeschlagen \
             gilt, von 1 bis 100.",
        ),
    ),
    (
        "Knowledge:Question:ProviderId",
        Text::new(
            "Id of the catalogue entry whose model turns follow-up questions into complete ones \
             before documents are searched.",
            "ID des Katalogeintrags, dessen Modell Anschlussfragen vor der Suche in Dokumenten zu \
             vollständigen Fragen umformuliert.",
        ),
    ),
    (
        "Knowledge:Question:TimeoutSeconds",
        Text::new(
            "How long to wait for the model that completes follow-up questions, in seconds, from 1 \
             to 30. An answer may be delayed by this time.",
            "Wartezeit auf das Modell, das Anschlussfragen umformuliert, in Sekunden, von 1 bis \
             30. Eine Antwort kann sich um diese Zeit verzögern.",
        ),
    ),
    (
        "Embeddings:ProviderId",
        Text::new(
            "Id of the catalogue entry that embeds documents and questions. Use local for a trial \
             without a model. Leave it empty to turn knowledge off.",
            "ID des Katalogeintrags, der Embeddings für Dokumente und Fragen erzeugt. Mit local \
             lässt sich Wissen ohne Modell ausprobieren. Ein leerer Wert schaltet Wissen aus.",
        ),
    ),
    (
        "Embeddings:Model",
        Text::new(
            "Model that creates embeddings. After a change, reindex every knowledge base.",
            "Modell, das Embeddings erzeugt. Indizieren Sie nach einer Änderung jede \
             Wissensdatenbank neu.",
        ),
    ),
    (
        "Embeddings:Dimension",
        Text::new(
            "Number of dimensions of the model’s vectors. It must match the model.",
            "Anzahl der Dimensionen der Vektoren des Modells. Sie muss zum Modell passen.",
        ),
    ),
    (
        "Embeddings:TimeoutSeconds",
        Text::new(
            "How long to wait for embeddings, or for the sentences on a chunk, in seconds, from 1 \
             to 3600, such as 60.",
            "Wartezeit auf Embeddings oder auf die Sätze zu einem Dokumentabschnitt in Sekunden, \
             von 1 bis 3600, etwa 60.",
        ),
    ),
    (
        "Embeddings:BatchSize",
        Text::new(
            "How many chunks of documents are sent to the model at once, from 1 to 2048, such as \
             32.",
            "Anzahl der Dokumentabschnitte, die auf einmal an das Modell gesendet werden, von 1 \
             bis 2048, etwa 32.",
        ),
    ),
    (
        "Rerank:ProviderId",
        Text::new(
            "Id of the catalogue entry that ranks the passages found by relevance. Leave it empty \
             to skip this step.",
            "ID des Katalogeintrags, der gefundene Textstellen nach Relevanz ordnet. Ohne Angabe \
             entfällt dieser Schritt.",
        ),
    ),
    (
        "Rerank:Model",
        Text::new(
            "Model that ranks passages, such as bge-reranker-v2-m3. Leave it empty for the model \
             of the entry.",
            "Modell, das Textstellen ordnet, etwa bge-reranker-v2-m3. Ohne Angabe gilt das Modell \
             des Eintrags.",
        ),
    ),
    (
        "Rerank:TimeoutSeconds",
        Text::new(
            "How long to wait for the ranking of passages, in seconds, from 1 to 4.",
            "Wartezeit auf das Ordnen der Textstellen in Sekunden, von 1 bis 4.",
        ),
    ),
    (
        "Rerank:MinScore",
        Text::new(
            "Minimum relevance of a passage, from 0 to 1, such as 0.3. A suitable value depends on \
             the model.",
            "Mindestrelevanz einer Textstelle, von 0 bis 1, etwa 0.3. Der passende Wert hängt vom \
             Modell ab.",
        ),
    ),
    (
        "Chunking:MaxChars",
        Text::new(
            "Maximum length in characters of the chunks into which documents are split, from 200 \
             to 8000, such as 1500. Applies to documents added later.",
            "Maximale Länge der Abschnitte in Zeichen, in die Dokumente zerlegt werden, von 200 \
             bis 8000, etwa 1500. Gilt für später hinzugefügte Dokumente.",
        ),
    ),
    (
        "Chunking:OverlapChars",
        Text::new(
            "How many characters of the previous chunk each one repeats, at most half of the \
             length, such as 200.",
            "Anzahl der Zeichen, die ein Abschnitt vom vorherigen wiederholt, höchstens die Hälfte \
             der Länge, etwa 200.",
        ),
    ),
    (
        "Chunking:Context:Enabled",
        Text::new(
            "Adds one or two sentences to each chunk that say what it is about, so that searches \
             find it more reliably. Needs a model that writes them.",
            "Ergänzt jeden Abschnitt um ein oder zwei Sätze, worum es geht, damit Suchen ihn \
             zuverlässiger finden. Braucht ein Modell, das sie schreibt.",
        ),
    ),
    (
        "Chunking:Context:ProviderId",
        Text::new(
            "Id of the catalogue entry whose model writes what each chunk of a document is about.",
            "ID des Katalogeintrags, dessen Modell zu jedem Dokumentabschnitt schreibt, worum es \
             geht.",
        ),
    ),
];
