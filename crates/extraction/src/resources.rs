//! Limits of resources, which the kernel enforces on the child (`child.rs`).

use rustix::process::{Resource, Rlimit, setrlimit};

/// Maximum size of the address space, in bytes.
const MAX_MEMORY: u64 = 1024 * 1024 * 1024;
/// Maximum time on processors, in seconds.
const MAX_CPU_SECONDS: u64 = 30;
/// Number of files that are open: those of the pipes.
const MAX_FILES: u64 = 3;

/// Limits the resources of this process for good.
pub(crate) fn limit() -> std::io::Result<()> {
    let limits = [
        // No core dump, which would contain the file, and no written files.
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, MAX_FILES),
        (Resource::Cpu, MAX_CPU_SECONDS),
        (Resource::As, MAX_MEMORY),
    ];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
