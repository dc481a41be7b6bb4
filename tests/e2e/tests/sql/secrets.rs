//! S1: the password of the database is nowhere, at any level, whatever is wrong with the URL or the server.

use credgate_support::{canary::Canary, process::Process};

use crate::ground::{BOUND, Ground, Kind, deployment, for_each_kind, run};

async fn the_password_is_nowhere(kind: Kind) {
    let mut ground = Ground::new(kind);
    ground.deployment.config.set("log.level", "trace");
    let mut secrets = ground.deployment.secrets();
    secrets.push(ground.database.password.clone());
    let canary = Canary::new(&secrets);
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    assert_eq!(client.lookup("2000").await.unwrap(), ground.password());
    tokio::task::block_in_place(|| ground.database.restart());
    ground.recovers(&client).await;
    gateway.terminate();
    gateway.ended(BOUND).await;
    canary.absent_from("the log", &gateway.log.text());

    let (scheme, at, secret) = (kind.scheme(), ground.database.address(), "canary-of-the-url");
    let canary = Canary::new([secret]);
    for url in [
        format!("{scheme}://u:{secret}@host.invalid/credgate"),
        format!("{scheme}://credgate_reader:{secret}@{at}/credgate"),
        format!("{scheme}://u:{secret}@{at}/credgate?sslmode=verify-full"),
        format!("{scheme}://u:{secret}@{at}:{secret}/credgate"),
        format!("{scheme}://u:{secret}/{secret}@{at}/credgate"),
        format!("{secret}://u:{secret}@{at}/credgate"),
        format!("u:{secret}@{at}"),
    ] {
        let deployment = deployment(&url).set("log.level", "trace").with_file("bad.url", &url);
        let bad = deployment.path("bad.url").to_str().unwrap().to_owned();
        for command in [&["serve"][..], &["check-config", "--open"], &["migrate"], &["migrate", "--url-file", &bad]] {
            let done = run(&deployment, command);
            assert!(matches!(done.exit.code, Some(69 | 78)), "{command:?}: {}", done.stderr);
            canary.absent_from(&format!("{command:?}"), &format!("{}{}", done.stdout, done.stderr));
        }
        let broken = deployment.append("\n[provider.sql");
        let done = Process::run(broken.command(["check-config"]), BOUND);
        canary.absent_from("a file with a syntax error", &done.stderr);
    }
}

for_each_kind!(the_password_is_nowhere);
