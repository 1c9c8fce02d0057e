//! Sealing of payloads. The original encoding moves to the metadata
//! `sealed-encoding`, which stays readable; data alone is sealed. The context has
//! no row: a payload is not bound to its workflow.

use std::future::ready;
use std::pin::Pin;

use pia_kernel::Secret;
use pia_sealing::{SealContext, ServerSeal};
use temporalio_common::data_converters::{
    PayloadCodec, PayloadConversionError, SerializationContextData,
};
use temporalio_common::protos::ENCODING_PAYLOAD_KEY;
use temporalio_common::protos::temporal::api::common::v1::Payload;

const PLACE: SealContext<'static> = SealContext { purpose: "workflow-payload", row: b"" };
/// Encoding of a sealed payload.
const SEALED: &[u8] = b"binary/encrypted";
/// Metadata with the encoding that a payload had before it was sealed.
const INNER_ENCODING: &str = "sealed-encoding";

type Converted = Result<Vec<Payload>, PayloadConversionError>;
type Conversion = Pin<Box<dyn Future<Output = Converted> + Send>>;

/// Codec that seals payloads under a key of the server, so that Temporal stores
/// and shows ciphertext alone.
pub(crate) struct SealingCodec {
    pub(crate) seal: ServerSeal,
}

impl SealingCodec {
    fn seal(&self, mut payload: Payload) -> Result<Payload, PayloadConversionError> {
        let plain = Secret::new(std::mem::take(&mut payload.data));
        payload.data = self.seal.seal(PLACE, &plain).map_err(failed)?;
        let encoding = payload.metadata.insert(ENCODING_PAYLOAD_KEY.to_owned(), SEALED.to_vec());
        payload.metadata.insert(INNER_ENCODING.to_owned(), encoding.unwrap_or_default());
        Ok(payload)
    }

    /// Opens a payload. Refuses one that is not sealed.
    fn open(&self, mut payload: Payload) -> Result<Payload, PayloadConversionError> {
        let encoding =
            payload.metadata.remove(INNER_ENCODING).ok_or(PayloadConversionError::WrongEncoding)?;
        payload.metadata.insert(ENCODING_PAYLOAD_KEY.to_owned(), encoding);
        payload.data = self.seal.open(PLACE, &payload.data).map_err(failed)?.reveal();
        Ok(payload)
    }
}

impl PayloadCodec for SealingCodec {
    fn encode(&self, _context: &SerializationContextData, payloads: Vec<Payload>) -> Conversion {
        Box::pin(ready(payloads.into_iter().map(|it| self.seal(it)).collect()))
    }

    fn decode(&self, _context: &SerializationContextData, payloads: Vec<Payload>) -> Conversion {
        Box::pin(ready(payloads.into_iter().map(|it| self.open(it)).collect()))
    }
}

fn failed(err: impl std::error::Error + Send + Sync + 'static) -> PayloadConversionError {
    PayloadConversionError::EncodingError(Box::new(err))
}

#[cfg(test)]
mod tests {
    use pia_sealing::MasterKeys;

    use super::*;

    const CONTEXT: &SerializationContextData = &SerializationContextData::None;

    fn codec(current: u8, previous: Option<u8>) -> SealingCodec {
        let key = |byte| Secret::new([byte; 32]);
        let keys = MasterKeys { current: key(current), previous: previous.map(key) };
        SealingCodec { seal: ServerSeal::new(keys) }
    }

    fn payload() -> Payload {
        let encoding = (ENCODING_PAYLOAD_KEY.to_owned(), b"json/plain".to_vec());
        let data = b"\"a secret\"".to_vec();
        Payload { metadata: [encoding].into(), data, ..Payload::default() }
    }

    #[tokio::test]
    async fn a_payload_opens_as_it_was_also_after_a_rotation_of_the_master_key() {
        let sealed = codec(1, None).encode(CONTEXT, vec![payload()]).await.unwrap();

        assert!(!sealed[0].data.windows(6).any(|it| it == b"secret"));
        assert_eq!(sealed[0].metadata[ENCODING_PAYLOAD_KEY], SEALED);
        for codec in [codec(1, None), codec(2, Some(1))] {
            assert_eq!(codec.decode(CONTEXT, sealed.clone()).await.unwrap(), [payload()]);
        }
        assert!(codec(2, None).decode(CONTEXT, sealed).await.is_err());
    }

    #[tokio::test]
    async fn a_payload_that_is_not_sealed_is_refused() {
        assert!(codec(1, None).decode(CONTEXT, vec![payload()]).await.is_err());
    }
}
