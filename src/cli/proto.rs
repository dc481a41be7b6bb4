//! `credgate proto`: what a client in another language is generated from.

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;

use super::{Exit, print::err};

#[derive(Args, Debug)]
pub struct Proto {
    /// Print a binary descriptor set of credgate.v1 and grpc.health.v1 (grpcurl -protoset) instead of the .proto text
    #[arg(long)]
    descriptor_set: bool,
}

pub const EXAMPLES: &str = "\
Examples:
  credgate proto > credential.proto
  credgate proto --descriptor-set > credgate.binpb
  grpcurl -protoset credgate.binpb … 127.0.0.1:7443 credgate.v1.CredentialService/LookupCredential";

impl Proto {
    pub fn run(self) -> Exit {
        let mut out = io::stdout();
        if self.descriptor_set && out.is_terminal() {
            err!(
                "credgate: the descriptor set is binary; send it to a file: credgate proto --descriptor-set > credgate.binpb"
            );
            return Exit::Failure;
        }
        let content = match self.descriptor_set {
            true => credgate_proto::descriptor_set(),
            false => credgate_proto::PROTO.as_bytes().to_vec(),
        };
        match out.write_all(&content).and_then(|()| out.flush()) {
            Ok(()) => Exit::Clean,
            Err(error) => {
                err!("credgate: cannot write: {error}");
                Exit::Failure
            }
        }
    }
}
