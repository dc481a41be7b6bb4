//! `deploy/kubernetes`: the manifests agree with each other and with the configuration that they mount.

use std::{collections::BTreeSet, fs, time::Duration};

use credgate_support::deployment::Deployment;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Judged, below, duration, files, judged, option, probe_command, yaml};
use crate::ground::text;

const APP: &str = "app.kubernetes.io/name";

fn one(file: &str) -> Value {
    yaml(&format!("deploy/kubernetes/{file}.yaml")).remove(0)
}

fn configuration() -> String {
    one("config")["data"]["credgate.toml"].as_str().unwrap().to_owned()
}

fn pod() -> Value {
    one("deployment")["spec"]["template"]["spec"].clone()
}

/// The files that a projected volume brings.
fn mounted(pod: &Value) -> BTreeSet<String> {
    let sources = pod["volumes"][0]["projected"]["sources"].as_array().unwrap();
    let items = sources.iter().flat_map(|source| source["secret"]["items"].as_array().into_iter().flatten());
    items.map(|item| item["path"].as_str().unwrap().to_owned()).collect()
}

/// The configuration, judged in a folder where the Secrets are.
fn config() -> (Deployment, Judged) {
    let files = files();
    for (path, from) in [
        ("server/tls.crt", "server.pem"),
        ("server/tls.key", "server.key"),
        ("ca/ca.crt", "ca.pem"),
        ("probe/tls.crt", "probe.pem"),
    ] {
        let path = files.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(files.path(from), path).unwrap();
    }
    fs::create_dir_all(files.path("store")).unwrap();
    let files = files.with_file("store/reader.url", "postgres://credgate_reader:secret@db.example.net/credgate\n");
    fs::write(files.path("credgate.toml"), configuration()).unwrap();
    let judged = judged(&files.path("credgate.toml"));
    (files, judged)
}

#[test]
fn the_pod_has_time_to_stop_and_to_start() {
    let (_files, config) = config();
    let pod = pod();
    let container = &pod["containers"][0];
    let pause = &container["lifecycle"]["preStop"]["exec"]["command"];
    assert_eq!(pause[0], "sleep");
    let pause: u64 = pause[1].as_str().unwrap().parse().unwrap();
    let grace = Duration::from_secs(pod["terminationGracePeriodSeconds"].as_u64().unwrap());
    assert!(grace > Duration::from_secs(pause) + config.budget, "{grace:?}, {pause} s, {:?}", config.budget);

    let control = config.port("control");
    let mounted = mounted(&pod);
    for (probe, asks) in [("startupProbe", "startup"), ("livenessProbe", "liveness"), ("readinessProbe", "readiness")] {
        let probe = &container[probe];
        let command = probe_command(&probe["exec"]["command"], asks, control);
        let timeout = Duration::from_secs(probe["timeoutSeconds"].as_u64().unwrap());
        assert!(timeout > duration(option(&command, "--timeout")), "{asks}");
        for file in ["--ca", "--cert", "--key", "--token-file"] {
            let path = option(&command, file).strip_prefix("/etc/credgate/").unwrap();
            assert!(mounted.contains(path), "{path} is not among {mounted:?}");
        }
    }
    let startup = &container["startupProbe"];
    let patience = startup["periodSeconds"].as_u64().unwrap() * startup["failureThreshold"].as_u64().unwrap();
    let opening = config.settings.lines().find_map(|line| line.trim().strip_prefix("provider.open_timeout = "));
    assert!(Duration::from_secs(patience) > duration(opening.unwrap()), "{patience} s");
}

#[test]
fn everything_that_the_configuration_names_is_mounted_and_private() {
    let (_files, config) = config();
    let pod = pod();
    let settings = configuration();
    for path in ["server/tls.crt", "server/tls.key", "ca/ca.crt", "store/reader.url"] {
        assert!(settings.contains(&format!("\"{path}\"")) && mounted(&pod).contains(path), "{path}");
    }
    assert_eq!(pod["containers"][0]["volumeMounts"][0]["mountPath"], "/etc/credgate");
    for (kind, pod) in [("deployment", &pod), ("migrate", &one("migrate")["spec"]["template"]["spec"])] {
        // 0440, with the group of fsGroup.
        assert_eq!(pod["volumes"][0]["projected"]["defaultMode"], 0o440, "{kind}");
        let security = &pod["securityContext"];
        assert_eq!(
            (&security["runAsNonRoot"], &security["runAsUser"], &security["fsGroup"]),
            (&true.into(), &65532.into(), &65532.into()),
            "{kind}"
        );
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["readOnlyRootFilesystem"], true, "{kind}");
        assert_eq!(container["allowPrivilegeEscalation"], false, "{kind}");
        assert_eq!(container["capabilities"]["drop"][0], "ALL", "{kind}");
    }
    let secrets = yaml("deploy/kubernetes/secrets.example.yaml");
    let keys = |name: &str| {
        let secret =
            secrets.iter().find(|secret| secret["metadata"]["name"] == name).unwrap_or_else(|| panic!("{name}"));
        secret["stringData"].as_object().unwrap().clone()
    };
    for pod in [&pod, &one("migrate")["spec"]["template"]["spec"]] {
        for source in pod["volumes"][0]["projected"]["sources"].as_array().unwrap() {
            for item in source["secret"]["items"].as_array().into_iter().flatten() {
                let (name, key) = (source["secret"]["name"].as_str().unwrap(), item["key"].as_str().unwrap());
                assert!(keys(name).contains_key(key), "{name} has no {key}");
            }
        }
    }
    assert!(config.settings.contains("provider.kind = sql"));
}

#[test]
fn ports_labels_and_the_checksum_agree() {
    let (_files, config) = config();
    let deployment = one("deployment");
    let template = &deployment["spec"]["template"];
    let sum = Sha256::digest(configuration()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(template["metadata"]["annotations"]["checksum/config"], sum, "put it into deployment.yaml");
    assert_eq!(deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], 0);

    let ports = template["spec"]["containers"][0]["ports"].as_array().unwrap();
    let port = |name: &str| ports.iter().find(|port| port["name"] == name).unwrap()["containerPort"].as_u64();
    let (lookup, metrics) = (config.port("lookup"), config.port("metrics"));
    assert_eq!((port("lookup"), port("metrics")), (Some(lookup), Some(metrics)));
    let service = one("service");
    assert_eq!(
        (&service["spec"]["ports"][0]["targetPort"], &service["spec"]["ports"][0]["port"]),
        (&"lookup".into(), &lookup.into())
    );
    let rules = one("networkpolicy")["spec"]["ingress"].clone();
    let allowed: Vec<_> = (0..2).map(|index| rules[index]["ports"][0]["port"].as_u64().unwrap()).collect();
    assert_eq!(allowed, [lookup, metrics]);
    assert!(rules.as_array().unwrap().iter().all(|rule| rule["from"].as_array().is_some_and(|from| !from.is_empty())));

    assert!(
        one("disruption")["spec"]["minAvailable"].as_u64().unwrap() < deployment["spec"]["replicas"].as_u64().unwrap()
    );
    for labels in [
        &template["metadata"]["labels"],
        &deployment["spec"]["selector"]["matchLabels"],
        &service["spec"]["selector"],
        &one("disruption")["spec"]["selector"]["matchLabels"],
        &one("networkpolicy")["spec"]["podSelector"]["matchLabels"],
    ] {
        assert_eq!(labels[APP], "credgate");
    }
    let resources = one("kustomization")["resources"].clone();
    for resource in resources.as_array().unwrap() {
        assert!(
            below("deploy/kubernetes").contains(&format!("deploy/kubernetes/{}", resource.as_str().unwrap()).into())
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    for file in ["deployment", "migrate"] {
        assert!(
            text(&format!("deploy/kubernetes/{file}.yaml")).contains(&format!("image: credgate:{version}\n")),
            "{file}"
        );
    }
}
