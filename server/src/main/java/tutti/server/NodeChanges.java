package tutti.server;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;
import tutti.engine.CapturedWriteSets;
import tutti.engine.WriteSetService;
import tutti.engine.WriteSetService.Committed;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.databases.DatabaseTag;
import tutti.engine.postgres.output.DecodedWriteSets;
import tutti.engine.postgres.output.Lsn;
import tutti.server.http.ChangesJson;

/**
 * Tells what transactions have changed at this node, for {@code tutti changes}: from the order, what was captured before the commit, of which
 * the node keeps the last in memory; or from the server's log, which it keeps for whoever has asked. A reader asks again and again, each
 * time with the position of the last transaction that it has. From any thread; methods block.
 */
final class NodeChanges implements AutoCloseable {
    private static final int COUNT_MAX = 10_000;
    private static final long WAIT_MILLIS_MAX = 30_000;
    /** Of changes that one answer has, about. */
    private static final int ANSWER_BYTES_MAX = 4 << 20;
    private static final String NOW = "now";

    private final CapturedWriteSets captured;
    private final DecodedWriteSets decoded;
    private final Databases databases;
    private final ReentrantLock using = new ReentrantLock();
    /** Who reads the server's log, and from where it goes on. */
    private WriteSetService.@Nullable Reader reader;
    private long readerAt;

    /** Finds databases. */
    @FunctionalInterface
    interface Databases {
        /** By its name, the configured one if that is empty; null if the cluster has none of that name. */
        @Nullable
        Told of(String name);
    }

    /**
     * A database of which is told.
     *
     * @param id with which what is of it is tagged
     */
    record Told(long id, PostgresEngine engine) {}

    /**
     * Tells.
     *
     * @param captured what is of any database, tagged
     * @param decoded of the configured database
     */
    NodeChanges(CapturedWriteSets captured, DecodedWriteSets decoded, Databases databases) {
        this.captured = captured;
        this.decoded = decoded;
        this.databases = databases;
    }

    /**
     * Takes a step.
     *
     * @param asked {@code do}: {@code begin} to have the server tell, {@code end} it, tell its {@code state}, or {@code read}: from
     *            {@code source} {@code server} or {@code order}, what came {@code after} a position ({@code now}; {@code first} for all
     *            that there is), at most {@code count} transactions, having waited for at most {@code wait} milliseconds; what
     *            came up to {@code confirm} the server need not keep; of the order in {@code database} if that is said
     * @return JSON, a line for each transaction; of {@code read} the last line may have a position and no changes
     * @throws IOException if that cannot be done, with cause and remedy
     */
    String step(Map<String, String> asked) throws IOException {
        boolean locked = false;
        Told database = databases.of(asked.getOrDefault("database", ""));
        if (database == null) {
            throw new IOException("this node knows no database \"" + asked.get("database") + "\" of the cluster");
        }
        try {
            if ("order".equals(asked.get("source"))) {
                return ordered(database, asked);
            }
            if (database.id() != DatabaseTag.CONFIGURED) {
                throw new IOException("the server's log is read of the configured database only: read the order");
            }
            locked = using.tryLock(2 * WAIT_MILLIS_MAX, TimeUnit.MILLISECONDS);
            if (!locked) {
                throw new IOException(
                        "somebody else reads what is changed at this node: there is one reader at a time");
            }
            return switch (String.valueOf(asked.get("do"))) {
                case "begin" -> {
                    decoded.begin();
                    yield state();
                }
                case "end" -> {
                    close();
                    decoded.end();
                    yield state();
                }
                case "state" -> state();
                case "read" -> read(database, asked);
                default -> throw new IOException("say what is to be done: do=begin, end, state or read");
            };
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("the node is stopping", interrupted);
        } finally {
            if (locked) {
                using.unlock();
            }
        }
    }

    private String ordered(Told database, Map<String, String> asked) throws IOException, InterruptedException {
        try (WriteSetService.Reader ordered = captured.read(position(String.valueOf(asked.get("after")), false))) {
            return read(ordered, database, false, asked);
        }
    }

    private String state() throws IOException, InterruptedException {
        DecodedWriteSets.State state = decoded.state();
        return ChangesJson.state(state.on(), Lsn.text(state.from()), state.keptBytes(), state.lost(), state.untold());
    }

    private String read(Told database, Map<String, String> asked) throws IOException, InterruptedException {
        if (!"server".equals(asked.get("source"))) {
            throw new IOException("say where to read: source=server or order");
        }
        return read(serverReader(String.valueOf(asked.get("after")), asked.getOrDefault("confirm", "")), database, true,
                asked);
    }

    private WriteSetService.Reader serverReader(String after, String confirmed)
            throws IOException, InterruptedException {
        long from = position(after, true);
        WriteSetService.Reader present = reader;
        if (present == null || from != readerAt) {
            close();
            present = decoded.read(from);
            reader = present;
        }
        if (!confirmed.isEmpty()) {
            present.confirm(position(confirmed, true));
        }
        return present;
    }

    private static long position(String text, boolean server) throws IOException {
        if (text.equals(NOW)) {
            return WriteSetService.NOW;
        }
        if (text.equals("first")) {
            return WriteSetService.ALL;
        }
        try {
            long position = server ? Lsn.of(text) : Long.parseLong(text);
            if (position >= 0) {
                return position;
            }
        } catch (IllegalArgumentException none) {
            throw new IOException(
                    server ? none.getMessage() : "'" + text + "' is no position in the order, which is a number",
                    none);
        }
        throw new IOException("'" + text + "' is no position that was told");
    }

    private String read(WriteSetService.Reader from, Told database, boolean server, Map<String, String> asked)
            throws IOException, InterruptedException {
        int count = (int) number(asked, "count", 1, COUNT_MAX);
        Duration wait = Duration.ofMillis(number(asked, "wait", 0, WAIT_MILLIS_MAX));
        List<String> lines = new ArrayList<>();
        int bytes = 0;
        boolean failed = true;
        String passed = "";
        try {
            Committed next = from.next(wait);
            while (next != null) {
                if (server) {
                    readerAt = next.position();
                }
                String position = server ? Lsn.text(next.position()) : String.valueOf(next.position());
                if (DatabaseTag.database(next.writes().changes()) == database.id()) {
                    String line = ChangesJson.transaction(position, next.ordered(), DatabaseTag.content(next.writes()),
                            database.engine().catalog());
                    lines.add(line);
                    bytes += line.length();
                    passed = "";
                } else {
                    passed = position;
                }
                next = lines.size() < count && bytes < ANSWER_BYTES_MAX ? from.next(Duration.ZERO) : null;
            }
            failed = false;
        } finally {
            if (failed && server) {
                close();
            }
        }
        if (!passed.isEmpty()) {
            // what was of another database is not to be looked at again
            lines.add(ChangesJson.transaction(passed, 0, WriteSet.EMPTY, database.engine().catalog()));
        }
        return String.join("", lines);
    }

    private static long number(Map<String, String> asked, String name, long min, long max) throws IOException {
        String text = String.valueOf(asked.get(name));
        if (text.matches("\\d{1,9}") && Long.parseLong(text) >= min && Long.parseLong(text) <= max) {
            return Long.parseLong(text);
        }
        throw new IOException(name + " must be a number from " + min + " to " + max);
    }

    /** Reads no more. The server goes on telling. */
    @Override
    public void close() {
        WriteSetService.Reader present = reader;
        reader = null;
        if (present != null) {
            present.close();
        }
    }
}
