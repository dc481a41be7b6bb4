//! See credgate_fuzz::node_id.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| credgate_fuzz::node_id(data));
