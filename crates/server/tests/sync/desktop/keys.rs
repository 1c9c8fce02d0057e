//! Cryptography of the client: keys, wraps, signatures and proofs.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use ring::{digest, hmac};

use super::row::Sealer;

/// A user's master key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Umk(pub(crate) [u8; 32]);

/// Ciphertext of a row and its wrapped key, in Base64.
#[derive(Debug, Clone)]
pub(crate) struct Blobs {
    pub(crate) payload: String,
    pub(crate) dek: String,
}

/// Private keys of a device.
pub(crate) struct DeviceKeys {
    agreement: p256::SecretKey,
    signing: EcdsaKeyPair,
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("randomness");
    bytes
}

/// Returns 32 random bytes in Base64.
pub(crate) fn salt() -> String {
    STANDARD.encode(random::<32>())
}

pub(crate) fn hkdf(key: &[u8], salt: &[u8], info: &str) -> [u8; 32] {
    let mut out = [0; 32];
    let derived = Salt::new(HKDF_SHA256, salt).extract(key);
    let info = [info.as_bytes()];
    derived.expand(&info, HKDF_SHA256).and_then(|it| it.fill(&mut out)).expect("32 bytes");
    out
}

fn cipher(key: &[u8]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("32 bytes"))
}

/// Encrypts into nonce, ciphertext and tag, in Base64.
pub(crate) fn encrypt(key: &[u8], aad: &str, plain: &[u8]) -> String {
    let nonce = random::<NONCE_LEN>();
    let mut sealed = plain.to_vec();
    let at = Nonce::assume_unique_for_key(nonce);
    let aad = Aad::from(aad.as_bytes());
    cipher(key).seal_in_place_append_tag(at, aad, &mut sealed).expect("a short text");
    STANDARD.encode([&nonce[..], &sealed].concat())
}

/// Decrypts the output of [`encrypt`]; `None` if it was modified.
pub(crate) fn decrypt(key: &[u8], aad: &str, text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut sealed = sealed.to_vec();
    let aad = Aad::from(aad.as_bytes());
    Some(cipher(key).open_in_place(nonce, aad, &mut sealed).ok()?.to_vec())
}

/// Returns a proof of possession of the master key for a session.
pub(crate) fn proof(umk: &Umk, session: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &proof_key(umk));
    STANDARD.encode(hmac::sign(&key, session.as_bytes()))
}

pub(crate) fn proof_key(umk: &Umk) -> [u8; 32] {
    hkdf(&umk.0, b"activation", "pia-activation-proof-v1")
}

impl Umk {
    pub(crate) fn generate() -> Self {
        Self(random())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }
}

impl Sealer {
    /// Encrypts a record under a fresh key.
    pub(crate) fn seal(&self, entity: &str, id: &str, json: &[u8]) -> Blobs {
        let dek = random::<32>();
        let mut encoder = ZlibEncoder::new(vec![1], Compression::fast());
        encoder.write_all(json).expect("memory");
        let packed = encoder.finish().expect("memory");
        let payload = encrypt(&dek, &self.record(entity, id), &packed);
        let wrapped_dek = encrypt(&self.umk.0, &format!("pia-dek-wrap-v1:{entity}:{id}"), &dek);
        Blobs { payload, dek: wrapped_dek }
    }

    /// Decrypts a record's JSON, if it is this user's and has this entity and id.
    pub(crate) fn unseal(&self, entity: &str, id: &str, blobs: &Blobs) -> Option<Vec<u8>> {
        let aad = format!("pia-dek-wrap-v1:{entity}:{id}");
        let dek = decrypt(&self.umk.0, &aad, &blobs.dek)?;
        let packed = decrypt(&dek, &self.record(entity, id), &blobs.payload)?;
        let mut json = Vec::new();
        match packed.split_first()? {
            (1, rest) => ZlibDecoder::new(rest).read_to_end(&mut json).ok().map(|_| json),
            _ => Some(packed),
        }
    }

    fn record(&self, entity: &str, id: &str) -> String {
        format!("pia-e2ee-v1:{}:{entity}:{id}", self.user)
    }
}

impl DeviceKeys {
    pub(crate) fn generate() -> Self {
        let agreement = p256::SecretKey::from_slice(&random::<32>()).expect("a scalar");
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let signing = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key");
        Self { agreement, signing }
    }

    fn agreement_point(&self) -> Vec<u8> {
        p256::Sec1Point::from(self.agreement.public_key()).as_bytes().to_vec()
    }

    /// Returns the public key, 65 bytes in Base64.
    pub(crate) fn agreement_public(&self) -> String {
        STANDARD.encode(self.agreement_point())
    }

    /// Returns the public key, 65 bytes in Base64.
    pub(crate) fn signing_public(&self) -> String {
        STANDARD.encode(self.signing.public_key())
    }

    /// Returns the fingerprint that users compare.
    pub(crate) fn fingerprint(&self) -> String {
        let hash = digest::digest(&digest::SHA256, &self.agreement_point());
        let hex = |pair: &[u8]| format!("{:02X}{:02X}", pair[0], pair[1]);
        hash.as_ref()[..8].chunks(2).map(hex).collect::<Vec<_>>().join("-")
    }

    /// Signs an approval: r and s, 64 bytes.
    pub(crate) fn sign(&self, text: &str) -> String {
        let signature = self.signing.sign(&SystemRandom::new(), text.as_bytes());
        STANDARD.encode(signature.expect("a signature"))
    }

    /// Wraps the master key for a device, under a key that the two agree on.
    pub(crate) fn wrap(&self, umk: &Umk, target: &str, peer: &str, salt: &str) -> String {
        let info = format!("pia-umk-wrap-v1:{target}");
        encrypt(&self.agreed_key(peer, salt, &info), &info, &umk.0)
    }

    pub(crate) fn unwrap(&self, text: &str, own: &str, peer: &str, salt: &str) -> Option<Umk> {
        let info = format!("pia-umk-wrap-v1:{own}");
        Umk::from_bytes(&decrypt(&self.agreed_key(peer, salt, &info), &info, text)?)
    }

    fn agreed_key(&self, peer: &str, salt: &str, info: &str) -> [u8; 32] {
        let point = STANDARD.decode(peer).expect("a key in base64");
        let peer = p256::PublicKey::from_sec1_bytes(&point).expect("a point of P-256");
        let shared = self.agreement.diffie_hellman(&peer);
        let salt = STANDARD.decode(salt).expect("a salt in base64");
        hkdf(shared.raw_secret_bytes().as_slice(), &salt, info)
    }
}

/// Returns whether the signature of a text is valid under a public key.
pub(crate) fn signed_by(public: &str, text: &str, signature: &str) -> bool {
    let key = STANDARD.decode(public).expect("a key in base64");
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
    STANDARD.decode(signature).is_ok_and(|it| key.verify(text.as_bytes(), &it).is_ok())
}

#[test]
fn proofs_match_the_test_vectors() {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(0..).for_each(|(byte, number)| *byte = number);
    let umk = Umk(bytes);

    let key = STANDARD.encode(proof_key(&umk));
    let proof = proof(&umk, "c2Vzc2lvbi1pZC1mb3ItdGVzdA==");

    assert_eq!(key, "phOEJR9lkjOF4YJxhf4nT9XmassAoNeahsxCoJFIiyc=");
    assert_eq!(proof, "y+52MODeXs+WHJ+ElRnSblizJFBBznh7MVOnhS0eB1M=");
}

#[test]
fn only_the_two_devices_of_a_wrap_can_unwrap_it() {
    let ada = DeviceKeys::generate();
    let bob = DeviceKeys::generate();
    let eve = DeviceKeys::generate();
    let umk = Umk::generate();
    let salt = salt();

    let wrapped = ada.wrap(&umk, "bob", &bob.agreement_public(), &salt);

    assert_eq!(bob.unwrap(&wrapped, "bob", &ada.agreement_public(), &salt), Some(umk));
    assert_eq!(bob.unwrap(&wrapped, "eve", &ada.agreement_public(), &salt), None);
    assert_eq!(eve.unwrap(&wrapped, "bob", &ada.agreement_public(), &salt), None);
    assert!(signed_by(&ada.signing_public(), "this", &ada.sign("this")));
    assert!(!signed_by(&ada.signing_public(), "that", &ada.sign("this")));
    assert_eq!(wrapped.len(), 80, "nonce, key and tag in base64");
}
