//! Memory of hash computations.

use argon2::Block;
use pia_kernel::Unavailable;

/// Minimum reservation, in blocks: more than any allocator caches, so it is mapped separately and
/// returned to the system when freed. Reserved pages beyond a hash's need are never touched and
/// cost only address space.
const MAPPED_BLOCKS: usize = 33 * 1024;

/// Memory of a hashing thread, retained while more hashes wait: fresh pages would cost a tenth of
/// the time.
#[derive(Default)]
pub(crate) struct HashMemory {
    blocks: Vec<Block>,
    #[cfg(test)]
    pub(crate) hashes: usize,
}

impl HashMemory {
    /// Returns blocks for one hash. Their contents are arbitrary: the first pass writes each before
    /// reading it.
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

        let allocated = self.blocks.len();
        self.blocks.get_mut(..count).ok_or_else(|| {
            Unavailable::new("memory for hashing", format!("{allocated} of {count} blocks"))
        })
    }

    /// Returns whether any memory is allocated that could be released.
    pub(crate) fn is_allocated(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Releases the memory to the system.
    pub(crate) fn release(&mut self) {
        self.blocks = Vec::new();
    }
}
