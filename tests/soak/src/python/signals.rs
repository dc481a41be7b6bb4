//! 200 SIGTERMs, each with 32 calls in flight: always the same exit code, and never a signal of the process's own.

use std::{collections::BTreeMap, time::Duration};

use credgate_support::deployment::Deployment;
use futures::future::join_all;

use super::{BOUND, block_on, ending, quantile, registrar, until_in_use};

const ROUNDS: usize = 200;
const CALLS: usize = 32;

/// Calls of several lengths, with a module in C of which every thread has something.
const PLUGIN: &str = "import itertools, ssl, time
TURNS = itertools.count()
class Plugin:
    def lookup(self, node_id):
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        time.sleep(1e9 if node_id == '9' else 0.1 + next(TURNS) % 5 * 0.01)
        return 'password'
def create(config):
    return Plugin()
";

pub fn run() {
    println!("{ROUNDS} SIGTERMs, each with {CALLS} calls in flight.\n");
    println!("| calls | exit code: times | SIGTERM to exit p50 | slowest |\n|---|---|---|---|");
    for (name, node, code) in [("that end", "2000", 0), ("that never end", "9", 75)] {
        let (mut codes, mut times) = (BTreeMap::<String, usize>::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (exit, endings) = round(node);
            *codes
                .entry(exit.code.map_or_else(|| format!("{:?}", exit.signal), |code| code.to_string()))
                .or_default() += 1;
            assert!(code != 0 || endings.iter().all(|ended| ended == "OK"), "{endings:?}");
            times.push(exit.after);
        }
        let (half, most) = (quantile(&mut times, 0.5), quantile(&mut times, 1.0));
        println!("| {name} | {codes:?} | {half:?} | {most:?} |");
        assert_eq!(codes, BTreeMap::from([(code.to_string(), ROUNDS)]));
    }
}

fn round(node: &str) -> (credgate_support::process::Exit, Vec<String>) {
    let deployment = Deployment::mtls()
        .with_python(PLUGIN)
        .set("provider.python.workers", i64::try_from(CALLS).unwrap())
        .set("lookup.timeout", "10s")
        .merge(if node == "9" {
            "[shutdown]\ndrain_timeout = '100ms'\nclose_timeout = '100ms'"
        } else {
            "[shutdown]\ndrain_timeout = '30s'"
        });
    let gateway = deployment.start();
    block_on(async {
        let client = registrar(&deployment, &gateway).await;
        let calls = join_all((0..CALLS).map(|_| ending(&client, node)));
        let ends = async {
            until_in_use(&gateway, CALLS).await;
            gateway.terminate();
            gateway.ended(BOUND).await
        };
        let (endings, exit) = tokio::join!(tokio::time::timeout(Duration::from_secs(60), calls), ends);
        (exit, endings.unwrap_or_default())
    })
}
