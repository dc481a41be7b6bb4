//! See credgate_fuzz::csv.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| credgate_fuzz::csv(data));
