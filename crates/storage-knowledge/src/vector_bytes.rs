//! Vectors in columns: 32-bit floats, little-endian.

/// Returns the bytes of a vector.
pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// Returns the vector of these bytes.
pub(crate) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _rest) = bytes.as_chunks::<4>();
    numbers.iter().map(|it| f32::from_le_bytes(*it)).collect()
}
