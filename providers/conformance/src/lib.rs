//! One suite that judges every provider
