"""Alembic's and Django's migrations at one node, seen at all: python migrations.py URL URL URL."""

import pathlib
import sys
import tempfile

import alembic.command
import alembic.config
import django
import psycopg
from django.conf import settings
from django.core.management import call_command

REVISIONS = {
    "one": ("None", """
    op.create_table("alembic_item", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(40), nullable=False))
    op.execute("INSERT INTO alembic_item (name) VALUES ('first')")
    op.create_table("alembic_part", sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
                    sa.Column("item", sa.Integer, sa.ForeignKey("alembic_item.id")), sa.Column("kind", sa.Enum("a", "b", name="kind")))
    """, """
    op.drop_table("alembic_part")
    op.execute("DROP TYPE kind")
    op.drop_table("alembic_item")
    """),
    "two": ("'one'", """
    op.add_column("alembic_item", sa.Column("price", sa.Numeric(8, 2), server_default="1.5", nullable=False))
    items = sa.table("alembic_item", sa.column("name", sa.String), sa.column("price", sa.Numeric))
    op.bulk_insert(items, [{"name": f"item {i}", "price": i} for i in range(10)])
    op.execute("ALTER TABLE alembic_item ALTER COLUMN name TYPE text")
    op.create_index("alembic_item_name", "alembic_item", ["name"])
    op.execute(\"\"\"DO $$ DECLARE c text; BEGIN
        FOREACH c IN ARRAY ARRAY['x', 'y'] LOOP
            EXECUTE format('ALTER TABLE alembic_item ADD COLUMN %I int DEFAULT 0', c);
            EXECUTE format('UPDATE alembic_item SET %I = id', c);
        END LOOP;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'alembic_reader') THEN CREATE ROLE alembic_reader; END IF;
        GRANT SELECT ON alembic_item TO alembic_reader;
    END $$\"\"\")
    op.execute("CREATE MATERIALIZED VIEW alembic_sum AS SELECT sum(price) FROM alembic_item")
    op.execute("CREATE TABLE alembic_copy AS SELECT *, random() AS r FROM alembic_item")
    op.execute("SELECT id INTO alembic_into FROM alembic_item")
    op.execute("UPDATE alembic_item SET price = price + 1")
    op.execute("REFRESH MATERIALIZED VIEW alembic_sum")
    """, """
    op.execute("DROP MATERIALIZED VIEW alembic_sum; DROP TABLE alembic_copy, alembic_into")
    op.drop_index("alembic_item_name")
    for column in ("x", "y", "price"):
        op.drop_column("alembic_item", column)
    """),
}

DJANGO = {
    "0001_initial": ("", """
        migrations.CreateModel("Item", [("id", models.BigAutoField(primary_key=True)), ("name", models.CharField(max_length=40)),
                                        ("tags", models.ManyToManyField("auth.Group"))]),
        migrations.RunPython(fill, empty),
    """),
    "0002_more": ("('shop', '0001_initial')", """
        migrations.AddField("Item", "price", models.DecimalField(max_digits=8, decimal_places=2, default=3)),
        migrations.AddField("Item", "made", models.DateTimeField(null=True)),
        migrations.AlterField("Item", "name", models.TextField(unique=True)),
        migrations.AddIndex("Item", models.Index(fields=["price"], name="shop_price")),
        migrations.AddConstraint("Item", models.CheckConstraint(condition=models.Q(price__gte=0), name="shop_positive")),
        migrations.RunSQL("DO $$ BEGIN ALTER TABLE shop_item ADD COLUMN extra int; UPDATE shop_item SET extra = id; END $$",
                          "ALTER TABLE shop_item DROP COLUMN extra"),
        migrations.RenameField("Item", "made", "sold"),
    """),
}


def wait(connection):
    """Waits until the node shows what has been committed; a busy one says that it has not within its own time."""
    for last in (False, False, False, True):
        try:
            connection.execute("SELECT tutti_wait()")
            return
        except psycopg.errors.CannotConnectNow:
            if last:
                raise


def same(urls, query, expected=None):
    """What a query returns is the same at all nodes."""
    answers = []
    for url in urls:
        with psycopg.connect(url, autocommit=True) as connection:
            wait(connection)
            answers.append(connection.execute(query).fetchall())
    if any(answer != answers[0] for answer in answers) or (expected is not None and answers[0] != expected):
        raise SystemExit(f"{query}: {answers}, expected {expected}")


def with_alembic(urls, directory):
    (directory / "versions").mkdir(parents=True)
    (directory / "env.py").write_text(
        "from alembic import context\nimport sqlalchemy as sa\n"
        "engine = sa.create_engine(context.config.get_main_option('sqlalchemy.url'))\n"
        "with engine.connect() as connection:\n"
        "    context.configure(connection=connection)\n"
        "    with context.begin_transaction():\n        context.run_migrations()\n")
    for name, (down, upgrade, downgrade) in REVISIONS.items():
        (directory / "versions" / f"{name}.py").write_text(
            f"from alembic import op\nimport sqlalchemy as sa\nrevision = '{name}'\ndown_revision = {down}\n"
            f"def upgrade():{upgrade}\ndef downgrade():{downgrade}\n")
    config = alembic.config.Config()
    config.set_main_option("script_location", str(directory))
    config.set_main_option("sqlalchemy.url", urls[0].replace("postgresql://", "postgresql+psycopg://"))
    alembic.command.upgrade(config, "head")
    same(urls, "SELECT version_num, (SELECT count(*) FROM alembic_item) FROM alembic_version", [("two", 11)])
    same(urls, "SELECT * FROM alembic_item ORDER BY id")
    same(urls, "SELECT * FROM alembic_copy ORDER BY id")
    same(urls, "SELECT count(*), (SELECT sum::text FROM alembic_sum) FROM alembic_into", [(11, "57.50")])
    same(urls, "SELECT has_table_privilege('alembic_reader', 'alembic_item', 'SELECT')", [(True,)])
    alembic.command.downgrade(config, "-1")
    alembic.command.downgrade(config, "base")
    same(urls, "SELECT to_regclass('alembic_item') IS NULL, count(*) FROM alembic_version", [(True, 0)])


def with_django(urls, directory):
    package = directory / "shop" / "migrations"
    package.mkdir(parents=True)
    for place in (directory / "shop", package):
        (place / "__init__.py").touch()
    for name, (after, operations) in DJANGO.items():
        (package / f"{name}.py").write_text(
            "from django.db import migrations, models\n"
            "def fill(apps, editor):\n"
            "    item = apps.get_model('shop', 'Item')\n"
            "    item.objects.bulk_create([item(name=f'item {i}') for i in range(20)])\n"
            "def empty(apps, editor):\n    pass\n"
            f"class Migration(migrations.Migration):\n    dependencies = [{after or repr(('auth', '0001_initial'))}]\n"
            f"    operations = [{operations}]\n")
    sys.path.insert(0, str(directory))
    parts = psycopg.conninfo.conninfo_to_dict(urls[0])
    settings.configure(
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.admin", "django.contrib.sessions",
                        "django.contrib.messages", "shop"],
        USE_TZ=True, SECRET_KEY="unused", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": parts["dbname"], "USER": parts["user"],
                               "PASSWORD": parts["password"], "HOST": parts["host"], "PORT": parts["port"]}})
    django.setup()
    call_command("migrate", verbosity=0)
    same(urls, "SELECT count(*), sum(price)::text, sum(extra) = sum(id) FROM shop_item", [(20, "60.00", True)])
    same(urls, "SELECT app, name FROM django_migrations ORDER BY id")
    same(urls, "SELECT codename FROM auth_permission ORDER BY id")
    same(urls, "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype <> 't' ORDER BY 1, 2")
    call_command("migrate", "shop", "zero", verbosity=0)
    same(urls, "SELECT to_regclass('shop_item') IS NULL", [(True,)])


def main(urls):
    with tempfile.TemporaryDirectory() as directory:
        with_alembic(urls, pathlib.Path(directory) / "alembic")
        with_django(urls, pathlib.Path(directory) / "django")


if __name__ == "__main__":
    main(sys.argv[1:])
