//! See credgate_fuzz::grpc_timeout.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| credgate_fuzz::grpc_timeout(data));
