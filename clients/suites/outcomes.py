"""A plugin of pytest: writes each test's outcome into the file that OUTCOMES names as soon as it is known, a line of JSON for each.

So what was found is there if the run hangs or crashes, and the last test that began is known.
"""

import json
import os


def _write(**entry):
    with open(os.environ["OUTCOMES"], "a", encoding="utf-8") as out:
        out.write(json.dumps(entry) + "\n")


def pytest_runtest_logstart(nodeid):
    _write(test=nodeid, outcome="begun")


def pytest_runtest_logreport(report):
    if report.failed:
        lines = str(report.longrepr).splitlines()
        errors = [line for line in lines if line.startswith("E ")]
        _write(test=report.nodeid, outcome="failed", message="\n".join(errors or lines)[-600:])
    elif report.skipped:
        _write(test=report.nodeid, outcome="skipped")
    elif report.when == "call":
        _write(test=report.nodeid, outcome="passed")
