//! Words that occur in questions about anything.

/// Words of English and German that say nothing about the subject of a question:
/// of four letters and more, and short ones that may be in capitals.
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "about", "ich", "wir", "sie", "er", "es", "im", "in", "zu", "was", "wer", "wie", "wo",
    "all", "also", "and", "any", "are", "been", "can", "could", "did", "does", "done", "each",
    "for", "from", "give", "have", "here", "how", "into", "is", "it", "just", "know", "like",
    "made", "make", "many", "may", "more", "most", "much", "must", "need", "not", "of", "on",
    "only", "or", "other", "our", "please", "said", "says", "shall", "should", "some", "such",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "very", "want", "was", "were", "what", "when", "where", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your", "aber", "alle", "alles",
    "also", "auch", "beim", "bitte", "brauche", "damit", "dann", "darf", "dass", "deine", "der",
    "die", "das", "diese", "dieser", "dieses", "doch", "durch", "eine", "einem", "einen", "einer",
    "eines", "euch", "fuer", "für", "gibt", "habe", "haben", "hast", "hier", "ihre", "ihren",
    "ist", "jede", "jeder", "kann", "kein", "keine", "kennst", "können", "machen", "mehr", "mein",
    "meine", "mich", "muss", "müssen", "nach", "nicht", "noch", "oder", "ohne", "sein", "seine",
    "sich", "sind", "sollte", "über", "und", "uns", "unser", "unsere", "viel", "viele", "vom",
    "warum", "weiß", "welche", "welchem", "welchen", "welcher", "welches", "wenn", "werden",
    "wieviel", "wird", "wissen", "wurde", "zum", "zur", "wann",
];
