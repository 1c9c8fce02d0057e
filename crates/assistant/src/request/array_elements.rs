//! Arrays whose elements are parsed separately.
//!
//! All elements are counted, but only the first are stored: a request with too many is
//! refused by its count, without memory for the rest.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// First elements of an array, and its length.
pub(crate) struct ArrayElements<'a> {
    pub(crate) first: Vec<&'a RawValue>,
    pub(crate) count: usize,
}

impl ArrayElements<'_> {
    /// Maximum number of stored elements; no request needs more messages or
    /// tools.
    pub(crate) const MAX_LEN: usize = 2000;
}

impl<'de: 'a, 'a> Deserialize<'de> for ArrayElements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = ArrayElements<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut first = Vec::new();
                while first.len() < ArrayElements::MAX_LEN
                    && let Some(element) = seq.next_element()?
                {
                    first.push(element);
                }
                let mut count = first.len();
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(ArrayElements { first, count })
            }
        }

        deserializer.deserialize_seq(Reader)
    }
}
