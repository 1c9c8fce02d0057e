//! Files that are imported and exported.
//!
//! The import lists a folder with `list_files` and reads a file only when its turn
//! comes. The export creates the folder first and names each file with
//! `export_name`, which contains the id, since titles need not be unique.

use std::path::{Path, PathBuf};

use pia_knowledge::{ContentType, Document};

use crate::admin::AdminError;

/// Maximum length of a title in a file's name, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// Extensions of files, with their types.
const EXTENSIONS: [(&str, ContentType); 12] = [
    ("txt", ContentType::Text),
    ("md", ContentType::Markdown),
    ("markdown", ContentType::Markdown),
    ("html", ContentType::Html),
    ("htm", ContentType::Html),
    ("csv", ContentType::Csv),
    ("eml", ContentType::Email),
    ("pdf", ContentType::Pdf),
    ("docx", ContentType::Docx),
    ("pptx", ContentType::Pptx),
    ("xlsx", ContentType::Xlsx),
    ("text", ContentType::Text),
];

/// File to be imported.
pub(super) struct FileSource {
    path: PathBuf,
    /// Path within the folder, with slashes.
    pub(super) name: String,
    /// Name without the extension.
    pub(super) title: String,
    pub(super) content_type: ContentType,
    pub(super) size: u64,
}

impl FileSource {
    /// Returns the file at a path; `None` if its extension is unknown.
    fn at(folder: &Path, path: PathBuf, size: u64) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let (_, content_type) = EXTENSIONS.into_iter().find(|it| it.0 == extension)?;
        let title = path.file_stem()?.to_string_lossy().into_owned();
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let names: Vec<_> = name.iter().map(|it| it.to_string_lossy()).collect();
        Some(Self { name: names.join("/"), title, content_type, size, path })
    }

    /// Returns the content of the file, as it is now.
    pub(super) fn read(&self) -> Result<Vec<u8>, AdminError> {
        std::fs::read(&self.path).map_err(|err| AdminError::File(self.path.clone(), err))
    }
}

/// Files in a folder and its subfolders.
pub(super) struct FolderFiles {
    /// Files to be imported, by path.
    pub(super) files: Vec<FileSource>,
    /// Number of files of unknown types.
    pub(super) unknown_count: usize,
}

/// Returns the files in a folder and its subfolders. Hidden files and links are
/// left out.
pub(super) fn list_files(folder: &Path) -> Result<FolderFiles, AdminError> {
    let mut files = Vec::new();
    let mut unknown_count = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        let failed = |err| AdminError::File(current.clone(), err);
        for entry in std::fs::read_dir(&current).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }

            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let size = entry.metadata().map_err(failed)?.len();
                match FileSource::at(folder, entry.path(), size) {
                    Some(file) => files.push(file),
                    None => unknown_count += 1,
                }
            }
        }
    }

    files.sort_by(|a, b| a.name.cmp(&b.name));

    Ok(FolderFiles { files, unknown_count })
}

/// Creates a folder, or accepts an empty one.
pub(super) fn create_folder(folder: &Path) -> Result<(), AdminError> {
    let failed = |err| AdminError::File(folder.to_owned(), err);
    std::fs::create_dir_all(folder).map_err(failed)?;
    if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(AdminError::NotEmpty(folder.to_owned()));
    }
    Ok(())
}

/// Returns the name of a document's file: its title, as far as every system
/// accepts it, and its id.
pub(super) fn export_name(document: &Document) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || " -_.".contains(it);
    let plain = document.title.chars().map(|it| if is_plain(it) { it } else { '_' });
    let mut title: String = plain.collect::<String>().trim_matches(['.', ' ']).to_owned();
    title.truncate(title.floor_char_boundary(MAX_NAME_BYTES));
    let extension = EXTENSIONS.into_iter().find(|it| it.1 == document.content_type);
    format!("{title}-{}.{}", document.id, extension.map_or("bin", |it| it.0))
}
