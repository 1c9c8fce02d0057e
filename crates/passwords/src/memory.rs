//! The memory that hashes are made in.

use argon2::Block;
use pia_kernel::Unavailable;

/// More than any allocator keeps for later: such a piece is mapped by itself
/// and goes back to the system when it is freed. What is reserved beyond a
/// hash's need is never touched, so it costs addresses and no memory.
const MAPPED_BLOCKS: usize = 33 * 1024;

/// Memory of a hashing thread, stored while more hashes wait: fresh pages would cost a tenth of the
/// time.
#[derive(Default)]
pub(crate) struct HashMemory {
    blocks: Vec<Block>,
    #[cfg(test)]
    pub(crate) hashes: usize,
}

impl HashMemory {
    /// Blocks for one hash. Their contents are arbitrary: the first pass writes each before it
    /// reads it.
    pub(crate) fn blocks(&mut self, count: usize) -> Result<&mut [Block], Unavailable> {
        #[cfg(test)]
        {
            self.hashes += 1;
        }
        if self.blocks.len() < count {
            self.blocks.clear();
            self.blocks
                .try_reserve_exact(count.max(MAPPED_BLOCKS))
                .map_err(|err| Unavailable::new("memory for hashing", err))?;
            self.blocks.resize(count, Block::default());
        }
        let stored = self.blocks.len();
        let short =
            || Unavailable::new("memory for hashing", format!("{stored} of {count} blocks"));
        self.blocks.get_mut(..count).ok_or_else(short)
    }

    /// Returns whether any memory is allocated that could be released.
    pub(crate) fn is_held(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Gives it back to the system.
    pub(crate) fn give_back(&mut self) {
        self.blocks = Vec::new();
    }
}
