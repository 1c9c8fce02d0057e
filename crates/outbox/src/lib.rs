//! Mail that waits to be sent: what goes when, and what becomes of it.
