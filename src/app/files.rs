//! Notices when a loaded file no longer holds what was loaded: a change that waits for a restart, or a mistake.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_files::{FileState, Loaded};
use tokio::{task::spawn_blocking, time::sleep};

/// Compares for ever; `differing` is how many differ now.
pub async fn watch(mut files: Vec<Loaded>, interval: Duration, differing: Arc<AtomicUsize>) {
    let mut told = vec![FileState::Same; files.len()];
    loop {
        sleep(interval).await;
        // Reading can take as long as a disk does, so not on a thread that answers lookups.
        let compared = spawn_blocking(move || {
            let states: Vec<_> = files.iter().map(Loaded::state).collect();
            (files, states)
        });
        let Ok((same_files, states)) = compared.await else { return };
        files = same_files;
        for ((file, told), state) in files.iter().zip(&mut told).zip(&states) {
            if told != state {
                tell(file, *state);
                *told = *state;
            }
        }
        differing.store(states.iter().filter(|state| **state != FileState::Same).count(), Ordering::Relaxed);
    }
}

fn tell(file: &Loaded, state: FileState) {
    let path = file.path().display();
    match state {
        FileState::Same => tracing::info!(%path, "file is again what is loaded"),
        FileState::Differs => tracing::warn!(%path, "file differs from what is loaded; a restart takes the change"),
        FileState::Gone => {
            tracing::warn!(%path, "file is gone or unreadable; what is loaded stays, a restart would fail");
        }
    }
}
