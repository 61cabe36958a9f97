package tutti.engine.postgres.apply;

import io.netty.channel.EventLoop;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.Temporal;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.LocalTransaction;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.procedure.ProcedureCall;
import tutti.engine.procedure.ProcedureValues;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryResult;

/**
 * Executes what the statements of a request have asked Java procedures for ({@code tutti_java()}), in the session that has executed them. Each run has a
 * thread of its own, which waits for the server's answers; one that does not end is left to itself when its time is over, and can do nothing more.
 */
final class JavaCalls {
    private static final Logger LOG = LoggerFactory.getLogger(JavaCalls.class);
    private static final String CALLS = "SELECT c.number, pg_catalog.jsonb_extract_path_text(c.call, 'name'), a.number, a.value"
            + " FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('" + Statement.JAVA_CALLS
            + "')::pg_catalog.jsonb) WITH ORDINALITY AS c (call, number) LEFT JOIN LATERAL"
            + " pg_catalog.jsonb_array_elements_text(pg_catalog.jsonb_extract_path(c.call, 'arguments')) WITH ORDINALITY"
            + " AS a (value, number) ON true ORDER BY c.number, a.number";
    private static final Set<String> OF_ROWS = Set.of("insert", "update", "delete", "merge", "with", "select", "call");
    /** What a procedure's own failure is called that brings no state: an external routine's. */
    private static final String EXTERNAL = "38000";
    private static final int STATE_LENGTH = 5;

    /** The session, on its event loop. */
    interface Session {
        /** Whether what is executed is part of the run still. */
        boolean counts();

        /** A statement has been sent, or has been answered. */
        void underWay(boolean now);
    }

    private final ExecutorServices engine;
    private final ExecutorServices.Check check;
    private final EventLoop loop;
    private final BackendConnection server;
    private final LocalTransaction transaction;
    private final Map<String, String> versions;
    private final Session session;
    private @Nullable Thread thread;
    private boolean sent;
    private boolean over;
    /** What the server has answered first that was no result. Of the thread of the run. */
    private @Nullable Throwable broken;

    /**
     * Of a request.
     *
     * @param server in which its statements have been executed
     * @param transaction that the request is
     */
    JavaCalls(ExecutorServices engine, EventLoop loop, BackendConnection server, LocalTransaction transaction,
            Statement request, Session session) {
        this.engine = engine;
        this.check = engine.check();
        this.loop = loop;
        this.server = server;
        this.transaction = transaction;
        this.versions = versions(request.settings().getOrDefault(Statement.JAVA_VERSIONS, ""));
        this.session = session;
    }

    /**
     * Begins. On the event loop.
     *
     * @param done told once, on the event loop: null if all have been executed, else why not
     */
    void start(Consumer<@Nullable Throwable> done) {
        ScheduledFuture<?> watch = engine.watch(loop, transaction, server.processId(), () -> !over && sent);
        Duration limit = engine.statementTime();
        Consumer<@Nullable Throwable> once = failed -> {
            if (!over) {
                over = true;
                watch.cancel(false);
                done.accept(failed);
            }
        };
        ScheduledFuture<?> timer = loop.schedule(() -> {
            giveUp();
            once.accept(new SQLException("the Java procedure has not ended within " + limit.toSeconds() + " seconds",
                    "57014"));
        }, limit.toMillis(), TimeUnit.MILLISECONDS);
        thread = Thread.ofPlatform().daemon().name("tutti-procedure").start(() -> run(failed -> loop.execute(() -> {
            timer.cancel(false);
            once.accept(failed);
        })));
    }

    /** It is not waited for any more. Its server process is ended, since a statement goes on after a cancellation. */
    private void giveUp() {
        Thread running = thread;
        if (!over && running != null) {
            StackTraceElement[] stack = running.getStackTrace();
            LOG.warn("one of the Java procedures {} has not ended in time, and is left to itself{}", versions.keySet(),
                    stack.length == 0 ? "" : ", at " + stack[0]);
            running.interrupt();
            engine.end(server.processId());
        }
    }

    /** Executes one statement. */
    private CompletableFuture<QueryResult> execute(String sql, @Nullable String... parameters) {
        CompletableFuture<QueryResult> result = new CompletableFuture<>();
        loop.execute(() -> {
            if (over || !session.counts()) {
                result.completeExceptionally(new IOException("it was rolled back"));
                return;
            }
            sent = true;
            session.underWay(true);
            var _ = server.statement(sql, parameters).whenComplete((answer, failed) -> {
                sent = false;
                boolean counts = !over && session.counts();
                session.underWay(false);
                if (!counts) {
                    result.completeExceptionally(new IOException("it was rolled back"));
                } else if (failed != null) {
                    result.completeExceptionally(failed);
                } else {
                    result.complete(answer);
                }
            });
        });
        return result;
    }

    private void run(Consumer<@Nullable Throwable> done) {
        Throwable failed = null;
        try {
            List<Asked> all = asked();
            for (Asked each : all) {
                execute(each);
            }
        } catch (SQLException | RuntimeException | Error thrown) {
            failed = thrown;
        }
        // After a statement has failed nothing counts, whatever the procedure makes of it.
        done.accept(broken == null ? failed : broken);
    }

    private void execute(Asked asked) throws SQLException {
        String version = versions.get(asked.name());
        if (version == null) {
            throw new SQLException("Java procedure " + asked.name() + " is called by a function that does not say so",
                    "55000");
        }
        try {
            check.procedures().make(asked.name(), version).execute(new Call(new ProcedureValues(asked.arguments())));
        } catch (IllegalArgumentException missing) {
            throw new SQLException(missing.getMessage(), "55000", missing);
        }
    }

    /** A call that was asked for. */
    private record Asked(String name, List<@Nullable String> arguments) {}

    private List<Asked> asked() throws SQLException {
        List<Asked> all = new ArrayList<>();
        for (List<@Nullable String> row : statement(CALLS).rows()) {
            int number = Integer.parseInt(String.valueOf(row.get(0)));
            if (number > all.size()) {
                all.add(new Asked(String.valueOf(row.get(1)), new ArrayList<>()));
            }
            if (row.get(2) != null) {
                all.getLast().arguments().add(row.get(3));
            }
        }
        return all;
    }

    private QueryResult statement(String sql, @Nullable String... parameters) throws SQLException {
        try {
            return execute(sql, parameters).get();
        } catch (ExecutionException failed) {
            broken = broken == null ? failed.getCause() : broken;
            throw failed.getCause() instanceof PostgresException refused
                    ? new SQLException(refused.fields().get('M'), refused.sqlState(), refused)
                    : new SQLException("the transaction has ended: " + failed.getCause().getMessage(), "40001", failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("the transaction has ended", "40001", interrupted);
        }
    }

    /** Why a request is refused for what was thrown; null if it is to be run again. */
    static @Nullable ErrorFields refusal(Throwable thrown) {
        if (thrown instanceof PostgresException refused) {
            return ServerTrouble.of(refused.fields()) == ServerTrouble.NONE ? refused.fields() : null;
        }
        if (thrown instanceof SQLException own) {
            String state = own.getSQLState();
            return ErrorFields.of("ERROR", state != null && state.length() == STATE_LENGTH ? state : EXTERNAL,
                    String.valueOf(own.getMessage()));
        }
        return thrown instanceof RuntimeException || thrown instanceof Error
                ? ErrorFields.of("ERROR", EXTERNAL, "the Java procedure has failed: " + thrown)
                : null;
    }

    /** The transaction, as a procedure sees it. */
    private final class Call implements ProcedureCall {
        private final ProcedureValues arguments;

        Call(ProcedureValues arguments) {
            this.arguments = arguments;
        }

        @Override
        public ProcedureValues arguments() {
            return arguments;
        }

        @Override
        public long update(String sql, @Nullable Object... parameters) throws SQLException {
            String tag = checked(sql, parameters).statements().getLast().tag();
            String last = tag.substring(tag.lastIndexOf(' ') + 1);
            return !last.isEmpty() && last.chars().allMatch(Character::isDigit) ? Long.parseLong(last) : 0;
        }

        @Override
        public List<ProcedureValues> query(String sql, @Nullable Object... parameters) throws SQLException {
            return checked(sql, parameters).statements().getLast().rows().stream().map(ProcedureValues::new).toList();
        }

        private QueryResult checked(String sql, @Nullable Object... parameters) throws SQLException {
            String first = sql.strip().split("[^A-Za-z]", 2)[0].toLowerCase(Locale.ROOT);
            if (!OF_ROWS.contains(first)) {
                throw new SQLException(
                        "a Java procedure executes SELECT, INSERT, UPDATE, DELETE, MERGE, CALL and WITH, not "
                                + sql,
                        "0A000");
            }
            String varies = check.varies(sql);
            if (varies != null) {
                throw new SQLException("a Java procedure may be run again, and this may come out differently: " + varies
                        + "; take submitted(), random(n) or uuid(n) of its call instead, and give rows an order",
                        "25006");
            }
            @Nullable
            String[] texts = new String[parameters.length];
            for (int i = 0; i < texts.length; i++) {
                texts[i] = text(parameters[i]);
            }
            return statement(sql, texts);
        }

        private String value(String sql, @Nullable String... parameters) throws SQLException {
            return String.valueOf(statement(sql, parameters).value());
        }

        @Override
        public Instant submitted() throws SQLException {
            String micros = value("SELECT ((extract(epoch FROM pg_catalog.tutti_submitted())"
                    + " OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8)");
            long all = Long.parseLong(micros);
            return Instant.ofEpochSecond(Math.floorDiv(all, 1_000_000), Math.floorMod(all, 1_000_000) * 1000L);
        }

        @Override
        public double random(long number) throws SQLException {
            return Double.parseDouble(value("SELECT pg_catalog.tutti_random($1)", Long.toString(number)));
        }

        @Override
        public UUID uuid(long number) throws SQLException {
            return UUID.fromString(value("SELECT pg_catalog.tutti_uuid($1)", Long.toString(number)));
        }
    }

    private static @Nullable String text(@Nullable Object parameter) throws SQLException {
        return switch (parameter) {
            case null -> null;
            case byte[] bytes -> "\\x" + HexFormat.of().formatHex(bytes);
            case String text when text.indexOf(0) >= 0 -> throw new SQLException("a text with a zero byte", "22021");
            case CharSequence text -> text.toString();
            case Number number -> number.toString();
            case Boolean truth -> truth.toString();
            case UUID id -> id.toString();
            case Temporal time -> time.toString();
            default -> throw new SQLException(
                    "parameters of " + parameter.getClass() + " are not supported: pass a text", "0A000");
        };
    }

    /** The versions, by name, in a setting of the request. */
    private static Map<String, String> versions(String setting) {
        Map<String, String> versions = new TreeMap<>();
        for (String each : setting.split(" ", -1)) {
            int at = each.indexOf('=');
            if (at > 0) {
                versions.put(each.substring(0, at), each.substring(at + 1));
            }
        }
        return versions;
    }
}
