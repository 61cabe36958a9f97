package tutti.engine.postgres;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.apply.AppliedSchema;
import tutti.engine.postgres.apply.ApplierServices;
import tutti.engine.postgres.apply.ExecutorServices;
import tutti.engine.postgres.apply.Placements;
import tutti.engine.postgres.apply.PostgresExecutor;
import tutti.engine.postgres.apply.PostgresApplier;
import tutti.engine.postgres.apply.Promises;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.capture.SequenceName;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryResult;

/**
 * An unmodified PostgreSQL database as a replica's engine. Its position is kept in
 * the database itself: each transaction that makes a position's effects inserts a row with it, so a crash loses a suffix
 * of positions together with exactly their effects (docs/decisions/0005).
 *
 * <p>
 * <b>One life of the server.</b> After a crash the server may come back by itself, with fewer commits than were seen. So a
 * connection is used only after {@link AdminConnection} has answered a question that was asked when it was there
 * ({@link #confirm}): then no crash lies between the position that the engine began with and the connection.
 *
 * <p>
 * Safe for use from any thread.
 */
public final class PostgresEngine implements Engine, ApplierServices, ExecutorServices {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresEngine.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Map<String, String> APPLIER_SETTINGS = Map.of("synchronous_commit", "off", "enable_hashjoin",
            "off",
            "enable_mergejoin", "off", "enable_seqscan", "off", "enable_bitmapscan", "off", "plan_cache_mode",
            "force_generic_plan");
    /** Classes of SQLSTATEs that say nothing of the role: too many connections, starting up. */
    private static final Set<String> PASSING_REFUSALS = Set.of("53", "57");

    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final String secret;
    private final AdminConnection admin;
    private final Promises promises = new Promises();
    private final LockWaits waits;
    private final LockTable locks;
    private final NotifyQueue notifications;
    private final IndexBuilder builder;
    private final CatalogReading reading = new CatalogReading();
    /** By the role that they may take. */
    private final Map<String, RoleMaking> making = new ConcurrentHashMap<>();
    private CaptureInstaller.@Nullable Functions functions;
    private final AtomicReference<Runnable> lost = new AtomicReference<>(() -> {});
    private volatile Check check = (_, _, _) -> null;
    private volatile BooleanSupplier leavesOut = () -> true;
    private volatile Duration rowsTime = Duration.ofSeconds(30);
    private volatile Duration statementTime = Duration.ofHours(1);
    private volatile boolean closed;

    private PostgresEngine(EventLoopGroup loops, BackendSettings settings, String secret,
            Map<Integer, Supplier<? extends @Nullable LocalTransaction>> sessions, IndexReports reports) {
        this.loops = loops;
        this.settings = settings;
        this.secret = secret;
        this.admin = new AdminConnection(loops, settings, this::connectionLost);
        this.waits = new LockWaits(admin, sessions);
        this.locks = new LockTable(admin, sessions.keySet());
        this.notifications = new NotifyQueue(admin, sessions.keySet());
        this.builder = new IndexBuilder(loops, settings, new Builders(), reports, this::terminate);
    }

    /**
     * Installs capture in the database, adopting what is in it, and opens it. Blocks.
     *
     * @param settings of a superuser, to the database
     * @throws IOException if it cannot be reached
     * @throws PostgresException if the server refuses something
     * @throws IllegalStateException if the database cannot be replicated; says why
     */
    public static PostgresEngine open(EventLoopGroup loops, BackendSettings settings, CaptureInstaller.Settings capture)
            throws IOException, InterruptedException {
        return open(loops, settings, capture, new ConcurrentHashMap<>(), new IndexReports());
    }

    /**
     * Likewise, on another database of a server. What belongs to the server, such as roles, is changed in any of its databases, so sessions of each may
     * stand in the way of both engines.
     *
     * @param beside on a database of the same server
     */
    public static PostgresEngine open(EventLoopGroup loops, BackendSettings settings, CaptureInstaller.Settings capture,
            PostgresEngine beside) throws IOException, InterruptedException {
        return open(loops, settings, capture, beside.waits.sessions(), beside.builder.reports());
    }

    private static PostgresEngine open(EventLoopGroup loops, BackendSettings settings,
            CaptureInstaller.Settings capture, Map<Integer, Supplier<? extends @Nullable LocalTransaction>> sessions,
            IndexReports reports) throws IOException, InterruptedException {
        PostgresEngine engine = new PostgresEngine(loops, settings, capture.secret(), sessions, reports);
        boolean opened = false;
        try {
            BackendConnection connection = await(engine.admin.connection());
            endSessions(connection);
            CaptureInstaller.install(connection, capture);
            List<String> uncaptured = CaptureInstaller.uncaptured(connection);
            if (!uncaptured.isEmpty()) {
                throw new IllegalStateException("tables are not captured: " + uncaptured);
            }
            engine.functions = CaptureInstaller.functions(connection);
            connection.execute("SELECT tutti.drop_built(" + Table.literal(engine.secret()) + ")", TIMEOUT);
            byte[] life = new byte[16];
            new SecureRandom().nextBytes(life);
            await(engine.admin.begin(HexFormat.of().formatHex(life)));
            await(engine.refreshCatalog());
            engine.readPromises(connection);
            opened = true;
            return engine;
        } finally {
            if (!opened) {
                engine.close();
            }
        }
    }

    /**
     * Of a node that was killed: those that apply, those that build, and clients' own that have changed something. One may have been told to
     * commit, and not have come to it.
     */
    private static void endSessions(BackendConnection connection) throws IOException, InterruptedException {
        String roles = CaptureInstaller.roleNames(connection).stream().map(Table::literal)
                .collect(Collectors.joining(", "));
        connection.execute("SELECT pg_catalog.pg_terminate_backend(pid, " + TIMEOUT.toMillis()
                + ") FROM pg_catalog.pg_stat_activity WHERE datname = pg_catalog.current_database()"
                + " AND pid <> pg_catalog.pg_backend_pid() AND (usename IN (" + roles + ")"
                + " OR usesysid = current_user::pg_catalog.regrole AND application_name = "
                + Table.literal(IndexBuilder.APPLICATION)
                + " OR backend_type = 'client backend' AND backend_xid IS NOT NULL)", TIMEOUT);
    }

    private void readPromises(BackendConnection connection) throws IOException, InterruptedException {
        for (List<@Nullable String> row : connection.execute("SELECT identifier, token,"
                + " pg_catalog.encode(keys, 'hex') FROM tutti.prepared", TIMEOUT).rows()) {
            promises.keep(Promise.of(String.valueOf(row.get(0)), String.valueOf(row.get(1)),
                    HexFormat.of().parseHex(String.valueOf(row.get(2)))));
        }
    }

    @Override
    public Promises promises() {
        return promises;
    }

    @Override
    public AbortReason.@Nullable Promised promised(KeySet keys) {
        return promises.met(keys);
    }

    /** A position from PostgreSQL's text form. */
    private static long position(@Nullable String value) {
        return value == null ? 0 : Long.parseLong(value);
    }

    /** The secret in bytea's text form, which the functions of capture take. */
    public String secret() {
        return "\\x" + HexFormat.of().formatHex(functionSecret());
    }

    @Override
    public byte[] functionSecret() {
        return secret.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public AppliedSchema schema() {
        return reading.schema();
    }

    @Override
    public TableCatalog catalog() {
        return reading.schema().catalog();
    }

    @Override
    public CaptureInstaller.Functions functions() {
        return Objects.requireNonNull(functions, "opened");
    }

    /** What names stand for, at least as new as {@link #catalog()} when that was asked for before. */
    public References references() {
        return reading.references();
    }

    /** Which tables' rows can be captured in band, at least as new as {@link #catalog()} when that was asked for before. */
    public InBandTables inBandTables() {
        return reading.inBandTables();
    }

    @Override
    public Set<Long> changedTables(WriteSet writes) {
        return Placements.changedTables(writes);
    }

    @Override
    public void preparePlacement(List<String> tables, Set<Integer> keepers, Completion<PlacementPlan> done) {
        Placements.tell(admin.ask(connection -> Placements.prepare(connection, tables, keepers)), done);
    }

    /** The roles that build indexes. */
    private final class Builders implements IndexBuilder.Roles {
        @Override
        public String making(String role, String id) throws IOException {
            return CaptureInstaller.executorRole(secret, functions(), CaptureInstaller.builderName(functions(), id),
                    role);
        }

        @Override
        public BackendSettings settings(String id) {
            return settings.as(CaptureInstaller.builderName(functions(), id),
                    new BackendSettings.Credentials.Password(CaptureInstaller.password(secret)));
        }
    }

    @Override
    public IndexBuilder builds() {
        return builder;
    }

    @Override
    public CompletableFuture<Void> refreshCatalog() {
        return admin.ask(reading::read);
    }

    @Override
    public CompletableFuture<Void> refreshCatalog(EventLoop loop, long position) {
        CatalogWait wait = new CatalogWait(loops, settings, waits, loop, position);
        return admin.ask(connection -> {
            wait.reads(connection.processId());
            return reading.read(connection);
        }).whenComplete((_, _) -> wait.over());
    }

    /**
     * Sequences that this node asks for values of, and which have some that no node has been given.
     *
     * @param error what the server has said of one that has none left, which has its name in it; null to ask ahead of time
     */
    public CompletableFuture<List<SequenceName>> wantedSequences(@Nullable String error) {
        return query("SELECT schema_name, name FROM tutti.asked_for" + (error == null ? " WHERE low" : ""))
                .thenApply(result -> {
                    List<SequenceName> all = result.rows().stream().map(
                            row -> new SequenceName(String.valueOf(row.get(0)), String.valueOf(row.get(1)), 1))
                            .toList();
                    if (error == null) {
                        return all;
                    }
                    List<SequenceName> quoted = all.stream().filter(each -> error.contains('"' + each.name() + '"'))
                            .toList();
                    // other languages quote otherwise
                    return quoted.isEmpty()
                            ? all.stream().filter(each -> error.contains(each.name())).toList()
                            : quoted;
                });
    }

    @Override
    public Registration registerSession(int backendPid, Supplier<? extends @Nullable LocalTransaction> current) {
        return waits.registerSession(backendPid, current);
    }

    @Override
    public void registerApplier(BackendConnection connection, Applier applier) {
        waits.registerApplier(connection, applier);
    }

    /** A server that does not answer is taken for lost. */
    @Override
    public void appliedPosition(Completion<Long> done) {
        tellPosition(query("SELECT tutti.position()").orTimeout(TIMEOUT.toSeconds(), TimeUnit.SECONDS), done,
                failed -> {
                    if (!(failed instanceof PostgresException)) {
                        admin.lost();
                    }
                });
    }

    @Override
    public void durablePosition(Completion<Long> done) {
        tellPosition(query("SELECT tutti.durable_position()"), done, _ -> {});
    }

    private CompletableFuture<QueryResult> query(String sql) {
        return admin.ask(connection -> connection.query(sql)).whenComplete((_, failed) -> {
            if (failed != null && cause(failed) instanceof PostgresException refused) {
                locks.failed(refused.sqlState());
            }
        });
    }

    @Override
    public void failed(EngineFailure failure) {
        locks.failed(failure.sqlState());
        notifications.failed(failure);
    }

    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        tell(query("SELECT position FROM tutti.skipped"), result -> result.rows().stream()
                .map(row -> position(row.getFirst())).collect(Collectors.toUnmodifiableSet()), done, _ -> {});
    }

    private static void tellPosition(CompletableFuture<QueryResult> asked, Completion<Long> done,
            Consumer<Throwable> onFailure) {
        tell(asked, result -> position(result.value()), done, onFailure);
    }

    private static <T> void tell(CompletableFuture<QueryResult> asked, Function<QueryResult, T> read,
            Completion<T> done, Consumer<Throwable> onFailure) {
        var _ = asked.whenComplete((result, failed) -> {
            if (failed == null) {
                done.succeeded(read.apply(result));
                return;
            }
            Throwable cause = cause(failed);
            onFailure.accept(cause);
            done.failed(new EngineFailure("08006", cause instanceof TimeoutException
                    ? "PostgreSQL did not answer within " + TIMEOUT
                    : String.valueOf(cause.getMessage()), true));
        });
    }

    @Override
    public Applier openApplier() {
        return new PostgresApplier(this, loops.next());
    }

    @Override
    public CompletableFuture<BackendConnection> connectApplier(EventLoop loop, CaptureInstaller.Role role) {
        BackendSettings powerless = OwnSessions.plain(settings.as(functions().name(role),
                new BackendSettings.Credentials.Password(CaptureInstaller.password(secret))), "tutti applier")
                .withParameters(APPLIER_SETTINGS);
        return connect(loop, powerless, role)
                .exceptionallyCompose(failed -> cause(failed) instanceof PostgresException refused
                        && !PASSING_REFUSALS.contains(refused.sqlState().substring(0, 2))
                                ? restoreRoles().thenCompose(_ -> connect(loop, powerless, role))
                                : CompletableFuture.failedFuture(failed))
                .thenCompose(this::confirmed);
    }

    /** Sets who knows what requests may do; before the first executor is opened. */
    public void onExecuted(Check judge) {
        check = judge;
    }

    @Override
    public Check check() {
        return check;
    }

    @Override
    public boolean together() {
        return reading.together();
    }

    @Override
    public Executor openExecutor() {
        return new PostgresExecutor(this, loops.next());
    }

    @Override
    public CompletableFuture<BackendConnection> connectExecutor(EventLoop loop, String role, LocalTransaction waiter) {
        RoleMaking made = making.computeIfAbsent(role, this::make);
        CompletableFuture<Void> _ = made.in().thenAccept(connection -> {
            ScheduledFuture<?> watch = waits.watch(loop, waiter, connection.processId(), () -> !made.name().isDone());
            CompletableFuture<String> _ = made.name().whenComplete((_, _) -> watch.cancel(false));
        });
        return made.name().whenComplete((_, _) -> making.remove(role, made))
                .thenCompose(name -> connect(loop, OwnSessions.plain(settings.as(name,
                        new BackendSettings.Credentials.Password(CaptureInstaller.password(secret))), "tutti executor")
                        .withParameters(Map.of("synchronous_commit", "off")), CaptureInstaller.Role.EXECUTOR))
                .thenCompose(this::confirmed);
    }

    /**
     * The role that may take this one is made anew each time: this one may have been dropped, and made again under its name, since. In a session of
     * its own, which may wait for who has changed this one in an open transaction: the engine's connection, of which everybody asks something, does not wait.
     */
    private RoleMaking make(String role) {
        CompletableFuture<BackendConnection> in = BackendConnection.connect(loops.next(),
                OwnSessions.superuser(settings, "tutti roles"));
        CompletableFuture<String> name = in.thenCompose(connection -> connection
                .query("SELECT oid FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) "
                        + Table.literal(role))
                .thenCompose(found -> {
                    String id = found.rows().isEmpty() ? null : found.value();
                    if (id == null) {
                        throw new CompletionException(new PostgresException(ErrorFields.of("ERROR", "28000",
                                "role \"" + role + "\" does not exist")));
                    }
                    String executor = CaptureInstaller.executorName(functions(), id);
                    try {
                        return connection.query(CaptureInstaller.executorRole(secret, functions(), executor, role))
                                .thenApply(_ -> executor);
                    } catch (IOException unreadable) {
                        return CompletableFuture.failedFuture(unreadable);
                    }
                }).whenComplete((_, _) -> connection.close()));
        return new RoleMaking(in, name);
    }

    /**
     * A role that is being made.
     *
     * @param in the session that makes it
     * @param name of the role, when it is there
     */
    private record RoleMaking(CompletableFuture<BackendConnection> in, CompletableFuture<String> name) {}

    private CompletableFuture<BackendConnection> confirmed(BackendConnection connection) {
        return confirm().handle((_, failed) -> {
            if (failed != null) {
                connection.abort();
                throw new CompletionException(failed);
            }
            return connection;
        });
    }

    private CompletableFuture<BackendConnection> connect(EventLoop loop, BackendSettings settings,
            CaptureInstaller.Role role) {
        return BackendConnection.connect(loop, settings)
                .thenCompose(connection -> connection.query("SHOW session_replication_role").handle((shown, failed) -> {
                    if (failed == null && role.replicationRole().equals(shown.value())) {
                        connection.onNotice(notifications::noticed);
                        return connection;
                    }
                    connection.abort();
                    throw new CompletionException(failed != null
                            ? cause(failed)
                            : new PostgresException(ErrorFields.of("FATAL", "28000", "role " + settings.user()
                                    + " is not as the node has made it")));
                }));
    }

    private static Throwable cause(Throwable failed) {
        return failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed;
    }

    /** Somebody has changed the roles that apply. */
    private CompletableFuture<Void> restoreRoles() {
        LOG.warn("the node's own roles at {} have been changed: making them anew", settings.address());
        try {
            return query(CaptureInstaller.roles(secret, functions())).thenAccept(_ -> {});
        } catch (IOException unreadable) {
            return CompletableFuture.failedFuture(unreadable);
        }
    }

    /**
     * Completes if connections that are established when this is called belong to the same life of the server as the
     * position that this engine began with; fails if the server has crashed or gone in between, and they must not be used.
     */
    public CompletableFuture<Void> confirm() {
        return query("SELECT 1").thenAccept(_ -> {});
    }

    @Override
    public void onBlocked(BlockedListener heard) {
        waits.onBlocked(heard);
    }

    /**
     * Sets who is asked whether a row's columns that have not changed may be left out of what travels: whether all nodes can make such changes. Until
     * it is set they may.
     */
    public void leaveOut(BooleanSupplier allowed) {
        leavesOut = allowed;
    }

    @Override
    public boolean leavesOut() {
        return leavesOut.getAsBoolean();
    }

    /**
     * Sets how long clients' code may keep an applier busy; half a minute and an hour until then.
     *
     * @param rows while rows are written, without what is added for their size
     * @param statement in a schema change or request that every node executes
     */
    public void limitTimes(Duration rows, Duration statement) {
        rowsTime = rows;
        statementTime = statement;
    }

    @Override
    public Duration rowsTime() {
        return rowsTime;
    }

    @Override
    public Duration statementTime() {
        return statementTime;
    }

    @Override
    public void end(int backendPid) {
        LOG.warn("ending server process {}, which has not told that what it was asked for is done", backendPid);
        terminate(backendPid);
    }

    private void terminate(int backendPid) {
        CompletableFuture<Void> _ = query("SELECT pg_catalog.pg_terminate_backend(" + backendPid + ")")
                .thenAccept(_ -> {}).exceptionally(failed -> {
                    LOG.warn("cannot end server process {}", backendPid, failed);
                    return null;
                });
    }

    @Override
    public void onLost(Runnable told) {
        lost.set(told);
        if (admin.isLost() && !closed) {
            connectionLost();
        }
    }

    private void connectionLost() {
        if (!closed) {
            lost.getAndSet(() -> {}).run();
        }
    }

    @Override
    public ScheduledFuture<?> watch(EventLoop loop, long position, int backendPid) {
        return waits.watch(loop, position, backendPid);
    }

    @Override
    public ScheduledFuture<?> watch(EventLoop loop, LocalTransaction waiter, int backendPid, BooleanSupplier waiting) {
        return waits.watch(loop, waiter, backendPid, waiting);
    }

    @Override
    public ScheduledFuture<?> watch(EventLoop loop, Applier waiter, int backendPid) {
        return waits.watch(loop, waiter, backendPid);
    }

    private static <T> T await(CompletableFuture<T> future) throws IOException, InterruptedException {
        try {
            return future.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof RuntimeException refused) {
                throw refused;
            }
            throw new IOException(String.valueOf(failed.getCause().getMessage()), failed.getCause());
        } catch (TimeoutException late) {
            throw new IOException("PostgreSQL did not answer within " + TIMEOUT, late);
        }
    }

    @Override
    public void close() {
        closed = true;
        builder.close();
        admin.close();
    }
}
