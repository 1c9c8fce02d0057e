//! Web pages. A tokenizer is used and no tree is built: nesting, however deep,
//! costs nothing.
//!
//! Tokens pass through `converter.rs`, which tracks open elements (`open_elements.rs`)
//! and writes blocks (`writer.rs`). A cell of a table gets a writer of its own, which
//! `frame.rs` exchanges.

mod converter;
mod frame;
mod open_elements;
mod tags;
mod writer;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};
use pia_knowledge::ExtractError;

use self::converter::Converter;
/// Converts the main text of a page into Markdown: the content of `main` if the page
/// has one, without hidden elements and menus. Links are reduced to their text.
pub(crate) fn to_markdown(text: &str) -> Result<String, ExtractError> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut converter = Converter::default();
    for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
        match token {
            Token::StartTag(tag) => converter.start(&tag)?,
            Token::EndTag(tag) => converter.end(&String::from_utf8_lossy(&tag.name))?,
            Token::String(text) => converter.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }

    converter.finish()
}
