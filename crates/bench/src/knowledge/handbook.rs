//! Documents of a company, and questions that they answer.

/// Documents and questions: a line `# Title` begins a document, a line
/// `?en Question` or `?de Question` asks about the document above it, and a line
/// `& Title` below it names another one that answers it too.
const HANDBOOK: &str = include_str!("handbook.txt");

/// Language of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
}

/// Question with the titles of the documents that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandbookQuestion {
    pub(super) text: String,
    pub(super) language: Language,
    pub(super) answered_by: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct HandbookDocument {
    pub(super) title: String,
    pub(super) text: String,
}

/// Documents and questions.
#[derive(Default)]
pub(super) struct Handbook {
    pub(super) documents: Vec<HandbookDocument>,
    pub(super) questions: Vec<HandbookQuestion>,
}

impl Handbook {
    pub(super) fn read() -> Self {
        let mut handbook = Self::default();
        for line in HANDBOOK.lines() {
            if let Some(title) = line.strip_prefix("# ") {
                let document = HandbookDocument { title: title.to_owned(), text: String::new() };
                handbook.documents.push(document);
                continue;
            }
            if let Some(title) = line.strip_prefix("& ") {
                if let Some(question) = handbook.questions.last_mut() {
                    question.answered_by.push(title.to_owned());
                }
                continue;
            }
            let Some(document) = handbook.documents.last_mut() else { continue };

            let question = [("?en ", Language::English), ("?de ", Language::German)]
                .into_iter()
                .find_map(|(mark, language)| Some((line.strip_prefix(mark)?, language)));

            match question {
                Some((text, language)) => {
                    let text = text.to_owned();
                    let answered_by = vec![document.title.clone()];
                    handbook.questions.push(HandbookQuestion { text, language, answered_by });
                }
                None => document.text.extend([line, "\n"]),
            }
        }

        handbook
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn documents_and_questions_are_distinct() {
        let Handbook { documents, questions } = Handbook::read();

        let titles: HashSet<_> = documents.iter().map(|it| &it.title).collect();
        let texts: HashSet<_> = questions.iter().map(|it| &it.text).collect();
        assert_eq!(titles.len(), documents.len());
        assert_eq!(texts.len(), questions.len());
        for document in &documents {
            assert!(document.text.len() > 200, "{}", document.title);
        }
        for question in &questions {
            assert!(question.answered_by.iter().all(|it| titles.contains(it)), "{question:?}");
        }
        assert!(documents.len() >= 200 && questions.len() >= 300, "{}", questions.len());
    }
}
