//! A credential service that answers as the test says.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_proto::{
    LookupCredentialRequest, LookupCredentialResponse,
    credential_service_server::{CredentialService, CredentialServiceServer},
};
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// Counts the calls; the answer depends on the node ID and the number of the call, from 0.
pub struct Script<F> {
    answer: F,
    calls: Arc<AtomicUsize>,
}

impl<F, A> Script<F>
where
    F: Fn(String, usize) -> A + Send + Sync + 'static,
    A: Future<Output = Result<String, Status>> + Send + 'static,
{
    pub fn new(answer: F) -> CredentialServiceServer<Self> {
        CredentialServiceServer::new(Self { answer, calls: Arc::default() })
    }
}

impl<F, A> CredentialService for Script<F>
where
    F: Fn(String, usize) -> A + Send + Sync + 'static,
    A: Future<Output = Result<String, Status>> + Send + 'static,
{
    fn lookup_credential<'s, 'a>(
        &'s self,
        request: Request<LookupCredentialRequest>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<LookupCredentialResponse>, Status>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let answer = (self.answer)(request.into_inner().node_id, number);
        Box::pin(async move { answer.await.map(|password| Response::new(LookupCredentialResponse { password })) })
    }
}

/// A status as the contract has it.
pub fn refusal(code: Code, reason: &str) -> Status {
    Status::with_error_details(code, "refused", ErrorDetails::with_error_info(reason, "credgate", []))
}

/// The same, with a time to wait.
pub fn refusal_for(code: Code, reason: &str, time: Duration) -> Status {
    let mut details = ErrorDetails::with_error_info(reason, "credgate", []);
    details.set_retry_info(Some(time));
    Status::with_error_details(code, "refused", details)
}
