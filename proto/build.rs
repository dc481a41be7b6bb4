//! Compiles the protocol without an installed `protoc`, and keeps the descriptor set for `credgate proto`.

use std::{env, error::Error, fs, path::PathBuf};

const PROTO: &str = "proto/credgate/v1/credential.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::Compiler::new(["proto"])?
        .include_imports(true)
        .include_source_info(true)
        .open_file(PROTO)?
        .encode_file_descriptor_set();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("credgate.binpb"), &descriptors)?;
    tonic_prost_build::configure()
        .build_transport(false)
        .skip_debug(["credgate.v1.LookupCredentialResponse"])
        .compile_fds(protox::compile([PROTO], ["proto"])?)?;
    Ok(())
}
