"""XLA's client for CPUs with as many devices as programs have ranks, and programs compiled for them.

Ends the process with 77 where jaxlib is missing."""

import os
import sys

NUM_DEVICES = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={NUM_DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
    import numpy
    from jax._src import compiler
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name}; tools/setup.sh --runtimes installs it")
    sys.exit(77)
jax.config.update("jax_enable_x64", True)


def compile_text(text, first=0, replicas=1, partitions=1, **settings):
    """A program on the devices from `first` on; `settings`: of its build options. The calls are private to jax, whose
    version is pinned."""
    count = replicas * partitions
    devices = numpy.arange(first, first + count).reshape(replicas, partitions)
    options = compiler.get_compile_options(num_replicas=replicas, num_partitions=partitions, device_assignment=devices)
    for name, value in settings.items():
        setattr(options.executable_build_options, name, value)
    client = jax.devices()[0].client
    return client.compile_and_load(text, client.devices()[first:first + count], options)
