"""The suites: where each client's tests come from, how they are made ready, and how they are run against a server.

A suite prepares itself once in a directory of its own, and is then run against each server's URL. What it finds is written to a file of
JSON lines, one for each test when it is known: its name, "passed", "failed" or "skipped", and what went wrong.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ONE_TEST_S = 60


class Unavailable(Exception):
    """The sources or a tool of a suite cannot be had here."""


def call(*command, cwd=None, env=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, command))}: {done.stdout[-2000:]}")
    return done.stdout


def debian_mirror():
    """Where this machine gets Debian's packages from, as apt is set up."""
    told = call("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian")
    mirrors = sorted(set(told.split()))
    if not mirrors:
        raise Unavailable("apt knows no mirror of Debian: run apt-get update, or give the tests with --source")
    return mirrors[0]


def debian_source(package, directory):
    """Gets a source package of Debian as it comes from upstream, and returns where it is unpacked."""
    apt = directory / "apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (apt / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    mirror = debian_mirror()
    (apt / "sources.list").write_text("".join(
        f"deb-src [signed-by={KEYRING}] {mirror} {release} main\n" for release in ("sid", "trixie")))
    (apt / "apt.conf").write_text(f'Dir::Etc::sourcelist "{apt}/sources.list";\nDir::Etc::sourceparts "-";\n'
                                  f'Dir::State::lists "{apt}/lists";\nDir::Cache "{apt}/cache";\n')
    env = os.environ | {"APT_CONFIG": str(apt / "apt.conf")}
    call("apt-get", "-q", "update", env=env)
    try:
        call("apt-get", "-q", "source", "--download-only", package, cwd=apt, env=env)
    except Unavailable as why:
        raise Unavailable(f"{why}The mirror does not have what its list names: give a checkout of the tests with --source") from why
    archive = next(path for path in apt.glob(f"{package}_*.orig.tar.*"))
    unpacked = directory / "source"
    unpacked.mkdir(exist_ok=True)
    call("tar", "xf", archive, "--strip-components=1", "-C", unpacked)
    return unpacked


def maven(libraries, directory):
    """Gets these libraries and what they need into the directory `libraries`."""
    project = directory / "libraries.xml"
    project.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>suites</groupId><artifactId>suites</artifactId>"
        "<version>1</version><dependencies>" + "".join(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
                *name.split(":"), version) for name, version in libraries.items())
        + "</dependencies></project>")
    call("mvn", "-B", "-ntp", "-q", "-f", project, "dependency:copy-dependencies", f"-DoutputDirectory={directory / 'libraries'}")


class Suite:
    """One client's tests. `source` is where somebody has unpacked its repository; None if it is to be got."""

    name = ""
    about = ""
    debian = None
    timeout_minutes = 30

    def __init__(self, directory, source):
        self.directory = directory
        self.given = source
        self.version = "?"

    def source(self):
        if self.given is None:
            done = self.directory / "source"
            return done if done.exists() else debian_source(self.debian, self.directory)
        return self.given

    def pypi_source(self, package):
        """The directory `source`: a copy of what was given, or a package's source distribution from PyPI."""
        source = self.directory / "source"
        if source.exists():
            return source
        if self.given is not None:
            return shutil.copytree(self.given, source)
        call(sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--no-binary", package, package, "-d", self.directory)
        source.mkdir()
        archive = next(path for path in self.directory.glob("*.tar.gz") if path.name.lower().startswith(package.lower()))
        call("tar", "xf", archive, "--strip-components=1", "-C", source)
        return source

    def prepare(self):
        """Makes ready what is the same for all servers."""

    def setup(self):
        """Statements for a server before the tests."""
        return []

    def counts(self, test):
        """Whether a test is about the server."""
        return True

    def commands(self, url, outcomes, only):
        """What is run one after the other: (command, working directory, environment), and writes to the file of outcomes."""
        raise NotImplementedError

    def read(self, printed, status, file, outcomes):
        """Adds outcomes that a command has printed, if the suite's tests print them: it ended with a status, about a file."""


def venv(directory, *packages):
    python = directory / "venv" / "bin" / "python"
    if not python.exists():
        call(sys.executable, "-m", "venv", directory / "venv")
        call(python, "-m", "pip", "-q", "install", *packages)
    return python


def addresses(url):
    """Where a server is, as libpq's environment says it."""
    parts = urllib.parse.urlsplit(url)
    return {"PGHOST": parts.hostname, "PGPORT": str(parts.port), "PGUSER": parts.username, "PGPASSWORD": parts.password,
            "PGDATABASE": parts.path[1:]}


class Pytest(Suite):
    """Tests run by pytest, with a plugin that writes outcomes."""

    def pytest(self, directory, outcomes, *arguments):
        env = os.environ | {"OUTCOMES": str(outcomes), "PYTHONPATH": str(HERE)}
        # the plugins that count memory and shuffle tests would make runs incomparable
        return ([str(self.python), "-m", "pytest", "-p", "outcomes", "-q", "--tb=short", "--timeout", str(ONE_TEST_S),
                 "-p", "no:randomly", *map(str, arguments)], directory, env)


class Psycopg(Pytest):
    name = "psycopg"
    about = "psycopg 3, sync and async, without the pool and what measures time"
    debian = "psycopg3"
    files = "test_*.py"

    def prepare(self):
        source = self.source()
        project = (source / "psycopg" / "pyproject.toml").read_text()
        self.version = re.search(r'^version = "([\d.]+?)(\.dev\d+)?"', project, re.M).group(1)
        self.python = venv(self.directory, f"psycopg[binary]=={self.version}", "pytest<9", "pytest-timeout", "anyio",
                           "pproxy")
        for part in ("tests", "pyproject.toml"):
            copy = self.directory / part
            if not copy.exists():
                (shutil.copytree if (source / part).is_dir() else shutil.copy)(source / part, copy)

    def commands(self, url, outcomes, only):
        shutil.rmtree(self.directory / ".pytest_cache", ignore_errors=True)
        yield self.pytest(self.directory, outcomes, "--test-dsn", url, "-m",
                          "not slow and not timing and not subprocess and not gevent and not dns",
                          "--ignore=tests/pool", "--ignore=tests/crdb", "--ignore=tests/test_typing.py",
                          "tests", *(["-k", only] if only else []))


class Asyncpg(Pytest):
    name = "asyncpg"
    about = "asyncpg, whose protocol is its own: pipelines, binary values, Flush"

    def prepare(self):
        source = self.pypi_source("asyncpg")
        self.version = re.search(r"^__version__.* = '([^']+)'", (source / "asyncpg" / "_version.py").read_text(), re.M).group(1)
        self.python = venv(self.directory, f"asyncpg=={self.version}", "pytest<9", "pytest-timeout", "distro")
        if not (self.directory / "tests").exists():
            shutil.copytree(source / "tests", self.directory / "tests")

    def commands(self, url, outcomes, only):
        command, directory, env = self.pytest(self.directory, outcomes, "--import-mode=importlib", "tests", "--ignore=tests/test__sourcecode.py",
                                              *(["-k", only] if only else []))
        yield command, directory, env | addresses(url)


class Pg8000(Pytest):
    name = "pg8000"
    about = "pg8000, in Python alone: its three interfaces, without other ways of authentication than a node's and what measures time"

    def prepare(self):
        source = self.pypi_source("pg8000")
        self.python = venv(self.directory, source, "pytest<9", "pytest-timeout", "pytest-mock", "pytz")
        self.version = call(self.python, "-c", "import importlib.metadata as m; print(m.version('pg8000'))").strip()
        if not (self.directory / "test").exists():
            shutil.copytree(source / "test", self.directory / "test")
            # it takes a server's address from the environment, and not the database
            for fixtures in (self.directory / "test").rglob("conftest.py"):
                fixtures.write_text(fixtures.read_text().replace('{"user": "postgres",', '{"user": "postgres", "database": environ["PGDATABASE"],'))

    def setup(self):
        return ["CREATE EXTENSION hstore"]

    def commands(self, url, outcomes, only):
        command, directory, env = self.pytest(self.directory, outcomes, "test", "--ignore-glob=*/auth", "--ignore-glob=*test_benchmarks.py",
                                              "--ignore=test/test_readme.py", *(["-k", only] if only else []))
        yield command, directory, env | addresses(url)


class SqlAlchemy(Pytest):
    name = "sqlalchemy"
    about = "SQLAlchemy's suite for dialects, and its tests of PostgreSQL's, with psycopg 3"

    def prepare(self):
        source = self.pypi_source("SQLAlchemy")
        text = (source / "lib" / "sqlalchemy" / "__init__.py").read_text()
        self.version = re.search(r'__version__ = "([^"]+)"', text).group(1)
        self.python = venv(self.directory, "psycopg[binary]", "pytest<9", "pytest-timeout", "greenlet",
                           "typing-extensions")

    def setup(self):
        return ["CREATE SCHEMA test_schema", "CREATE SCHEMA test_schema_2", "CREATE EXTENSION hstore",
                "CREATE EXTENSION citext",
                "ALTER ROLE postgres SET default_text_search_config = 'pg_catalog.english'"]

    def counts(self, test):
        return "_postgresql+psycopg" in test

    def commands(self, url, outcomes, only):
        command, directory, env = self.pytest(
            self.directory / "source", outcomes, "-p", "no:warnings", "--dropfirst", "--dburi",
            url.replace("postgresql:", "postgresql+psycopg:"), "--maxfail=100000",
            "test/dialect/test_suite.py", "test/dialect/postgresql", *(["-k", only] if only else []))
        env["PYTHONPATH"] += os.pathsep + str(self.directory / "source" / "lib")
        yield command, directory, env | {"DISABLE_SQLALCHEMY_CEXT_RUNTIME": "1"}


class Django(Suite):
    name = "django"
    about = "Django's tests that use a database, with psycopg 3 (--only: packages of tests, with commas between them)"
    at_once = 8
    timeout_minutes = 90
    # those of its packages that need no server, or a browser, or that are about a web server, are left out
    labels = """
        aggregation aggregation_regress annotations async backends basic bulk_create composite_pk constraints contenttypes_tests
        custom_columns custom_lookups custom_managers custom_methods custom_migration_operations custom_pk datatypes dates datetimes
        db_functions db_typecasts db_utils defer defer_regress delete delete_regress distinct_on_fields empty expressions
        expressions_case expressions_window extra_regress field_defaults field_subclassing filtered_relation fixtures
        fixtures_regress force_insert_update foreign_object from_db_value generic_relations generic_relations_regress
        get_earliest_or_latest get_object_or_404 get_or_create indexes inspectdb introspection known_related_objects lookup
        m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress m2m_signals m2m_through m2m_through_regress
        m2o_recursive managers_regress many_to_many many_to_one many_to_one_null max_lengths migrate_signals
        migration_test_data_persistence migrations model_fields model_indexes model_inheritance model_inheritance_regress
        model_regress mutually_referential nested_foreign_keys null_fk null_fk_ordering null_queries one_to_one or_lookups
        order_with_respect_to ordering pagination postgres_tests prefetch_related properties proxy_model_inheritance proxy_models
        queries queryset_pickle raw_query reserved_names reverse_lookup save_delete_hooks schema select_for_update select_related
        select_related_onetoone select_related_regress serializers sessions_tests signals sites_tests string_lookup
        swappable_models test_utils timezones transaction_hooks transactions unmanaged_models update update_only_fields validation
        xor_lookups""".split()

    def prepare(self):
        source = self.pypi_source("Django")
        self.version = re.search(r"^VERSION = \((\d+), (\d+), (\d+)", (source / "django" / "__init__.py").read_text(), re.M)
        self.version = ".".join(self.version.groups())
        self.python = venv(self.directory, "psycopg[binary]", "asgiref", "sqlparse", "tzdata", "jinja2", "pyyaml", "pillow",
                           "tblib", "black")

    def commands(self, url, outcomes, only):
        env = os.environ | {
            "SUITES_URL": url, "SUITES_ONE_TEST_S": str(ONE_TEST_S), "OUTCOMES": str(outcomes),
            "PYTHONPATH": os.pathsep.join([str(HERE), str(self.directory / "source")])}
        chosen = [label for label in self.labels if not only or label in only.split(",")]
        tests = self.directory / "source" / "tests"
        # it makes the tables of all packages that it is given before the first test: so some at a time
        for begin in range(0, len(chosen), self.at_once):
            yield (["psql", "-Xq", url, "-c", "DROP SCHEMA public CASCADE; CREATE SCHEMA public"], tests, env)
            yield ([str(self.python), "runtests.py", "--settings=django_outcomes", "--keepdb", "--parallel=1", "--noinput",
                    *chosen[begin:begin + self.at_once]], tests, env)


class Hibernate(Suite):
    name = "hibernate"
    about = "Hibernate at work on the domain models that it publishes for tests; its own test classes are not published"
    # the last version whose testing library is published
    version = "6.6.15.Final"

    def __init__(self, directory, source):
        super().__init__(directory, source)
        self.version = Hibernate.version

    def prepare(self):
        self.java = pathlib.Path(os.environ.get("JAVA_HOME", "/usr")) / "bin"
        libraries = self.directory / "libraries"
        if not libraries.exists():
            maven({"org.hibernate.orm:hibernate-core": self.version, "org.hibernate.orm:hibernate-testing": self.version,
                   "org.postgresql:postgresql": "42.7.8"}, self.directory)
        self.classpath = os.pathsep.join([str(self.directory / "classes"), str(libraries / "*")])
        call(self.java / "javac", "-nowarn", "-proc:none", "-d", self.directory / "classes", "-cp", libraries / "*",
             HERE / "HibernateDomains.java")

    def commands(self, url, outcomes, only):
        parts = urllib.parse.urlsplit(url)
        yield ([str(self.java / "java"), "-XX:+UseSerialGC", "-Xmx512m", "-Dnet.bytebuddy.experimental=true", "-cp", self.classpath,
                "tutti.suites.HibernateDomains", f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}", parts.username,
                parts.password, *([only] if only else [])], self.directory, os.environ | {"OUTCOMES": str(outcomes)})


class SqlLogicTest(Suite):
    name = "sqllogictest"
    about = "files of sqllogictest, as DataFusion's crate has them: those of its own, and those that it shares with PostgreSQL"
    crate = "datafusion-sqllogictest"
    timeout_minutes = 40

    def prepare(self):
        if self.given is None:
            project = self.directory / "project"
            if not project.exists():
                (project / "src").mkdir(parents=True)
                (project / "src" / "lib.rs").touch()
                (project / "Cargo.toml").write_text(
                    f'[package]\nname = "suites"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{self.crate} = "*"\n')
            told = call("cargo", "metadata", "-q", "--format-version", "1", cwd=project)
            package = next(package for package in json.loads(told[told.index("{"):])["packages"] if package["name"] == self.crate)
            self.version = package["version"]
            self.files = pathlib.Path(package["manifest_path"]).parent / "test_files"
        else:
            self.files = self.given
        self.python = venv(self.directory, "psycopg[binary]")

    def commands(self, url, outcomes, only):
        files = sorted(str(path.relative_to(self.files)) for path in self.files.rglob("*") if path.suffix in (".slt", ".test"))
        yield ([str(self.python), str(HERE / "logictest.py"), url, str(outcomes),
                *(file for file in files if not only or only in file)], self.files, dict(os.environ))


class Pgx(Suite):
    name = "pgx"
    about = "pgx v5, all packages"
    module = "github.com/jackc/pgx/v5"

    def prepare(self):
        source = self.directory / "source"
        if not source.exists():
            if self.given is None:
                got = json.loads(call("go", "mod", "download", "-json", f"{self.module}@latest", cwd=self.directory))
                shutil.copytree(got["Dir"], source)
                call("chmod", "-R", "u+w", source)
            else:
                shutil.copytree(self.given, source)
        changes = (source / "CHANGELOG.md").read_text()
        self.version = re.search(r"^# (\d\S*)", changes, re.M).group(1)

    def setup(self):
        return ["CREATE EXTENSION hstore", "CREATE EXTENSION ltree", "CREATE DOMAIN uint64 AS numeric(20,0)",
                "CREATE USER \" tricky, ' } \"\" \\ test user \" SUPERUSER PASSWORD 'secret'",
                "CREATE USER pgx_scram SUPERUSER PASSWORD 'secret'"]

    def commands(self, url, outcomes, only):
        parts = urllib.parse.urlsplit(url)
        server = f"host={parts.hostname} port={parts.port} dbname={parts.path[1:]}"
        env = os.environ | {
            "PGX_TEST_DATABASE": f"{server} user={parts.username} password={parts.password}",
            "PGX_TEST_TCP_CONN_STRING": f"{server} user={parts.username} password={parts.password}",
            "PGX_TEST_SCRAM_PASSWORD_CONN_STRING": f"{server} user=pgx_scram password=secret",
        }
        yield (["go", "test", "-json", "-p", "1", "-count", "1", "-timeout", f"{self.timeout_minutes}m",
                *(["-run", only] if only else []), "./..."], self.directory / "source", env)

    def read(self, printed, status, file, outcomes):
        said = {}
        for line in printed.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            test = event.get("Test")
            if test is None:
                continue
            name = event["Package"].removeprefix(self.module).lstrip("/") + ":" + test
            if event["Action"] == "output":
                said.setdefault(name, []).append(event["Output"])
            elif event["Action"] == "run":
                outcomes.append({"test": name, "outcome": "begun"})
            elif event["Action"] in ("pass", "fail", "skip"):
                outcomes.append({"test": name, "outcome": {"pass": "passed", "fail": "failed", "skip": "skipped"}[event["Action"]],
                                 "message": "".join(said.pop(name, []))[-600:]})


class NodePostgres(Suite):
    name = "node-postgres"
    about = "node-postgres: the files of pg, pg-pool, pg-cursor and pg-query-stream"
    debian = "node-postgres"
    timeout_minutes = 20

    def prepare(self):
        copy = self.directory / "packages"
        if not copy.exists():
            shutil.copytree(self.source() / "packages", copy)
        package = json.loads((copy / "pg" / "package.json").read_text())
        self.version = package["version"]
        if not (self.directory / "node_modules").exists():
            (self.directory / "package.json").write_text(json.dumps({"private": True, "dependencies": {
                "async": "2.6.4", "bluebird": "3.7.2", "co": "4.6.0", "pg-copy-streams": "0.3.0", "mocha": "^10", "expect.js": "*",
                "lodash": "^4", "concat-stream": "*", "JSONStream": "*", "stream-spec": "*", "tsx": "*", "@types/node": "*",
                **{name: "*" for name in ("pg-pool", "pg-protocol", "pg-connection-string", "pg-cursor")},
                "pg": self.version if self.given is None else "*", "pg-types": "2.2.0", "pgpass": "1.0.5"}}))
            call("npm", "install", "--no-audit", "--no-fund", cwd=self.directory)

    def commands(self, url, outcomes, only):
        env = os.environ | addresses(url) | {"PGTESTNOSSL": "1"}
        packages = self.directory / "packages"
        for file in sorted((packages / "pg" / "test" / "integration").rglob("*-tests.js")):
            name = str(file.relative_to(packages))
            if not only or only in name:
                yield self.one(name, ["node", file.name], file.parent, env)
        mocha = self.directory / "node_modules" / ".bin" / "mocha"
        for package in ("pg-pool", "pg-cursor", "pg-query-stream"):
            for file in sorted((packages / package / "test").iterdir()):
                name = str(file.relative_to(packages))
                if file.suffix in (".js", ".ts") and (not only or only in name):
                    yield self.one(name, [str(mocha), "--exit", "--reporter", "json-stream", "--require", "tsx/cjs",
                                          str(file)], packages / package, env)

    def one(self, name, command, directory, env):
        return ["timeout", "-s", "KILL", str(ONE_TEST_S), *command], directory, env | {"SUITES_FILE": name}

    def read(self, printed, status, file, outcomes):
        """A file of pg's is one test; mocha tells each."""
        tests = []
        for line in printed.splitlines():
            try:
                kind, event = json.loads(line)
            except (ValueError, TypeError):
                continue
            if kind in ("pass", "fail"):
                tests.append({"test": f"{file}:{event['fullTitle']}", "outcome": "passed" if kind == "pass" else "failed",
                              "message": event.get("err", "")})
        for test in tests:
            outcomes.append(test)
        if "/integration/" in file or (not tests and status != 0):
            outcomes.append({"test": file, "outcome": "failed" if status else "passed", "message": printed[-600:]})


class Pgjdbc(Suite):
    name = "pgjdbc"
    about = "pgjdbc's JUnit 5 tests, without replication, against its release"
    debian = "libpgjava"
    timeout_minutes = 60
    libraries = {"org.postgresql:postgresql": None, "org.junit.platform:junit-platform-console-standalone": "1.14.4",
                 "org.hamcrest:hamcrest": "3.0", "uk.org.webcompere:system-stubs-jupiter": "2.1.8",
                 "org.checkerframework:checker-qual": "3.55.1", "org.osgi:org.osgi.service.jdbc": "1.0.0",
                 "com.ongres.scram:scram-client": "3.2"}

    def prepare(self):
        self.java = pathlib.Path(os.environ.get("JAVA_HOME", "/usr")) / "bin"
        source = self.source()
        self.version = re.search(r"^pgjdbc.version=(\S+)", (source / "gradle.properties").read_text(), re.M).group(1)
        classes = self.directory / "classes"
        self.classpath = os.pathsep.join([str(classes), str(self.directory / "libraries" / "*")])
        if classes.exists():
            return
        maven({name: version or self.version for name, version in self.libraries.items()}, self.directory)
        roots = [source / "pgjdbc" / "src" / "test" / "java", source / "testkit" / "src" / "main" / "java"]
        files = [str(path) for root in roots if root.exists() for path in sorted(root.rglob("*.java"))]
        making = self.directory / "making"
        shutil.rmtree(making, ignore_errors=True)
        services = making / "META-INF" / "services"
        services.mkdir(parents=True)
        (services / "org.junit.platform.launcher.TestExecutionListener").write_text("tutti.suites.Outcomes\n")
        (self.directory / "files").write_text("\n".join([*files, str(HERE / "Outcomes.java")]))
        call(self.java / "javac", "-nowarn", "-proc:none", "-parameters", "-d", making, "-cp", self.directory / "libraries" / "*",
             "@" + str(self.directory / "files"))
        shutil.copytree(source / "pgjdbc" / "src" / "test" / "resources", making, dirs_exist_ok=True)
        # its tests find files relative to their module's directory
        shutil.copytree(source / "pgjdbc" / "src" / "test", self.directory / "pgjdbc" / "src" / "test", dirs_exist_ok=True)
        shutil.copytree(source / "certdir", self.directory / "certdir", dirs_exist_ok=True)
        for properties in source.glob("*.properties"):
            shutil.copy(properties, self.directory)
        making.rename(classes)

    def setup(self):
        return ["CREATE ROLE test LOGIN PASSWORD 'test'", "GRANT ALL ON DATABASE tutti TO test",
                "GRANT ALL ON SCHEMA public TO test", "CREATE EXTENSION hstore", "CREATE EXTENSION citext"]

    def commands(self, url, outcomes, only):
        parts = urllib.parse.urlsplit(url)
        properties = {"test.url.PGHOST": parts.hostname, "test.url.PGPORT": parts.port, "test.url.PGDBNAME": parts.path[1:],
                      "user": "test", "password": "test", "privilegedUser": parts.username,
                      "privilegedPassword": parts.password, "junit.jupiter.extensions.autodetection.enabled": "true",
                      "junit.jupiter.execution.timeout.default": f"{ONE_TEST_S} s"}
        yield ([str(self.java / "java"), "-XX:+UseSerialGC", "-Xmx1g", *(f"-D{name}={value}" for name, value in properties.items()),
                "-cp", self.classpath, "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--details=none",
                "--scan-classpath", str(self.directory / "classes"), "--include-classname", only or ".*Test.*",
                "--exclude-package", "org.postgresql.replication", "--exclude-classname", ".*CopyBothResponseTest.*"],
               self.directory / "pgjdbc", os.environ | {"OUTCOMES": str(outcomes)})


ALL = (Psycopg, Asyncpg, Pg8000, Pgx, SqlAlchemy, NodePostgres, Pgjdbc, Django, Hibernate, SqlLogicTest)
