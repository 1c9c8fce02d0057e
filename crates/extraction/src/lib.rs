//! Extraction of text from files: web pages, tables, emails, PDF and the
//! documents of offices. The files are hostile, and so they are parsed in a
//! child process without an environment, whose time, memory and output are
//! limited.
//!
//! Path of a file: `ChildExtractor` (`supervisor.rs`) starts a child and sends the
//! file (`framing.rs`); the child limits itself and answers (`child.rs`); `extract_here`
//! (`extraction.rs`) chooses the parser. All parsers write through `Markdown`, which
//! limits the output, and `Table`. Read `extraction.rs` first.

mod archive;
mod child;
mod csv;
mod docx;
mod email;
mod encoding;
mod extraction;
mod framing;
mod html;
mod markdown;
mod pdf;
mod pptx;
mod relationships;
mod resources;
mod supervisor;
mod table;
mod xlsx;
mod xml;

pub use child::run_child;
pub use extraction::extract_here;
pub use supervisor::{ChildExtractor, ChildLimits};
