package tutti.engine.jdbc;

import java.io.Serial;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.txn.ConflictClasses;
import tutti.engine.procedure.ProcedureCall;
import tutti.engine.procedure.ProcedureValues;
import tutti.engine.procedure.StoredProcedure;

/**
 * One run of a procedure in Java in a client's session. It has a thread of its own, so that the executor does not wait longer than it may; the session is
 * only ever used while the lock is held, and not after the run is over. The thread is not interrupted while it is in the session: databases close files then.
 */
final class JavaRun implements ProcedureCall {
    private static final Logger LOG = LoggerFactory.getLogger(JavaRun.class);
    private static final Duration LOOK = Duration.ofMillis(50);
    private static final Set<String> OF_ROWS = Set.of("select", "insert", "update", "delete", "merge", "call", "with",
            "values");
    /** What a procedure's own failure is called that brings no state: an external routine's. */
    private static final String EXTERNAL = "38000";
    private static final int STATE_LENGTH = 5;

    /** The procedure has refused its call, or has failed: that is the result, however it is called. */
    static final class Refusal extends SQLException {
        @Serial
        private static final long serialVersionUID = 1;

        Refusal(String message, String state, @Nullable Throwable cause) {
            super(message, state, cause);
        }
    }

    private final ClientSession session;
    private final JavaCall call;
    private final ConflictClasses classes;
    private final ProcedureValues arguments;
    private final ReentrantLock lock = new ReentrantLock();
    /** With the lock. */
    private boolean over;
    /** With the lock: how the first statement failed; nothing counts after that, whatever the procedure makes of it. */
    private @Nullable SQLException broken;
    /** With the lock. */
    private long changed;

    /**
     * Of a call.
     *
     * @param session in which its request is executed
     * @param classes by which the request is logged
     * @param arguments as the session has computed them
     */
    JavaRun(ClientSession session, JavaCall call, ConflictClasses classes, List<? extends @Nullable Object> arguments) {
        this.session = session;
        this.call = call;
        this.classes = classes;
        this.arguments = texts(arguments);
    }

    /**
     * Executes it. Blocks.
     *
     * @param limit how long it may take
     * @param counts whether the run is still wanted
     * @param stops ends what it has under way in the session
     * @return how many rows it has changed
     * @throws SQLException what a statement has failed with, else a {@link Refusal}
     */
    long execute(StoredProcedure procedure, Duration limit, BooleanSupplier counts, Runnable stops)
            throws SQLException {
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().daemon().name("tutti-procedure").start(() -> {
            try {
                procedure.execute(this);
            } catch (SQLException | RuntimeException | Error failed) {
                thrown.set(failed);
            }
        });
        String late = await(thread, limit, counts);
        if (late != null) {
            stops.run();
        }
        lock.lock();
        try {
            over = true;
            if (late != null) {
                thread.interrupt();
                throw new Refusal(late, "57014", null);
            }
            if (broken != null) {
                throw broken;
            }
            Throwable failed = thrown.get();
            if (failed != null) {
                throw refusal(failed);
            }
            return changed;
        } finally {
            lock.unlock();
        }
    }

    /** Waits for the procedure to end; why not for longer, or null if it has ended. */
    private @Nullable String await(Thread thread, Duration limit, BooleanSupplier counts) {
        Instant until = Instant.now().plus(limit);
        try {
            while (!thread.join(LOOK)) {
                if (!counts.getAsBoolean()) {
                    return "the request has been rolled back";
                }
                if (Instant.now().isAfter(until)) {
                    StackTraceElement[] stack = thread.getStackTrace();
                    LOG.warn("Java procedure {} has not ended in time, and is left to itself{}", call.name(),
                            stack.length == 0 ? "" : ", at " + stack[0]);
                    return "the Java procedure has not ended within " + limit.toSeconds() + " seconds";
                }
            }
            return null;
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
            return "the executor is closed";
        }
    }

    private static Refusal refusal(Throwable thrown) {
        if (thrown instanceof SQLException own) {
            String state = own.getSQLState();
            return new Refusal(String.valueOf(own.getMessage()),
                    state != null && state.length() == STATE_LENGTH ? state : EXTERNAL, own);
        }
        return new Refusal("the Java procedure has failed: " + thrown, EXTERNAL, thrown);
    }

    @Override
    public ProcedureValues arguments() {
        return arguments;
    }

    @Override
    public long update(String sql, @Nullable Object... parameters) throws SQLException {
        long rows = executed(sql, parameters) instanceof ClientAnswer.Changed(long count) ? count : 0;
        lock.lock();
        try {
            changed += rows;
            return rows;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public List<ProcedureValues> query(String sql, @Nullable Object... parameters) throws SQLException {
        return executed(sql, parameters) instanceof ClientAnswer.Rows rows
                ? rows.rows().stream().map(JavaRun::texts).toList()
                : List.of();
    }

    private ClientAnswer.Part executed(String sql, @Nullable Object... parameters) throws SQLException {
        lock.lock();
        try {
            if (over || broken != null) {
                throw new SQLException("the transaction has ended", "40001", broken);
            }
            check(sql);
            List<@Nullable Object> values = Arrays.asList(parameters);
            return session.statement(sql, values, connection -> {
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    return answer(statement, values);
                }
            });
        } catch (SQLException failed) {
            broken = broken == null ? failed : broken;
            throw failed;
        } finally {
            lock.unlock();
        }
    }

    /** Executes a prepared statement with these values. */
    static ClientAnswer.Part answer(PreparedStatement statement, List<? extends @Nullable Object> parameters)
            throws SQLException {
        for (int i = 0; i < parameters.size(); i++) {
            statement.setObject(i + 1, parameters.get(i));
        }
        if (!statement.execute()) {
            return new ClientAnswer.Changed(Math.max(0, statement.getLargeUpdateCount()));
        }
        try (ResultSet results = statement.getResultSet()) {
            return ClientAnswer.rows(results);
        }
    }

    private void check(String sql) throws SQLException {
        String first = sql.strip().split("[^A-Za-z]", 2)[0].toLowerCase(Locale.ROOT);
        if (!OF_ROWS.contains(first)) {
            throw new Refusal("a Java procedure executes SELECT, INSERT, UPDATE, DELETE, MERGE, CALL, WITH and VALUES,"
                    + " not " + sql, "0A000", null);
        }
        String varies = VaryingWords.in(sql);
        if (varies != null) {
            throw new Refusal("a Java procedure may be run again, and this may come out differently: " + varies
                    + "; take submitted(), random(n) or uuid(n) of its call instead", "25006", null);
        }
        String outside = session.footprints().outside(sql, classes);
        if (outside != null) {
            throw new Refusal("the procedure uses " + outside
                    + ", which is not among the tables that it says it touches", "2F003", null);
        }
    }

    @Override
    public Instant submitted() {
        return Instant.ofEpochSecond(Math.floorDiv(call.submittedMicros(), 1_000_000),
                Math.floorMod(call.submittedMicros(), 1_000_000) * 1000L);
    }

    /** Random bits of the call, the same for the same number. */
    private SplittableRandom bits(long number) {
        long own = new SplittableRandom(number).nextLong();
        return new SplittableRandom(new SplittableRandom(call.seed()).nextLong() ^ own);
    }

    @Override
    public double random(long number) {
        return bits(number).nextDouble();
    }

    @Override
    public UUID uuid(long number) {
        SplittableRandom bits = bits(number);
        long high = (bits.nextLong() & ~0xf000L) | 0x4000L;
        return new UUID(high, (bits.nextLong() >>> 2) | Long.MIN_VALUE);
    }

    private static ProcedureValues texts(List<? extends @Nullable Object> values) {
        @Nullable
        String[] texts = new String[values.size()];
        for (int i = 0; i < texts.length; i++) {
            Object value = values.get(i);
            texts[i] = value == null
                    ? null
                    : value instanceof byte[] bytes ? "\\x" + HexFormat.of().formatHex(bytes) : value.toString();
        }
        return new ProcedureValues(Arrays.asList(texts));
    }
}
