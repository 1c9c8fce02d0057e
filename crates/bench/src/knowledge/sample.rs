//! Pseudorandom samples, the same for a seed.

/// Pseudorandom number generator with a fixed sequence for each seed.
pub(super) struct Sample(u64);

impl Sample {
    pub(super) fn new(seed: usize) -> Self {
        // Mixed, since a sequence is a walk in steps of one size: those of two
        // seeds would be the same but for their first numbers.
        Self(Self((seed as u64).wrapping_mul(0xD134_2543_DE82_EF95)).next_number())
    }

    fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        let high = u32::try_from(self.next_number() >> 32).unwrap_or(u32::MAX);
        high % limit.max(1)
    }

    /// Returns a number from -1 to 1.
    pub(super) fn centred(&mut self) -> f32 {
        let step = u16::try_from(self.next_number() >> 48).unwrap_or(u16::MAX);
        f32::from(step) / 32_767.5 - 1.0
    }

    /// Returns a rank below a limit; low ones are more frequent, as with words.
    pub(super) fn rank(&mut self, limit: u32) -> u32 {
        (0..3).fold(limit, |below, _| self.below(below) + 1) - 1
    }
}
