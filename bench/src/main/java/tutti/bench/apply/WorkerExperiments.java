package tutti.bench.apply;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tutti.engine.postgres.output.OutputMessage;

/**
 * Asks what PostgreSQL's logical replication worker does when something is in its way, by doing it: what a replica would have to live with
 * if the worker were its applier. Each experiment says what was seen; nothing is expected.
 */
final class WorkerExperiments implements AutoCloseable {
    private static final String DATABASE = "experiments";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long ERRORS_SECONDS = 12;
    private static final int RELATION = 1;
    private static final int INT4 = 23;
    /** Transactions that are under way when something is ended. */
    private static final int BURST = 20_000;

    private final ApplyServer server;
    private final WalSender sender = new WalSender();
    private final List<List<String>> seen = new ArrayList<>();
    private long position;

    WorkerExperiments(ApplyServer server) throws IOException, SQLException, InterruptedException {
        this.server = server;
        server.execute("postgres", "CREATE DATABASE " + DATABASE);
        server.execute(DATABASE, "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 0), (2, 0)");
        server.subscribe(DATABASE, sender, false);
    }

    /** Makes all of them. Returns rows of two columns: what was done, and what was seen. */
    List<List<String>> run() throws Exception {
        missingRow();
        rowThatIsThere();
        rowThatIsHeld();
        for (int i = 0; i < 3; i++) {
            end("the worker is terminated while it applies",
                    (statement, worker) -> statement.execute("SELECT pg_catalog.pg_terminate_backend(" + worker + ")"));
        }
        for (int i = 0; i < 3; i++) {
            end("the server is killed while it applies", (_, _) -> server.crash());
        }
        return seen;
    }

    private void missingRow() throws SQLException, InterruptedException {
        server.execute(DATABASE, "DELETE FROM t WHERE id = 2");
        send(update(2, 1));
        boolean applied = sender.awaitApplied(position, PATIENCE);
        seen("a row to be updated is not there", (applied ? "taken for applied" : "not applied")
                + "; counted as a conflict: "
                + server.await(DATABASE,
                        "SELECT confl_update_missing FROM pg_catalog.pg_stat_subscription_stats WHERE subname = 'measured_"
                                + DATABASE + "'",
                        count -> !count.equals("0")));
    }

    private void rowThatIsThere() throws SQLException, InterruptedException {
        server.execute(DATABASE, "INSERT INTO t VALUES (3, 7)");
        String before = server.progress(DATABASE);
        send(insert(3));
        Thread.sleep(Duration.ofSeconds(ERRORS_SECONDS));
        String errors = server.ask(DATABASE,
                "SELECT apply_error_count FROM pg_catalog.pg_stat_subscription_stats WHERE subname = 'measured_"
                        + DATABASE + "'");
        boolean moved = !server.progress(DATABASE).equals(before);
        server.execute(DATABASE, "DELETE FROM t WHERE id = 3");
        boolean applied = sender.awaitApplied(position, PATIENCE);
        seen("a row to be inserted is there", "within " + ERRORS_SECONDS + " s the worker ended and came back " + errors
                + " times; progress " + (moved ? "moved" : "did not move") + "; when the row was gone it "
                + (applied ? "went on" : "did not go on"));
    }

    private void rowThatIsHeld() throws SQLException, InterruptedException {
        long worker = server.worker(DATABASE);
        try (Connection holder = server.database(DATABASE).open(); Statement statement = holder.createStatement()) {
            holder.setAutoCommit(false);
            statement.execute("UPDATE t SET v = 5 WHERE id = 1");
            long holderPid;
            try (ResultSet rows = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
                rows.next();
                holderPid = rows.getLong(1);
            }
            send(update(1, 9));
            String blocking = server.await(DATABASE, "SELECT pg_catalog.pg_blocking_pids(" + worker + ")::text",
                    pids -> !pids.equals("{}"));
            boolean told = blocking.equals("{" + holderPid + "}");
            long before = System.nanoTime();
            server.execute(DATABASE, "SELECT pg_catalog.pg_terminate_backend(" + holderPid + ")");
            boolean applied = sender.awaitApplied(position, PATIENCE);
            seen("a local transaction holds the row", "the server " + (told ? "tells" : "does not tell")
                    + " who stands in its way; when that was ended it " + (applied ? "went on" : "did not go on")
                    + String.format(Locale.ROOT, " after %.0f ms", (System.nanoTime() - before) / 1e6));
        }
    }

    /** Something that ends the worker, which has this process. */
    interface End {
        void run(Statement statement, long worker) throws Exception;
    }

    private void end(String what, End end) throws Exception {
        Ended ended = ended(end);
        seen(what, "it came back behind transaction " + ended.kept() + " of " + BURST + " and "
                + (ended.all() ? "applied" : "did not apply") + " the rest; at the end there were " + ended.rows()
                + " rows");
    }

    /** Whether the worker, ended in the middle, goes on where it was, and nothing is missing or applied twice. */
    boolean survives(End end) throws Exception {
        Ended ended = ended(end);
        return ended.kept() < BURST && ended.all() && ended.rows() == BURST;
    }

    /** Where it went on, whether it came to the end, and how many rows there were then. */
    private record Ended(long kept, boolean all, long rows) {}

    /** Is what the server keeps as the worker's progress exactly what is there? If not, a row is missing, or there is one that it inserts. */
    private Ended ended(End end) throws Exception {
        // A crash must not take this away.
        server.execute(DATABASE, "SET synchronous_commit = on; DELETE FROM t");
        long first = position;
        List<WalSender.Transaction> burst = new ArrayList<>();
        for (int i = 1; i <= BURST; i++) {
            position++;
            burst.add(transaction(insert(i)));
        }
        long worker = server.worker(DATABASE);
        int sessions = sender.sessions();
        try (Connection connection = server.connect(DATABASE); Statement statement = connection.createStatement()) {
            sender.send(burst);
            long there = 0;
            while (there < BURST / 8) {
                try (ResultSet rows = statement.executeQuery("SELECT count(*) FROM t")) {
                    rows.next();
                    there = rows.getLong(1);
                }
            }
            end.run(statement, worker);
        }
        sender.awaitSessions(sessions + 1, PATIENCE);
        // What the worker asks for when it comes back is the progress that the server has kept.
        long kept = sender.asked() - first;
        boolean all = sender.awaitApplied(position, PATIENCE);
        return new Ended(kept, all, Long.parseLong(String.valueOf(server.ask(DATABASE, "SELECT count(*) FROM t"))));
    }

    private void seen(String what, String was) {
        seen.add(List.of(what, was));
    }

    private void send(byte[] change) {
        position++;
        sender.send(List.of(transaction(change)));
    }

    /** The position is the place in the log. */
    private WalSender.Transaction transaction(byte[] change) {
        ByteBuf begin = Unpooled.buffer();
        new OutputMessage.Begin(position, 0, 1).write(begin);
        ByteBuf commit = Unpooled.buffer();
        new OutputMessage.Commit(position, position, 0).write(commit);
        return new WalSender.Transaction(position, List.of(bytes(begin), relation(), change, bytes(commit)));
    }

    private static byte[] relation() {
        ByteBuf out = Unpooled.buffer();
        out.writeByte('R').writeInt(RELATION);
        text(out, "public");
        text(out, "t");
        out.writeByte('d').writeShort(2);
        for (String column : List.of("id", "v")) {
            out.writeByte(column.equals("id") ? 1 : 0);
            text(out, column);
            out.writeInt(INT4).writeInt(-1);
        }
        return bytes(out);
    }

    private static byte[] insert(int id) {
        ByteBuf out = Unpooled.buffer();
        out.writeByte('I').writeInt(RELATION).writeByte('N');
        row(out, id, 0);
        return bytes(out);
    }

    private static byte[] update(int id, int value) {
        ByteBuf out = Unpooled.buffer();
        out.writeByte('U').writeInt(RELATION).writeByte('N');
        row(out, id, value);
        return bytes(out);
    }

    private static void row(ByteBuf out, int... values) {
        out.writeShort(values.length);
        for (int value : values) {
            byte[] text = Integer.toString(value).getBytes(StandardCharsets.US_ASCII);
            out.writeByte('t').writeInt(text.length).writeBytes(text);
        }
    }

    private static void text(ByteBuf out, String value) {
        out.writeBytes(value.getBytes(StandardCharsets.UTF_8)).writeByte(0);
    }

    private static byte[] bytes(ByteBuf out) {
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }

    @Override
    public void close() throws IOException {
        sender.close();
    }
}
