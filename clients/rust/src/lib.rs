//! Client of the credgate lookup gateway
