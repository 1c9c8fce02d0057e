//! Identity providers, spoken to by OpenID Connect.
