//! Reading of files that administrators upload: packages, icons and
//! certificates.
//!
//! `FileReader` implements the port `UploadReader` of `policy`. Files are not trusted:
//! cabinets are verified with `authenticode`, and images are decoded within limits.

mod icon;
mod reader;

pub use reader::FileReader;
