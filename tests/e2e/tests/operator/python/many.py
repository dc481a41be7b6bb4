"""Looks the nodes of a JSON file up over one connection and prints how many differ. argv: client.json nodes.json"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import lookup

with open(sys.argv[1]) as file:
    gateway = lookup.Gateway(**json.load(file))
with open(sys.argv[2]) as file:
    nodes = json.load(file)
with ThreadPoolExecutor(max_workers=32) as pool:
    passwords = pool.map(lambda node: gateway.lookup(node, timeout=30), nodes)
    wrong = sum(found != wanted for found, wanted in zip(passwords, nodes.values(), strict=True))
print(f"{len(nodes)} nodes, {wrong} wrong")
