"""Reads a descriptor set, links it, and prints its methods. argv: the file"""

import sys

from google.protobuf import descriptor_pb2, descriptor_pool

with open(sys.argv[1], "rb") as file:
    files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
pool = descriptor_pool.DescriptorPool()
for one in files:
    pool.Add(one)
for one in files:
    for service in one.service:
        for method in pool.FindServiceByName(f"{one.package}.{service.name}").methods:
            print(method.full_name, method.input_type.full_name, method.output_type.full_name)
