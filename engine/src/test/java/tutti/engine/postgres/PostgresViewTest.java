package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tutti.engine.StateView;
import tutti.pgwire.BackendConnection;

/** What a view of a PostgreSQL database shows, with a real server. */
class PostgresViewTest {
    private static final String OWNER = "owner_of_planned";
    private static final StateView.Pace AT_ONCE = (_, _) -> {};
    private static final String TABLE = "CREATE TABLE public.item (id int PRIMARY KEY, v text DEFAULT 'x')";
    /** More than one piece of pages. */
    private static final String MANY = "INSERT INTO public.item SELECT i, repeat('x', 1000) FROM generate_series(1, 2000) AS i";

    /** What a view reads of a node's own, and no captures, which would keep statements of these tests out. */
    private static final String NODES_OWN = "CREATE SCHEMA IF NOT EXISTS tutti; CREATE OR REPLACE VIEW tutti.placed_elsewhere AS SELECT 0::oid AS table_oid WHERE false;"
            + " CREATE OR REPLACE FUNCTION tutti.exact(oid, text) RETURNS text LANGUAGE sql AS 'SELECT $2'";

    private static PostgresView view(String database) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        TestServer.execute(connection, NODES_OWN);
        connection.close();
        return PostgresView.open(TestServer.loops(), TestServer.reach(database));
    }

    private static StateView.Relation item(StateView view) throws Exception {
        return view.tables().stream().filter(table -> table.name().equals("public.item")).findFirst().orElseThrow();
    }

    private static StateView.Digest digest(StateView view) throws Exception {
        return view.digests(item(view), 1, AT_ONCE).getFirst();
    }

    @Test
    void theSameRowsHaveTheSameDigestWhereverTheyLie() throws Exception {
        String one = TestServer.database(TABLE, MANY);
        String other = TestServer.database(TABLE,
                "INSERT INTO public.item SELECT i, 'y' FROM generate_series(2000, 1, -1) AS i",
                "UPDATE public.item SET v = repeat('x', 1000)");
        try (PostgresView here = view(one); PostgresView there = view(other)) {
            assertEquals(2000, digest(here).rows());
            assertEquals(digest(here), digest(there));
            assertEquals(item(here).definition(), item(there).definition());
            assertTrue(item(here).definition().contains("column id integer not null"), item(here)::toString);
            List<StateView.Digest> parts = here.digests(item(here), 16, AT_ONCE);
            assertEquals(digest(here), parts.stream().reduce(StateView.Digest.NONE, StateView.Digest::and));
            assertTrue(parts.stream().allMatch(part -> part.rows() > 50), parts::toString);
        }
    }

    /** The server writes xml without its declaration, which it keeps. */
    @Test
    void rowsWhoseXmlIsDeclaredOtherwiseDiffer() throws Exception {
        String table = "CREATE TABLE public.item (id int PRIMARY KEY, v xml)";
        String one = TestServer.database(table, "INSERT INTO public.item VALUES (1, '<a/>')");
        String other = TestServer.database(table,
                "INSERT INTO public.item VALUES (1, '<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>')");
        for (String database : List.of(one, other)) {
            TestServer.install(database, 0);
        }
        try (PostgresView here = PostgresView.open(TestServer.loops(), TestServer.reach(one));
                PostgresView there = PostgresView.open(TestServer.loops(), TestServer.reach(other))) {
            assertEquals(1, digest(here).rows());
            assertNotEquals(digest(here), digest(there));
        }
    }

    @Test
    void aRowThatDiffersIsFoundByItsKey() throws Exception {
        String one = TestServer.database(TABLE, MANY);
        String other = TestServer.database(TABLE, MANY, "UPDATE public.item SET v = 'y' WHERE id = 1234");
        try (PostgresView here = view(one); PostgresView there = view(other)) {
            assertNotEquals(digest(here), digest(there));
            List<StateView.Digest> parts = here.digests(item(here), 64, AT_ONCE);
            List<StateView.Digest> theirs = there.digests(item(there), 64, AT_ONCE);
            List<Integer> differing = IntStream.range(0, 64)
                    .filter(part -> !parts.get(part).equals(theirs.get(part))).boxed().toList();
            assertEquals(1, differing.size());
            List<StateView.Row> rows = here.rows(item(here), 64, differing.getFirst(), 1000, AT_ONCE);
            Set<StateView.Row> others = Set.copyOf(
                    there.rows(item(there), 64, differing.getFirst(), 1000, AT_ONCE));
            assertEquals(Set.of("(1234)"), rows.stream().filter(row -> !others.contains(row)).map(StateView.Row::key)
                    .collect(Collectors.toSet()));
            assertEquals(null, here.rows(item(here), 64, differing.getFirst(), rows.size() - 1, AT_ONCE));
        }
    }

    @Test
    void largeObjectsAreComparedLikeTables() throws Exception {
        String some = "SELECT lo_from_bytea(7, repeat('page', 1000)::bytea), lo_from_bytea(8, 'x')";
        String one = TestServer.database(some, "GRANT SELECT ON LARGE OBJECT 7 TO PUBLIC");
        String other = TestServer.database(some, "SELECT lo_put(7, 3000, 'other')");
        String none = TestServer.database();
        List<String> names = List.of("pg_catalog.pg_largeobject", "pg_catalog.pg_largeobject_metadata");
        try (PostgresView here = view(one); PostgresView there = view(other); PostgresView empty = view(none)) {
            List<StateView.Relation> tables = here.tables();
            assertEquals(names, tables.stream().map(StateView.Relation::name).toList());
            assertEquals(tables, there.tables());
            assertEquals(List.of(), empty.tables());
            for (StateView.Relation table : tables) {
                assertEquals(table.name().equals(names.getFirst()) ? 3 : 2,
                        here.digests(table, 1, AT_ONCE).getFirst().rows());
                assertNotEquals(here.digests(table, 1, AT_ONCE), there.digests(table, 1, AT_ONCE), table.name());
            }
            assertEquals(List.of("(7,0)", "(7,1)", "(8,0)"), here.rows(tables.getFirst(), 1, 0, 10, AT_ONCE).stream()
                    .map(StateView.Row::key).sorted().toList());
        }
    }

    @Test
    void whatIsCommittedLaterIsNotSeenAndNotHindered() throws Exception {
        String database = TestServer.database(TABLE, MANY);
        try (PostgresView view = view(database)) {
            StateView.Digest before = digest(view);
            BackendConnection client = TestServer.connect(database);
            TestServer.execute(client, "UPDATE public.item SET v = 'later'");
            TestServer.execute(client, "INSERT INTO public.item VALUES (0, 'new')");
            TestServer.execute(client, "ALTER TABLE public.item ADD COLUMN w int");
            assertEquals(before, digest(view));
            client.close();
        }
    }

    /** Such a statement leaves nothing of the rows that an older snapshot would show. */
    @Test
    void aTableThatWasEmptiedMeanwhileIsNotTakenForAnEmptyOne() throws Exception {
        String database = TestServer.database(TABLE, MANY);
        try (PostgresView view = view(database)) {
            StateView.Relation item = item(view);
            BackendConnection client = TestServer.connect(database);
            TestServer.execute(client, "TRUNCATE public.item");
            client.close();
            IOException refused = assertThrows(IOException.class, () -> view.digests(item, 1, AT_ONCE));
            assertTrue(refused.getMessage().contains("compare again"), refused::getMessage);
        }
    }

    private static StateView.Relation table(PostgresView view, String name) throws Exception {
        return view.tables().stream().filter(table -> table.name().equals(name)).findFirst().orElseThrow();
    }

    /** Nothing of a client's is executed with the node's rights. */
    @Test
    void clientsCodeIsNotExecuted() throws Exception {
        String database = TestServer.database("CREATE SCHEMA evil",
                "CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''caught''; END'",
                "CREATE FUNCTION evil.boom(int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''caught''; END'",
                "CREATE TABLE public.item (id int PRIMARY KEY, v text)", "INSERT INTO public.item VALUES (1, 'a')",
                "ALTER TABLE public.item ENABLE ROW LEVEL SECURITY",
                "CREATE POLICY boom ON public.item USING (evil.boom(id))",
                "ALTER TABLE public.item FORCE ROW LEVEL SECURITY",
                "CREATE FUNCTION evil.known(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)"
                        + " THEN RAISE 'caught'; END IF; RETURN 1; END $$",
                "CREATE ROLE " + OWNER + "; GRANT USAGE ON SCHEMA evil TO " + OWNER
                        + "; GRANT CREATE ON SCHEMA public TO " + OWNER,
                "CREATE TABLE public.planned (id int, v text)", "ALTER TABLE public.planned OWNER TO " + OWNER,
                "INSERT INTO public.planned VALUES (1, 'a'), (1, 'b')",
                "SET ROLE " + OWNER + "; CREATE INDEX ON public.planned ((evil.known(1)));"
                        + " CREATE TABLE public.checked (id int, CHECK (evil.known(1) = 1)); INSERT INTO public.checked VALUES (1)");
        BackendConnection admin = TestServer.connect(database);
        TestServer.execute(admin, "ALTER DATABASE " + database + " SET search_path = evil, pg_catalog");
        TestServer.execute(admin, "ALTER DATABASE " + database + " SET constraint_exclusion = on");
        admin.close();
        try (PostgresView view = view(database)) {
            assertEquals(1, digest(view).rows());
            assertEquals(1, view.digests(table(view, "public.checked"), 1, AT_ONCE).getFirst().rows());
            StateView.Relation planned = table(view, "public.planned");
            assertEquals(2, view.digests(planned, 1, AT_ONCE).getFirst().rows());
            assertEquals(2, view.digests(planned, 3, AT_ONCE).stream().mapToLong(StateView.Digest::rows).sum());
            assertEquals(Set.of("(1,a)", "(1,b)"), view.rows(planned, 1, 0, 10, AT_ONCE).stream()
                    .map(StateView.Row::key).collect(Collectors.toSet()));
        }
    }
}
