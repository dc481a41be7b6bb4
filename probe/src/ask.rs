//! The question itself: one deadline over resolve, TCP, TLS, authentication and the call.

use std::fmt;

use credgate_client::{CallError, Endpoint, PrepareError, Problem, ServingStatus, code_name, dial};
use tokio::{
    runtime,
    time::{Instant, timeout_at},
};
use tonic::Code;

use crate::cli::Arguments;

/// Why the answer is not SERVING: the step, then its class.
#[derive(Debug)]
pub struct Failure {
    step: String,
    class: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.class)
    }
}

/// Asks once. Ends at the deadline even when a resolver hangs in its thread, which is then left behind.
pub fn ask(arguments: &Arguments) -> Result<(), Failure> {
    let deadline = Instant::now() + arguments.gateway.timeout;
    let endpoint = Endpoint::prepare(&arguments.gateway.settings()).map_err(|error| unprepared(&error))?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| failure("start", error.to_string()))?;
    let answer = runtime.block_on(async {
        timeout_at(deadline, call(&endpoint, arguments, deadline)).await.unwrap_or(Err(CallError::TimedOut))
    });
    runtime.shutdown_background();
    match answer {
        Ok(ServingStatus::Serving) => Ok(()),
        Ok(other) => Err(failure("status", other.as_str_name())),
        Err(error) => Err(uncalled(&error)),
    }
}

async fn call(endpoint: &Endpoint, arguments: &Arguments, deadline: Instant) -> Result<ServingStatus, CallError> {
    dial(endpoint, deadline).await?.check(arguments.name.as_str(), deadline).await
}

fn unprepared(error: &PrepareError) -> Failure {
    let sentences: Vec<String> = error.problems().iter().map(credgate_client::Arguments::problem).collect();
    let files = error.problems().iter().all(|problem| matches!(problem, Problem::File(_)));
    failure(if files { "files" } else { "usage" }, sentences.join("; "))
}

fn uncalled(error: &CallError) -> Failure {
    let CallError::Status(status) = error else {
        // These begin with their step.
        let text = error.to_string();
        let (step, class) = text.split_once(": ").unwrap_or(("rpc", &text));
        return failure(step, class);
    };
    let code = status.code();
    let step = if matches!(code, Code::Unauthenticated | Code::PermissionDenied) { "auth" } else { "rpc" };
    failure(step, format!("{}{}", code_name(code), hint(code)))
}

/// What a refusal most likely comes from, in parentheses; nothing for other statuses.
pub fn hint(code: Code) -> &'static str {
    match code {
        Code::Unauthenticated => {
            " (the gateway does not accept this token, or the certificate belongs to another identity)"
        }
        Code::PermissionDenied => " (this identity may not ask for health)",
        Code::NotFound => " (the server has no health status of this name)",
        Code::Unimplemented => " (the server has no health service; is it a credgate gateway?)",
        _ => "",
    }
}

fn failure(step: impl Into<String>, class: impl Into<String>) -> Failure {
    Failure { step: step.into(), class: class.into() }
}
