//! A plugin that does nothing but find a node in a dict: what remains is the cost of the way to Python and back.

use credgate_support::deployment::Deployment;

const PLUGIN: &str = "import csv
class Plain:
    def __init__(self, file):
        with open(file) as file: self.nodes = {row['node_id']: row['password'] for row in csv.DictReader(file)}
    def lookup(self, node_id):
        return self.nodes.get(node_id)
class Async(Plain):
    async def lookup(self, node_id):
        return self.nodes.get(node_id)
def create(config):
    return (Async if config['async'] else Plain)(config['file'])
";

pub fn plugin(deployment: Deployment, is_async: bool) -> Deployment {
    let file = deployment.path("nodes.csv");
    let config = format!("[provider.python.config]\nfile = '{}'\nasync = {is_async}", file.display());
    deployment.with_python(PLUGIN).merge(&config)
}
