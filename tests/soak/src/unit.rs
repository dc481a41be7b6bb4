//! What systemd itself says of `deploy/systemd/credgate.service`.

use std::{fs, process::Command};

use credgate_support::process::executable;

const UNIT: &str = include_str!("../../../deploy/systemd/credgate.service");

pub fn run() {
    let folder = std::env::temp_dir().join(format!("credgate-unit-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // It must find the executable, wherever that stands now.
    let program = fs::canonicalize(executable("credgate").get_program()).unwrap();
    let unit = UNIT.replace("/usr/bin/credgate", program.to_str().unwrap());
    fs::write(folder.join("credgate.service"), unit).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(folder.join("credgate.service")).output();
    fs::remove_dir_all(&folder).unwrap();
    match verified {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            println!(
                "systemd-analyze verify: {}, says: {}",
                output.status,
                if said.is_empty() { "nothing" } else { &said }
            );
            assert!(output.status.success());
        }
        Err(error) => println!("not run: systemd-analyze: {error}"),
    }
}
