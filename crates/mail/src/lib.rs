//! Sending mail: letters in two languages, and the relay that takes them.
