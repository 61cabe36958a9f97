package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.QueryResult;
import tutti.wire.sql.StatementClasses;

/**
 * A capture service for tests of the front end: deferred triggers that gather operation, table and row, and refuse a
 * commit that was not announced.
 */
final class SmallCapture implements Capture {
    static final String INSTALL = """
            CREATE SCHEMA tutti;
            GRANT USAGE ON SCHEMA tutti TO PUBLIC;
            CREATE FUNCTION tutti.may_prepare(identifier text) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                IF identifier = 'used' THEN
                    RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = 'in use';
                END IF;
            END $$;
            CREATE SCHEMA cap;
            GRANT USAGE ON SCHEMA cap TO PUBLIC;
            CREATE TABLE cap.applied (position bigint PRIMARY KEY);
            GRANT INSERT ON cap.applied TO PUBLIC;
            CREATE FUNCTION cap.row() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF coalesce(current_setting('cap.armed', true), '') <> 'yes' THEN
                    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'this commit was not announced';
                END IF;
                PERFORM set_config('cap.rows', concat(current_setting('cap.rows', true), TG_OP, ' ', TG_TABLE_NAME, ' ',
                    CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END, ';'), true);
                RETURN NULL;
            END $$;
            CREATE FUNCTION cap.finish(secret bytea, session_key text) RETURNS bytea LANGUAGE plpgsql AS $$
            DECLARE gathered text;
            BEGIN
                PERFORM set_config('cap.armed', 'yes', true);
                SET CONSTRAINTS ALL IMMEDIATE;
                gathered := current_setting('cap.rows', true);
                RETURN CASE WHEN gathered <> '' THEN convert_to(gathered, 'UTF8') END;
            END $$;
            CREATE FUNCTION cap.allow(secret bytea, statement text) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                IF statement <> '' THEN
                    PERFORM set_config('cap.rows', concat(current_setting('cap.rows', true), 'S ', statement, ';'), true);
                END IF;
            END $$;
            CREATE FUNCTION cap.record(secret bytea, recorded bigint) RETURNS void LANGUAGE sql AS $$
                INSERT INTO cap.applied SELECT recorded WHERE secret IS NOT NULL $$;
            CREATE FUNCTION cap.before(secret bytea) RETURNS void LANGUAGE sql AS $$
                SELECT set_config('cap.armed', 'yes', true) $$;
            CREATE FUNCTION cap.after(secret bytea) RETURNS void LANGUAGE sql AS $$
                SELECT set_config('cap.armed', '', true) $$;
            """;

    private static final List<String> FUNCTIONS = List.of("finish", "record", "allow", "before", "after");
    final AtomicInteger schemaChanges = new AtomicInteger();
    /** The statements of the requests that every node has been given. */
    final BlockingQueue<List<Statement.Call>> requests = new LinkedBlockingQueue<>();

    /** By which settings they were made. */
    final BlockingQueue<List<@Nullable String>> settings = new LinkedBlockingQueue<>();

    /** Whether sessions have nothing that others lack. */
    volatile boolean likeOthers = true;

    /** What sessions want to hear at least. */
    volatile String leastTold = "notice";

    @Override
    public String leastTold(List<@Nullable String> settings) {
        return leastTold;
    }

    @Override
    public boolean likeOthers(List<@Nullable String> settings) {
        return likeOthers;
    }

    @Override
    public List<@Nullable String> later(List<@Nullable String> settings, long laterMicros) {
        List<@Nullable String> later = new ArrayList<>(settings);
        later.set(later.size() - 1, laterMicros + " later");
        return later;
    }

    static String table(String name, String columns) {
        return "CREATE TABLE " + name + " (" + columns + "); CREATE CONSTRAINT TRIGGER cap AFTER INSERT OR UPDATE OR"
                + " DELETE ON " + name + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cap.row();"
                + " GRANT ALL ON " + name + " TO PUBLIC;";
    }

    /** What is promised. */
    final Map<String, Promise> promised = new ConcurrentHashMap<>();

    @Override
    public WriteSet prepare(List<@Nullable String> row, WriteSet writes) {
        return new WriteSet(writes.keys(), (row.get(1) + " prepares " + row.get(0) + ": "
                + new String(writes.changes(), StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public @Nullable Promise promise(String identifier) {
        return promised.get(identifier);
    }

    @Override
    public byte[] finish(Promise promise, boolean commits, String role) {
        return (role + ": COMMENT ON TABLE plain IS '" + promise.token() + " " + commits + "'")
                .getBytes(StandardCharsets.UTF_8);
    }

    private final int[] functions = new int[FUNCTIONS.size()];

    /** Looks up what it calls in a database in which it is installed. */
    void installed(BackendConnection admin) throws Exception {
        for (int i = 0; i < functions.length; i++) {
            functions[i] = Integer
                    .parseInt(String.valueOf(admin.execute("SELECT 'cap." + FUNCTIONS.get(i) + "'::regproc::oid",
                            FrontEndFixture.PATIENCE).value()));
        }
    }

    @Override
    public Calls calls() {
        return new Calls(functions[0], functions[1], functions[1], functions[2], functions[3], functions[4],
                new byte[1],
                "SELECT current_user, current_setting('search_path'), 'passing' = ANY ($1::text[])",
                "SELECT relname FROM pg_class");
    }

    @Override
    public Captured close(byte[] gathered, List<@Nullable QueryResult> catalogs)
            throws CaptureException, CatalogNeeded {
        String text = new String(gathered, StandardCharsets.UTF_8);
        if (text.contains("unreplicable")) {
            throw new CaptureException(Errors.error("55000", "this row cannot be replicated"));
        }
        if (text.contains("made_inside")
                && (catalogs.isEmpty() || !java.util.Objects.requireNonNull(catalogs.getLast()).rows()
                        .contains(List.of("made_inside")))) {
            throw new CatalogNeeded();
        }
        return new Captured(new WriteSet(new KeySet.Builder().add(text.hashCode(), KeyKind.UPDATE).build(), gathered),
                key -> "key " + key + " of " + text, false);
    }

    @Override
    public void schemaChanged() {
        schemaChanges.incrementAndGet();
    }

    @Override
    public byte[] statement(int place, String sql, List<@Nullable String> settings) {
        return (settings.getFirst() + ": " + sql).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public boolean declaresModes() {
        return true;
    }

    /** Calls of {@code random()} vary, and what is called {@code at_all} is declared to be executed by every node. */
    @Override
    public @Nullable String varyingRows(byte[] sql, boolean standardStrings, boolean unknownToo) {
        return statements(sql, standardStrings).varying();
    }

    @Override
    public StatementClasses.Statements statements(byte[] sql, boolean standardStrings) {
        String text = new String(sql, StandardCharsets.UTF_8);
        return new StatementClasses.Statements(
                Arrays.stream(text.split(";", -1)).map(String::strip).filter(one -> !one.isEmpty())
                        .toList(),
                text.contains("random()") ? "random()" : null, text.contains("at_all") ? "active" : null,
                !text.startsWith("do "));
    }

    @Override
    public byte[] request(List<Statement.Call> calls, List<@Nullable String> settings, boolean declared,
            int number, @Nullable String drawn, Map<String, String> more) {
        requests.add(calls);
        this.settings.add(settings);
        return new byte[]{(byte) (calls.getFirst().described() ? 1 : 0)};
    }

    @Override
    public KeySet barrierKeys() {
        return KeySet.EMPTY;
    }
}
