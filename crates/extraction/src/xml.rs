//! XML of documents. Entities other than those of the standard itself are not
//! expanded, and document types are refused.
//!
//! A pull reader: `next` returns pieces until the end, and `skip` drops the rest of an
//! element. Names are compared without their prefixes, which files choose freely.

use pia_knowledge::ExtractError;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Start of an element.
pub(crate) struct Tag<'a>(BytesStart<'a>);

impl Tag<'_> {
    /// Returns its name without its prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().into_inner())
    }

    /// Returns the value of an attribute by its name without its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|it| local(it) == name)
    }

    /// Returns the identity of a relationship in `r:id`.
    pub(crate) fn relationship(&self) -> Option<String> {
        self.find(|it| it.ends_with(":id"))
    }

    fn find(&self, has_name: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes().filter_map(Result::ok);
        let attribute = attributes.find(|it| has_name(it.key.into_inner()))?;
        Some(attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
    }
}

/// Piece of XML.
pub(crate) enum Piece<'a> {
    /// Start of an element.
    Start(Tag<'a>),
    /// End of the element with this name without its prefix.
    End(String),
    /// Text, character data, or an entity that was resolved; a text may be cut at any
    /// of them.
    Text(String),
}

/// Reader of XML, piece by piece; an empty element has a start and an end.
pub(crate) struct Xml<'a>(Reader<&'a [u8]>);

impl<'a> Xml<'a> {
    /// Begins to read.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self(reader)
    }

    /// Returns the next piece; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Piece<'a>>, ExtractError> {
        loop {
            let event = self.0.read_event().map_err(|_reason| ExtractError::Damaged)?;
            let piece = match event {
                Event::Start(it) | Event::Empty(it) => Piece::Start(Tag(it)),
                Event::End(it) => Piece::End(local(it.name().into_inner()).to_owned()),
                Event::Text(it) => Piece::Text(it.into_inner().into_owned()),
                Event::CData(it) => Piece::Text(it.into_inner().into_owned()),
                Event::GeneralRef(it) => match it.resolve_char_ref() {
                    Ok(Some(character)) => Piece::Text(character.to_string()),
                    _ => match resolve_xml_entity(&it) {
                        Some(text) => Piece::Text(text.to_owned()),
                        None => continue,
                    },
                },
                Event::DocType(_) => return Err(ExtractError::Damaged),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
                Event::Eof => return Ok(None),
            };
            return Ok(Some(piece));
        }
    }

    /// Skips the rest of an element that was started.
    pub(crate) fn skip(&mut self) -> Result<(), ExtractError> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                Some(Piece::Start(_)) => depth += 1,
                Some(Piece::End(_)) => depth -= 1,
                Some(Piece::Text(_)) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}
