//! Follows one gateway's health, for as long as its registrar lives.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use tonic::{Code, Request};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use super::Shared;
use crate::{CallError, chance::chance};

/// A gateway ends its streams now and then; the next one is opened a little later.
pub(super) async fn follow(shared: Arc<Shared>, index: usize) {
    loop {
        let pause = match stream(&shared, index).await {
            Ok(()) => PAUSE,
            Err(CallError::Status(status)) if !matches!(status.code(), Code::Unavailable | Code::Cancelled) => {
                // A gateway that has no room for another stream, or does not know them, may well answer lookups.
                let no_room = matches!(status.code(), Code::ResourceExhausted | Code::Unimplemented);
                shared.state().gateways.watched(index, (!no_room).then_some(false), false);
                REFUSED_PAUSE
            }
            Err(_) => {
                shared.state().gateways.watched(index, Some(false), false);
                PAUSE
            }
        };
        sleep(pause.mul_f64(0.5 + chance())).await;
    }
}

async fn stream(shared: &Shared, index: usize) -> Result<(), CallError> {
    let connection = shared.clients[index].connection(Instant::now() + DIAL).await?;
    let request = Request::new(HealthCheckRequest { service: "readiness".to_owned() });
    let broke = |status| connection.judge(status);
    let mut stream = HealthClient::new(connection.clone()).watch(request).await.map_err(broke)?.into_inner();
    let mut fresh = true;
    while let Some(word) = stream.message().await.map_err(broke)? {
        shared.state().gateways.watched(index, Some(word.status() == ServingStatus::Serving), fresh);
        fresh = false;
    }
    Ok(())
}

/// The client's own bound on a dial.
const DIAL: Duration = Duration::from_secs(5);

/// Between the end of a health stream and the next one.
const PAUSE: Duration = Duration::from_millis(300);

/// The same when a gateway refused it: our token is wrong, or there are too many streams. Neither ends soon.
const REFUSED_PAUSE: Duration = Duration::from_secs(15);
