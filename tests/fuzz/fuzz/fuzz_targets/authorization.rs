//! See credgate_fuzz::authorization.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| credgate_fuzz::authorization(data));
