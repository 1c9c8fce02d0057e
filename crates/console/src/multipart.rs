//! Reader of `multipart/form-data` (RFC 7578), the form in which browsers
//! upload files.

use actix_web::web::Bytes;
use memchr::memmem;

/// Maximum number of parts.
const MAX_PARTS: usize = 100;
/// Maximum length of a part's headers in bytes.
const MAX_HEADER_BYTES: usize = 4096;
/// Maximum length of a boundary in bytes (RFC 2046, 5.1.1).
const MAX_BOUNDARY_BYTES: usize = 70;

/// Part of a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FormPart {
    /// Name of the field.
    pub(crate) name: String,
    /// True for a file.
    pub(crate) is_file: bool,
    /// Slice of the body.
    pub(crate) content: Bytes,
}

/// Parses a body of this media type; `None` if either is malformed.
pub(crate) fn parse(content_type: &str, body: &Bytes) -> Option<Vec<FormPart>> {
    let boundary = boundary(content_type)?;
    let delimiter = format!("\r\n--{boundary}");
    let find_delimiter = memmem::Finder::new(delimiter.as_bytes());
    // No line break is before the first delimiter.
    let first = delimiter.get(2..)?;
    let mut at = body.starts_with(first.as_bytes()).then_some(first.len())?;
    let mut parts = Vec::new();
    loop {
        let rest = body.get(at..)?;
        if rest.starts_with(b"--") {
            return Some(parts);
        }
        let rest = rest.strip_prefix(b"\r\n")?;
        let head = rest.get(..rest.len().min(MAX_HEADER_BYTES))?;
        let head_bytes = memmem::find(head, b"\r\n\r\n")?;
        let (name, is_file) = disposition(head.get(..head_bytes)?)?;
        let start = at + 2 + head_bytes + 4;
        // The line break before the delimiter is not part of the content, but
        // may be that behind the headers: an empty part has only one.
        let end = start - 2 + find_delimiter.find(body.get(start - 2..)?)?;
        let content = body.slice(start.min(end)..end);
        parts.push(FormPart { name, is_file, content });
        if parts.len() > MAX_PARTS {
            return None;
        }
        at = end + delimiter.len();
    }
}

/// Returns whether this is the media type of such a form.
pub(crate) fn is_multipart(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("multipart/form-data")
}

fn boundary(content_type: &str) -> Option<String> {
    let boundary = is_multipart(content_type).then(|| parameter(content_type, "boundary"))??;
    (1..=MAX_BOUNDARY_BYTES).contains(&boundary.len()).then_some(boundary)
}

/// Returns the name in a part's headers, and whether it is that of a file.
fn disposition(head: &[u8]) -> Option<(String, bool)> {
    let head = str::from_utf8(head).ok()?;
    let mut headers = head.split("\r\n").filter_map(|it| it.split_once(':'));
    let (_, value) = headers.find(|it| it.0.eq_ignore_ascii_case("content-disposition"))?;
    Some((parameter(value, "name")?, parameter(value, "filename").is_some()))
}

/// Returns a parameter of a header's value.
fn parameter(value: &str, name: &str) -> Option<String> {
    let (_, mut rest) = value.split_once(';')?;
    loop {
        let (key, after) = rest.split_once('=')?;
        let (found, after) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                let (token, after) = after.split_at_checked(end)?;
                (token.trim().to_owned(), after)
            }
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(found);
        }
        rest = after.trim_start().strip_prefix(';')?;
    }
}

/// Splits a quoted text, without its opening quote, from what follows it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((text, quoted.get(at + 1..)?)),
            // Only quotes are escaped: browsers send other backslashes as they are.
            '\\' if quoted.get(at + 1..)?.starts_with('"') => {
                characters.next();
                text.push('"');
            }
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=----x";

    fn part(name: &str, is_file: bool, content: &'static [u8]) -> FormPart {
        FormPart { name: name.to_owned(), is_file, content: Bytes::from_static(content) }
    }

    fn body(text: &'static [u8]) -> Bytes {
        Bytes::from_static(text)
    }

    #[test]
    fn fields_and_files_are_parsed() {
        let form = body(
            b"------x\r\nContent-Disposition: form-data; name=\"csrfToken\"\r\n\r\nabc\r\n\
              ------x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a;\\\"b\\c.cab\"\r\n\
              Content-Type: application/octet-stream\r\n\r\n\x00\r\n--\r\n----y\xff\r\n\
              ------x\r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n------x--\r\n",
        );

        let expected = [
            part("csrfToken", false, b"abc"),
            part("file", true, b"\x00\r\n--\r\n----y\xff"),
            part("empty", false, b""),
        ];
        assert_eq!(parse(TYPE, &form).unwrap(), expected);
        assert_eq!(parse(TYPE, &body(b"------x--")), Some(Vec::new()));
        let quoted = "Multipart/Form-Data; charset=utf-8; Boundary=\"----x\"";
        assert_eq!(parse(quoted, &form).unwrap().len(), 3);
    }

    #[test]
    fn malformed_forms_are_refused() {
        let good = body(b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--");
        let of = "multipart/form-data; boundary=b";
        assert!(parse(of, &good).is_some());
        for content_type in
            ["", "text/plain; boundary=b", "multipart/form-data", "multipart/form-data; boundary="]
        {
            assert_eq!(parse(content_type, &good), None, "{content_type}");
        }
        let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
        assert_eq!(parse(&long, &good), None);
        // Every truncation lacks the end.
        for length in 0..good.len() - 2 {
            assert_eq!(parse(of, &good.slice(..length)), None, "{length}");
        }
        for other in [
            &b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--"[..],
            b"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--",
            b"--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--",
            b"--bb\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--",
        ] {
            assert_eq!(parse(of, &Bytes::from_static(other)), None);
        }
    }

    #[test]
    fn the_number_of_parts_and_the_headers_are_bounded() {
        let of = "multipart/form-data; boundary=b";
        let one = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
        let form = |count| Bytes::from(one.repeat(count) + "--b--");
        assert_eq!(parse(of, &form(MAX_PARTS)).unwrap().len(), MAX_PARTS);
        assert_eq!(parse(of, &form(MAX_PARTS + 1)), None);

        let padding = "p".repeat(MAX_HEADER_BYTES);
        let long = format!(
            "--b\r\nX: {padding}\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--b--"
        );
        assert_eq!(parse(of, &Bytes::from(long)), None);
    }
}
