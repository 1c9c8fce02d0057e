//! Devices and their keys: how an account becomes end-to-end encrypted, and how devices join.
