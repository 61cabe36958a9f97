"""Settings with which Django's own tests run against the server of SUITES_URL, and a runner that writes each outcome as soon as it is known.

The database is the one that is there, so runtests.py is to be called with --keepdb; what Django calls `other` is an empty SQLite in memory.
Outcomes go to the file that OUTCOMES names, a line of JSON for each.
"""

import json
import os
import signal
import unittest
import urllib.parse

from django.test.runner import DiscoverRunner

_AT = urllib.parse.urlsplit(os.environ["SUITES_URL"])
ONE_TEST_S = int(os.environ["SUITES_ONE_TEST_S"])

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql", "HOST": _AT.hostname, "PORT": _AT.port, "NAME": _AT.path[1:],
        "USER": _AT.username, "PASSWORD": _AT.password, "TEST": {"NAME": _AT.path[1:]},
    },
    "other": {"ENGINE": "django.db.backends.sqlite3"},
}
SECRET_KEY = "of tests only"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "django_outcomes.Runner"
DATABASE_ROUTERS = ["django_outcomes.Router"]


class Router:
    """Makes no tables in the database `other`: SQLite has no types for some of them. Tests that need them fail at all servers."""

    def allow_migrate(self, db, app_label, **hints):
        return False if db == "other" else None


def _late(*_):
    raise TimeoutError(f"not done after {ONE_TEST_S} s")


class Result(unittest.TextTestResult):
    def _write(self, test, outcome, message=""):
        with open(os.environ["OUTCOMES"], "a", encoding="utf-8") as out:
            out.write(json.dumps({"test": test.id(), "outcome": outcome, "message": message[-600:]}) + "\n")

    def startTest(self, test):
        super().startTest(test)
        self._write(test, "begun")
        signal.signal(signal.SIGALRM, _late)
        signal.alarm(ONE_TEST_S)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._write(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._write(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._write(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._write(test, "failed", "passes, and is expected to fail")

    def addError(self, test, err):
        super().addError(test, err)
        self._write(test, "failed", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._write(test, "failed", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._write(test, "failed", self._exc_info_to_string(err, test))


class Runner(DiscoverRunner):
    def get_resultclass(self):
        return Result
