"""The two servers that are compared: a bare PostgreSQL, and a node of `./tutti start` in front of the same binaries."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
PASSWORD = "tutti"
PATIENCE_S = 180


def tutti():
    """The command: `./tutti`, or what TUTTI says."""
    return shlex.split(os.environ.get("TUTTI", str(TOP / "tutti")))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stop(process, by=signal.SIGINT):
    """Ends a process that was started as the leader of a group, and what it has started."""
    if process.poll() is None:
        process.send_signal(by)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Cluster:
    """Nodes of `./tutti start` in a directory of their own. The first one's address is `url`."""

    name = "node"

    def __init__(self, directory, nodes):
        self.directory = directory / "cluster"
        shutil.rmtree(self.directory, ignore_errors=True)
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "cluster.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*tutti(), "start", "--nodes", str(nodes), "--data", str(self.directory)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE_S
        while "Ready." not in self.log.read_text(errors="replace"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise SystemExit(f"suites: the cluster did not start: {self.log.read_text(errors='replace')}")
            time.sleep(0.2)
        self.url = json.loads((self.directory / "cluster.json").read_text())["nodes"][0]["postgresUrl"]

    def alive(self):
        return self.process.poll() is None

    def settings(self):
        """What its servers are started with, without where they are."""
        lines = next(self.directory.rglob("tutti.conf")).read_text().splitlines()
        return [line for line in lines if not re.match("port|unix_socket_directories|#", line)]

    def binaries(self):
        return next(path for path in sorted((pathlib.Path.home() / ".cache" / "tutti").glob("postgres-*")) if path.is_dir())

    def close(self):
        stop(self.process)
        if "LOGS" in os.environ:
            for log in self.directory.glob("node-*/*.log"):
                kept = pathlib.Path(os.environ["LOGS"]) / log.relative_to(self.directory)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(log, kept)


class Bare:
    """A PostgreSQL of its own with the settings of a node's, except that transactions can be prepared."""

    name = "bare"

    def __init__(self, directory, like):
        data = directory / "bare"
        shutil.rmtree(data, ignore_errors=True)
        home = like.binaries()
        prefix = ["unshare", "--user", "--"] if os.geteuid() == 0 else []
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_"))}
        environment |= {"LC_ALL": "C", "LD_LIBRARY_PATH": str(home / "lib")}
        password = directory / "password"
        password.write_text(PASSWORD + "\n")
        subprocess.run(
            [*prefix, home / "bin" / "initdb", "-D", data, "-U", "postgres", f"--pwfile={password}",
             "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin",
             "--builtin-locale=C.UTF-8", "--no-instructions"],
            env=environment, check=True, stdout=subprocess.DEVNULL)
        port = free_port()
        with open(data / "postgresql.conf", "a", encoding="utf-8") as configuration:
            configuration.write("\n".join(["", *like.settings(), f"port = {port}", "unix_socket_directories = ''",
                                           "max_prepared_transactions = 64", ""]))
        self.log = directory / "bare.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*prefix, home / "bin" / "postgres", "-D", data], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        server = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}"
        deadline = time.monotonic() + PATIENCE_S
        while subprocess.run(["psql", "-Xq", f"{server}/postgres", "-c", "CREATE DATABASE tutti"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise SystemExit(f"suites: PostgreSQL did not start: {self.log.read_text(errors='replace')}")
            time.sleep(0.2)
        self.url = f"{server}/tutti"

    def alive(self):
        return self.process.poll() is None

    def close(self):
        stop(self.process)
