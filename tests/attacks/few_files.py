"""Runs ``adk-ui-stream`` in a process with few files: ``python -m tests.attacks.few_files COUNT ARGUMENTS``."""

import resource
import runpy
import sys

count = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
runpy.run_module("stream_protocol", run_name="__main__", alter_sys=True)
