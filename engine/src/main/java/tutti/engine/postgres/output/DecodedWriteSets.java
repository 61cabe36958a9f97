package tutti.engine.postgres.output;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;
import tutti.engine.WriteSetService;
import tutti.engine.postgres.OwnSessions;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryResult;

/**
 * Write sets that a PostgreSQL server decodes from its log after their transactions have committed, with its own plugin {@code pgoutput}:
 * also of what was changed without the node. Positions are those of the server's log ({@link Lsn}). The server keeps its log for the
 * reader in a replication slot, up to {@code max_slot_wal_keep_size}; so it must be bounded. What a transaction is told by, its end, is on the
 * server's disk by then.
 *
 * <p>
 * While it is on, tables tell whole old rows ({@code REPLICA IDENTITY FULL}), which makes the log longer. {@link #end} undoes it all. One
 * reader at a time.
 *
 * <p>
 * Safe for use from any thread; methods block.
 */
public final class DecodedWriteSets implements WriteSetService {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int VERSION_MIN = 180_000;
    private static final String NAME = "tutti changes";
    private static final String PUBLICATION = "tutti_changes";
    /** So many bytes of log without a change are told as a position without one, so that the server need not keep them. */
    private static final long SILENCE_BYTES = 1 << 20;
    private static final String GONE = "55000";
    private static final String IN_USE = "55006";

    private final EventLoopGroup loops;
    private final BackendSettings settings;

    /**
     * Of a database.
     *
     * @param settings of a superuser
     */
    public DecodedWriteSets(EventLoopGroup loops, BackendSettings settings) {
        this.loops = loops;
        this.settings = OwnSessions.superuser(settings, NAME);
    }

    /**
     * What is told.
     *
     * @param on whether anything is
     * @param from position up to which a reader has confirmed what it was told; 0 if it is off
     * @param keptBytes of its log that the server keeps for the reader
     * @param lost whether the server has forgotten some of what was to be told
     * @param untold tables of which nothing is told: unlogged ones, and those with columns that are computed when they are read
     */
    public record State(boolean on, long from, long keptBytes, boolean lost, List<String> untold) {
        /** Keeps a copy. */
        public State {
            untold = List.copyOf(untold);
        }
    }

    /**
     * How it stands.
     *
     * @throws IOException if the server cannot be asked
     */
    public State state() throws IOException, InterruptedException {
        BackendConnection connection = connect();
        try {
            return state(connection);
        } finally {
            connection.close();
        }
    }

    private static State state(BackendConnection connection) throws IOException, InterruptedException {
        List<List<@Nullable String>> rows = connection.execute("SELECT confirmed_flush_lsn, wal_status = 'lost',"
                + " coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::bigint"
                + " FROM pg_catalog.pg_replication_slots WHERE slot_name = " + SLOT_NAME, TIMEOUT).rows();
        if (rows.isEmpty()) {
            return new State(false, 0, 0, false, List.of());
        }
        List<String> untold = connection.execute(UNTOLD, TIMEOUT).rows().stream()
                .map(row -> String.valueOf(row.getFirst()))
                .toList();
        List<@Nullable String> row = rows.getFirst();
        String confirmed = row.get(0);
        return new State(true, confirmed == null ? 0 : Lsn.of(confirmed), Long.parseLong(String.valueOf(row.get(2))),
                "t".equals(row.get(1)), untold);
    }

    private static final String UNTOLD = "SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c"
            + " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence <> 't'"
            + " AND n.nspname NOT IN ('tutti', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'"
            + " AND NOT EXISTS (SELECT FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid"
            + " WHERE p.pubname = '" + PUBLICATION + "' AND r.prrelid = c.oid) ORDER BY 1";
    /** Several databases of a server may each have one. */
    private static final String SLOT_NAME = "(SELECT 'tutti_changes_' || oid FROM pg_catalog.pg_database"
            + " WHERE datname = pg_catalog.current_database())";

    private static String slot(BackendConnection connection) throws IOException, InterruptedException {
        return String.valueOf(connection.execute("SELECT " + SLOT_NAME, TIMEOUT).value());
    }

    /**
     * Has the server tell, from now on. Nothing happens if it does already.
     *
     * @return position from which it tells
     * @throws IOException if it cannot, with cause and remedy
     */
    public long begin() throws IOException, InterruptedException {
        BackendConnection connection = connect();
        try {
            State state = state(connection);
            if (state.on()) {
                return state.from();
            }
            check(connection);
            execute(connection, "BEGIN;\n" + resource("begin.sql") + "\nCOMMIT;");
            // Waits for transactions that are under way.
            connection.execute("SET statement_timeout = '" + TIMEOUT.toSeconds() / 2 + "s'", TIMEOUT);
            try {
                QueryResult made = connection.execute("SELECT lsn FROM pg_catalog.pg_create_logical_replication_slot("
                        + SLOT_NAME + ", 'pgoutput')", TIMEOUT);
                return Lsn.of(String.valueOf(made.value()));
            } catch (PostgresException refused) {
                connection.execute("SET statement_timeout = 0", TIMEOUT);
                execute(connection, "BEGIN;\n" + resource("end.sql") + "\nCOMMIT;");
                throw new IOException("the server does not begin to tell what is changed: " + refused.getMessage()
                        + (refused.sqlState().equals("57014")
                                ? "; transactions are open that were begun before: try again when they have ended"
                                : ""),
                        refused);
            }
        } finally {
            connection.close();
        }
    }

    private static void check(BackendConnection connection) throws IOException, InterruptedException {
        List<@Nullable String> row = connection.execute("SELECT pg_catalog.current_setting('server_version_num'),"
                + " pg_catalog.current_setting('wal_level'), pg_catalog.current_setting('max_slot_wal_keep_size')",
                TIMEOUT)
                .rows().getFirst();
        if (Integer.parseInt(String.valueOf(row.get(0))) < VERSION_MIN) {
            throw new IOException(
                    "what is changed is told by servers from PostgreSQL 18 on, and this one is older: upgrade it");
        }
        if (!"logical".equals(row.get(1))) {
            throw new IOException("the server's wal_level is " + row.get(1) + ", and must be logical: write"
                    + " parameters: {wal_level: logical, max_slot_wal_keep_size: 4GB} under postgres.embedded, or set both in"
                    + " the server's own configuration, and start it again");
        }
        if ("-1".equals(row.get(2))) {
            throw new IOException(
                    "the server's max_slot_wal_keep_size is not set, so that a reader which stays away would fill"
                            + " the disk: set it (for example to 4GB; under postgres.embedded as one of the parameters), and start again");
        }
    }

    /**
     * Has the server tell no more, and forget what it has not told. Nothing happens if it does not.
     *
     * @throws IOException if the server cannot be reached, or somebody reads and does not stop
     */
    public void end() throws IOException, InterruptedException {
        BackendConnection connection = connect();
        try {
            execute(connection, "SELECT pg_catalog.pg_terminate_backend(active_pid, " + TIMEOUT.toMillis() / 2
                    + ") FROM pg_catalog.pg_replication_slots WHERE slot_name = " + SLOT_NAME + " AND active");
            execute(connection,
                    "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots"
                            + " WHERE slot_name = " + SLOT_NAME);
            execute(connection, "BEGIN;\n" + resource("end.sql") + "\nCOMMIT;");
        } finally {
            connection.close();
        }
    }

    @Override
    public Reader read(long after) throws IOException, InterruptedException {
        BackendConnection connection = connect();
        boolean opened = false;
        try {
            State state = state(connection);
            if (!state.on()) {
                throw new IOException("the server does not tell what is changed: have it begin first");
            }
            if (state.lost()) {
                throw new IOException("the server has forgotten what was to be told, since nobody has read it and"
                        + " max_slot_wal_keep_size was reached: end, begin again, and read all tables anew");
            }
            long from = after == NOW
                    ? Lsn.of(String.valueOf(
                            connection.execute("SELECT pg_catalog.pg_current_wal_insert_lsn()", TIMEOUT).value()))
                    : after == 0 ? state.from() : after;
            if (Long.compareUnsigned(from, state.from()) < 0) {
                throw new IOException("what was committed between " + Lsn.text(from) + " and " + Lsn.text(state.from())
                        + " was told to a reader, who has confirmed it: the server does not tell it again");
            }
            DecodedReader reader = new DecodedReader(connection, stream(slot(connection), from), from);
            opened = true;
            return reader;
        } finally {
            if (!opened) {
                connection.close();
            }
        }
    }

    private ReplicationStream stream(String slot, long from) throws IOException, InterruptedException {
        try {
            return ReplicationStream.open(loops, settings, slot, from,
                    "proto_version '1', publication_names '" + PUBLICATION + "'");
        } catch (PostgresException refused) {
            throw new IOException(switch (refused.sqlState()) {
                case IN_USE -> "somebody else reads what is changed: there is one reader at a time";
                case GONE ->
                    "the server has forgotten what was to be told: end, begin again, and read all tables anew ("
                            + refused.getMessage() + ")";
                default -> "the server does not tell what is changed: " + refused.getMessage();
            }, refused);
        }
    }

    private BackendConnection connect() throws IOException, InterruptedException {
        try {
            return BackendConnection.connect(loops.next(), settings).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + ": " + failed.getMessage(),
                    failed);
        }
    }

    private static void execute(BackendConnection connection, String sql) throws IOException, InterruptedException {
        try {
            connection.execute(sql, TIMEOUT);
        } catch (PostgresException refused) {
            throw new IOException(refused.getMessage(), refused);
        }
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = DecodedWriteSets.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException("the program has no resource " + name);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Reads the slot. */
    private static final class DecodedReader implements Reader, CommittedReader.Catalogs {
        private final BackendConnection connection;
        private final ReplicationStream stream;
        private final CommittedReader committed = new CommittedReader(this);
        private TableCatalog catalog = TableCatalog.EMPTY;
        private long told;

        DecodedReader(BackendConnection connection, ReplicationStream stream, long from)
                throws IOException, InterruptedException {
            this.connection = connection;
            this.stream = stream;
            told = from;
            read();
        }

        @Override
        public @Nullable Committed next(Duration patience) throws IOException, InterruptedException {
            Duration left = patience;
            while (true) {
                ReplicationStream.Piece piece = stream.next(left);
                if (piece == null) {
                    return null;
                }
                Committed next = switch (piece) {
                    case ReplicationStream.Piece.Message(long _, byte[] content) -> committed.take(content);
                    case ReplicationStream.Piece.Reached(long position) -> committed.open()
                            ? null
                            : new Committed(position, 0, WriteSet.EMPTY);
                    case ReplicationStream.Piece.Over _ -> throw new IOException("the stream is over");
                };
                if (next != null && (!next.writes().isEmpty() || next.position() - told >= SILENCE_BYTES)) {
                    told = next.position();
                    return next;
                }
                // Of a transaction the rest comes at once; what else has come was nothing to be told.
                left = committed.open() ? TIMEOUT : Duration.ZERO;
            }
        }

        @Override
        public void confirm(long position) {
            stream.confirm(position);
        }

        @Override
        public TableCatalog known() {
            return catalog;
        }

        @Override
        public TableCatalog read() throws IOException, InterruptedException {
            try {
                catalog = CatalogQuery.read(connection.execute(CatalogQuery.SQL, TIMEOUT));
            } catch (PostgresException refused) {
                throw new IOException("the catalog cannot be read: " + refused.getMessage(), refused);
            }
            return catalog;
        }

        @Override
        public void close() {
            stream.close();
            connection.close();
        }
    }
}
