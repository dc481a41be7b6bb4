//! Lets the executable find the libpython it was linked with, where the loader would not by itself.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Handed on by credgate-python; absent without that feature.
    if let Ok(folder) = std::env::var("DEP_CREDGATE_PYTHON_LIB_DIR") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
