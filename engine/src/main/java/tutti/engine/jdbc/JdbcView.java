package tutti.engine.jdbc;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.engine.StateView;
import tutti.engine.jdbc.rows.PortableValues;
import tutti.engine.jdbc.rows.Table;

/**
 * The committed state of a database in the virtual machine: one transaction that reads. While it is open schema changes wait, as they do
 * while a copy is made; so when one does, the view gives way soon: it cannot be read any more. A thread of the view's own sees to
 * that, and holds the lock against schema changes, which is a thread's.
 */
final class JdbcView implements StateView {
    /** So many rows are read between two pauses. */
    private static final int PIECE_ROWS = 2000;

    /** How often it is looked whether a schema change waits. */
    private static final long LOOK_MILLIS = 50;

    private final JdbcEngine engine;
    private final EmbeddedDatabase.Session session;
    private final Map<String, Table> tables = new TreeMap<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    /** Held while the session is used. */
    private final ReentrantLock using = new ReentrantLock();
    private boolean ended;

    private JdbcView(JdbcEngine engine, EmbeddedDatabase.Session session) {
        this.engine = engine;
        this.session = session;
        engine.tables().all().forEach(table -> tables.put(name(table), table));
    }

    /** Opens one of what is committed now. Blocks. */
    static JdbcView open(JdbcEngine engine) throws SQLException {
        CompletableFuture<JdbcView> opened = new CompletableFuture<>();
        Thread.ofVirtual().name("tutti-view").start(() -> {
            try {
                hold(engine, opened);
            } catch (SQLException | RuntimeException failed) {
                opened.completeExceptionally(failed);
            }
        });
        try {
            return opened.get();
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof SQLException refused ? refused : new SQLException(failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            opened.thenAccept(JdbcView::close);
            throw new SQLException("the node is stopping", "57014", interrupted);
        }
    }

    private static void hold(JdbcEngine engine, CompletableFuture<JdbcView> opened) throws SQLException {
        engine.schemaLock().readLock().lock();
        try (EmbeddedDatabase.Session session = engine.database().openClient()) {
            // The transaction's snapshot is that of its first query.
            JdbcEngine.readPosition(session.connection());
            JdbcView view = new JdbcView(engine, session);
            opened.complete(view);
            view.awaitEnd();
        } finally {
            engine.schemaLock().readLock().unlock();
        }
    }

    private void awaitEnd() {
        boolean over = false;
        while (!over) {
            try {
                over = closing.await(LOOK_MILLIS, TimeUnit.MILLISECONDS) || engine.schemaLock().hasQueuedThreads();
            } catch (InterruptedException stopping) {
                over = true;
            }
        }
        using.lock();
        try {
            ended = true;
        } finally {
            using.unlock();
        }
    }

    private static String name(Table table) {
        return quoted(table.schema()) + "." + quoted(table.name());
    }

    private static String quoted(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }

    @Override
    public List<StateView.Relation> tables() {
        return tables.entrySet().stream()
                .map(each -> new StateView.Relation(each.getKey(), definition(each.getValue())))
                .toList();
    }

    private static List<String> definition(Table table) {
        List<String> definition = new ArrayList<>();
        for (int i = 0; i < table.columns().size(); i++) {
            definition.add("column " + table.columns().get(i) + " of type " + table.types().get(i));
        }
        table.uniqueKeys().forEach(key -> definition
                .add((key.equals(table.primaryKey()) ? "primary key " : "unique key ") + names(table, key.columns())));
        table.foreignKeys().forEach(key -> definition.add("foreign key " + names(table, key.columns()) + " to "
                + key.parent() + key.parentColumns()));
        definition.sort(Comparator.naturalOrder());
        return definition;
    }

    private static List<String> names(Table table, List<Integer> columns) {
        return columns.stream().map(table.columns()::get).toList();
    }

    /** What is done with a row. */
    @FunctionalInterface
    private interface Each {
        void row(List<@Nullable Object> key, List<@Nullable Object> row);
    }

    private void scan(StateView.Relation wanted, Pace pace, Each each) throws IOException {
        Table table = tables.get(wanted.name());
        if (table == null) {
            throw new IllegalArgumentException("no table of this view: " + wanted.name());
        }
        Table.UniqueKey primary = table.primaryKey();
        List<Integer> key = primary == null
                ? IntStream.range(0, table.columns().size()).boxed().toList()
                : primary.columns();
        Pieces pieces = new Pieces(pace);
        using.lock();
        try {
            if (ended) {
                throw gaveWay(table);
            }
            session.scan(table, values -> {
                List<@Nullable Object> row = session.travelling(values);
                List<@Nullable Object> named = new ArrayList<>(key.size());
                key.forEach(column -> named.add(row.get(column)));
                each.row(named, row);
                pieces.row(table, PortableValues.toBytes(row).length);
            });
        } catch (SQLException failed) {
            throw new IOException("table " + table.displayName() + " cannot be read: " + failed.getSQLState() + " "
                    + failed.getMessage(), failed);
        } finally {
            using.unlock();
        }
        pieces.end();
    }

    private static SQLException gaveWay(Table table) {
        return new SQLException("a statement that changes the schema came; compare " + table.displayName() + " again",
                "57014");
    }

    /** Pauses after so many rows. */
    private final class Pieces {
        private final Pace pace;
        private long begun = System.nanoTime();
        private int rows;
        private long bytes;

        Pieces(Pace pace) {
            this.pace = pace;
        }

        void row(Table table, int length) throws SQLException {
            bytes += length;
            if (++rows == PIECE_ROWS) {
                if (engine.schemaLock().hasQueuedThreads()) {
                    throw gaveWay(table);
                }
                try {
                    end();
                } catch (InterruptedIOException interrupted) {
                    throw new SQLException(interrupted.getMessage(), "57014", interrupted);
                }
            }
        }

        void end() throws InterruptedIOException {
            try {
                pace.read(bytes, System.nanoTime() - begun);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("the node is stopping");
            }
            rows = 0;
            bytes = 0;
            begun = System.nanoTime();
        }
    }

    /** First 64 bits of the SHA-256 of values in their travelling form. */
    private static long hash(MessageDigest sha, List<@Nullable Object> values) {
        return ByteBuffer.wrap(sha.digest(PortableValues.toBytes(values))).getLong();
    }

    private static MessageDigest sha() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static int part(MessageDigest sha, List<@Nullable Object> key, int parts) {
        return parts == 1 ? 0 : Math.floorMod(hash(sha, key), parts);
    }

    @Override
    public List<Digest> digests(StateView.Relation table, int parts, Pace pace) throws IOException {
        MessageDigest sha = sha();
        Digest[] digests = new Digest[parts];
        Arrays.fill(digests, Digest.NONE);
        scan(table, pace, (key, row) -> {
            int part = part(sha, key, parts);
            digests[part] = digests[part].and(new Digest(1, hash(sha, row)));
        });
        return List.of(digests);
    }

    @Override
    public @Nullable List<Row> rows(StateView.Relation table, int parts, int part, int limit, Pace pace)
            throws IOException {
        MessageDigest sha = sha();
        List<Row> rows = new ArrayList<>();
        scan(table, pace, (key, row) -> {
            if (rows.size() <= limit && part(sha, key, parts) == part) {
                rows.add(new Row(text(key), hash(sha, row)));
            }
        });
        return rows.size() > limit ? null : List.copyOf(rows);
    }

    private static String text(List<@Nullable Object> key) {
        return key.stream().map(value -> value instanceof byte[] bytes
                ? "\\x" + HexFormat.of().formatHex(bytes)
                : String.valueOf(value)).collect(Collectors.joining(",", "(", ")"));
    }

    @Override
    public void close() {
        closing.countDown();
    }
}
