//! Two replicas restarted one after the other under load: a registrar that asks the other one once sees nothing of it.

use credgate_support::deployment::Deployment;

use crate::replicas::{Pair, Registrar, Replica};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lookup_is_answered_right_after_at_most_one_retry() {
    let mut deployment = Deployment::mtls();
    let mut replicas = [Replica::start(&mut deployment), Replica::start(&mut deployment)];
    let pair = || Pair::new([0, 1].map(|one| deployment.endpoint(replicas[one].lookup, &deployment.registrar)));
    // Several registrars, on connections of their own.
    let registrars: Vec<_> = (0..4).map(|_| Registrar::begin(pair(), "2000")).collect();
    registrars[0].more(20).await;
    for _ in 0..2 {
        for replica in &mut replicas {
            replica.restart(&mut deployment).await;
            for registrar in &registrars {
                registrar.settled().await;
            }
        }
    }
    registrars.into_iter().for_each(|registrar| registrar.end(deployment.nodes.password("2000")));
}
