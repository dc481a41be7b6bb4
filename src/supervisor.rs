//! What a supervisor is told: systemd's notification protocol (sd_notify(3)), where `NOTIFY_SOCKET` is set.
//!
//! READY only once lookups are answered, STOPPING with the first signal, and the watchdog is fed only while the gateway
//! is live: by the control thread, as long as the lookup runtime ticks.
//!
//! Datagrams block while the supervisor does not read (ten may wait, net.unix.max_dgram_qlen), so a thread of their own
//! sends them: neither probes nor lookups wait for a supervisor.

use std::{
    env,
    sync::{
        Arc, LazyLock,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use sd_notify::NotifyState;
use tokio::time::sleep;

use crate::{health::Board, shutdown::Phase};

/// Says `READY=1` with a line of status.
pub fn ready(status: &'static str) {
    tell(vec![NotifyState::Ready, NotifyState::Status(status)]);
}

/// Says `STOPPING=1` and asks for the time that it takes.
pub fn stopping(within: Duration) {
    tell(vec![
        NotifyState::Stopping,
        NotifyState::Status("draining"),
        NotifyState::ExtendTimeoutUsec(u32::try_from(within.as_micros()).unwrap_or(u32::MAX)),
    ]);
}

/// Says in what state a serving gateway is whenever that changes, and feeds the watchdog while it is live. Runs for ever,
/// on the control thread.
pub async fn keep_told(board: Arc<Board>) {
    let watchdog = sd_notify::watchdog_enabled();
    // At least twice in the time that is granted, as sd_watchdog_enabled(3) recommends.
    let pause = watchdog.map_or(PAUSE, |granted| (granted / 4).min(PAUSE));
    let mut told = None;
    loop {
        let verdicts = board.verdicts();
        if board.phases().now() == Phase::Serving && told != Some(verdicts.readiness) {
            tell(vec![NotifyState::Status(if verdicts.readiness { "serving" } else { "not ready: see the log" })]);
            told = Some(verdicts.readiness);
        }
        if watchdog.is_some() && verdicts.liveness {
            tell(vec![NotifyState::Watchdog]);
        }
        sleep(pause).await;
    }
}

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// More than a busy supervisor leaves waiting; a dead one needs none of them.
const QUEUE: usize = 64;

type Message = Vec<NotifyState<'static>>;

fn tell(message: Message) {
    static SENDER: LazyLock<Option<SyncSender<Message>>> = LazyLock::new(sender);
    if let Some(sender) = &*SENDER {
        // What finds no room is lost, as it would be for a supervisor that is gone.
        let _ = sender.try_send(message);
    }
}

/// `None` without a supervisor.
fn sender() -> Option<SyncSender<Message>> {
    env::var_os("NOTIFY_SOCKET")?;
    let (sender, messages) = sync_channel::<Message>(QUEUE);
    let send = move || {
        for message in messages {
            if let Err(error) = sd_notify::notify(&message) {
                tracing::debug!(%error, "the supervisor cannot be told");
            }
        }
    };
    thread::Builder::new().name("supervisor".into()).spawn(send).ok()?;
    Some(sender)
}
