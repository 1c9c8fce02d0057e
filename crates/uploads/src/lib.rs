//! Reading of files that administrators upload: packages, icons and
//! certificates.

mod icon;
mod reader;

pub use reader::FileReader;
