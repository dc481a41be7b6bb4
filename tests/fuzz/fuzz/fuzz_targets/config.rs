//! See credgate_fuzz::config.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| credgate_fuzz::config(data));
