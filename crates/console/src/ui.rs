//! Components of the pages of the console and of accounts. A page is a
//! [`View`]: a title and sections of facts, tables, forms and charts.
//!
//! Components are plain data that handlers build and the templates in `templates/ui`
//! render; they contain no HTML. Texts are in the page's language already.

pub(crate) mod chart;
pub(crate) mod form;
pub(crate) mod format;
pub(crate) mod list;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod view;

pub(crate) use form::{Field, Form};
pub(crate) use table::{Cell, Row, Search, Table};
pub(crate) use text::{ErrorText, Text};
pub(crate) use view::{Section, View};
