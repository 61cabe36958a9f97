package tutti.engine.postgres;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.engine.postgres.IndexReports.State;
import tutti.engine.postgres.apply.IndexBuilds;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/**
 * Builds indexes beside the order, by the server's own CREATE INDEX CONCURRENTLY, so that nobody who writes to the table waits (docs/decisions/0220). An index has a name of ours and
 * is not valid until the statement has come to its position, which then only names it.
 *
 * <p>
 * <b>What is built is a cache.</b> Nothing depends on whether this node has it: it is dropped before what is made at a position could tell the difference, when a node starts,
 * and when nobody has asked for it for some time. What comes of a statement is decided at its position.
 *
 * <p>
 * <b>Rights.</b> The session is one of a role that may take the role of the client and do nothing else: reading a client's text can call code of his (a literal of an array of a domain is checked by it), which can
 * give the role back. Event triggers do not fire in it.
 * Besides, only indexes are built in which no code of clients' runs; that is found out from one of an empty table that looks the same. So it stays true of each table whether such code runs when its rows
 * are written. What stands in a client's text is said by the extended protocol, which takes one statement.
 *
 * <p>
 * Safe for use from any thread.
 */
public final class IndexBuilder implements IndexBuilds {
    /** Indexes that are being built at a time, of one database. */
    static final int BUILDS_MAX = 4;
    /** So many names are kept for errors, which may be on their way when an index is built no more. */
    private static final int NAMES_MAX = 64;
    /** So many of its names are tried for an index without one. */
    private static final int NAMES_TRIED_MAX = 100;
    /** So long is an index kept of which nobody has asked for anything. */
    static final Duration KEPT = Duration.ofMinutes(5);
    /** So long a build waits for one older transaction of the server's; then the index is built in line, which makes that give way, or waits for nobody. */
    static final Duration WAIT = Duration.ofMinutes(1);
    private static final String WAITS = "SET lock_timeout = '" + WAIT.toSeconds() + "s'";
    /** How a session calls itself. */
    static final String APPLICATION = "tutti index";
    private static final Logger LOG = LoggerFactory.getLogger(IndexBuilder.class);
    private static final String ASK = "build";
    private static final String FORGET = "forget";
    private static final int ASK_PARTS = 6;
    private static final int DIGEST_BYTES = 8;
    private static final String NOT_POSSIBLE = "55000";
    /** The client owns the table; it may still make no temporary tables. */
    private static final String NO_RIGHT = "42501";
    /**
     * Whether the server alone knows all that an index depends on: nothing that a client has made but tables and enums, or functions in C. Asked of all temporary ones of the session, since code of a
     * client's, which was called to make it, could have named it otherwise.
     */
    private static final String HARMLESS = """
            SELECT NOT EXISTS (SELECT FROM pg_depend d
                    LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
                    LEFT JOIN pg_proc p ON p.oid = CASE d.refclassid WHEN 'pg_proc'::regclass THEN d.refobjid ELSE o.oprcode::oid END
                    LEFT JOIN pg_language l ON l.oid = p.prolang
                    LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
                WHERE d.classid = 'pg_class'::regclass AND d.objid IN (SELECT oid FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'i')
                    AND d.refobjid >= 16384
                    AND d.refclassid NOT IN ('pg_class'::regclass, 'pg_collation'::regclass)
                    AND t.typtype IS DISTINCT FROM 'e' AND coalesce(l.lanname NOT IN ('c', 'internal'), true)
                    AND NOT (d.refclassid = 'pg_opclass'::regclass AND NOT EXISTS (SELECT FROM pg_opclass c
                        JOIN pg_amproc a ON a.amprocfamily = c.opcfamily JOIN pg_proc q ON q.oid = a.amproc JOIN pg_language m ON m.oid = q.prolang
                        WHERE c.oid = d.refobjid AND m.lanname NOT IN ('c', 'internal'))))""";

    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final Roles roles;
    private final IndexReports reports;
    /** Ends a server process. */
    private final IntConsumer end;
    private final Map<String, Build> builds = new HashMap<>();
    private final Set<Job> jobs = new HashSet<>();
    /** What indexes are to be called, by what they are called until then, in the order in which they have been asked for. */
    private final LinkedHashMap<String, String> names = new LinkedHashMap<>();
    /** There may be indexes of builds that are over. */
    private boolean leftovers;
    /** When those that are being dropped are gone. */
    private CompletableFuture<Void> cleared = CompletableFuture.completedFuture(null);
    private int stopped;
    private boolean closed;

    /**
     * Builds nothing yet.
     *
     * @param settings of a superuser, to the database
     * @param end ends a server process, given its id
     */
    IndexBuilder(EventLoopGroup loops, BackendSettings settings, Roles roles, IndexReports reports, IntConsumer end) {
        this.loops = loops;
        this.settings = settings;
        this.roles = roles;
        this.reports = reports;
        this.end = end;
    }

    /** The roles that build, each of which may take one role of clients' and do nothing else. */
    interface Roles {
        /** What makes the role that builds for another one, which has this name and object id. */
        String making(String role, String id) throws IOException;

        /** How that is to connect. */
        BackendSettings settings(String id);
    }

    /**
     * What an index is to be, as a CREATE INDEX says.
     *
     * @param unique whether it says so
     * @param name of the index; empty if it says none
     * @param table its name as it is written
     * @param rest what stands behind that
     */
    public record Definition(boolean unique, String name, String table, String rest) {}

    /** An index that is being built, was, or could not be. */
    private static final class Build {
        private final Statement statement;
        private final Definition definition;
        private final String hidden;
        private State state = State.BUILDING;
        private String index = "";
        private @Nullable ErrorFields failure;
        private long askedNanos = System.nanoTime();
        private @Nullable Job job;
        /** Nobody but it has an index of that name. */
        private boolean cleared;

        Build(Statement statement, Definition definition, String hidden) {
            this.statement = statement;
            this.definition = definition;
            this.hidden = hidden;
        }

        /** Whether it is being built, or was. */
        boolean lives() {
            return state == State.BUILDING || state == State.BUILT;
        }
    }

    /** The server refuses an index that looks the same. */
    private static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        Refused(Throwable cause) {
            super(cause);
        }
    }

    /** What a session does. */
    private final class Job {
        private final CompletableFuture<Void> over = new CompletableFuture<>();
        private @Nullable BackendConnection connection;
        private boolean ended;

        /** Ends it, whatever it does. With the lock. */
        void end() {
            ended = true;
            BackendConnection open = connection;
            if (open != null) {
                end.accept(open.processId());
            }
        }
    }

    // ------------------------------------------------------------------------------------------ what is ordered

    /** What names the build for a statement in this database. */
    public String build(byte[] statement) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(settings.database().getBytes(StandardCharsets.UTF_8));
            digest.update((byte) 0);
            return HexFormat.of().formatHex(digest.digest(statement), 0, DIGEST_BYTES);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** What asks all nodes to build an index for a statement, or says that somebody still waits for it. */
    public byte[] asking(byte[] statement, Definition definition) {
        return Statement.build(Statement.of(statement), List.of(ASK, build(statement), definition.unique() ? "u" : "",
                definition.name(), definition.table(), definition.rest())).toBytes();
    }

    /** What has all nodes give it up. */
    public byte[] forgetting(byte[] statement) {
        return Statement.build(Statement.of(statement), List.of(FORGET, build(statement))).toBytes();
    }

    /** What nodes tell. */
    public IndexReports reports() {
        return reports;
    }

    /** Why this node could not build it, if it has told that it could not; null if it has forgotten. */
    public @Nullable ErrorFields failure(String build) {
        synchronized (this) {
            Build failed = builds.get(build);
            return failed == null ? null : failed.failure;
        }
    }

    @Override
    public void reached(Statement statement) {
        List<String> parts = statement.texts();
        switch (parts.getFirst()) {
            case IndexReports.REPORT -> reports.reached(parts);
            case FORGET -> forget(parts.get(1));
            case ASK -> {
                if (parts.size() == ASK_PARTS) {
                    asked(parts.get(1), statement, new Definition(!parts.get(2).isEmpty(), parts.get(3), parts.get(4),
                            parts.get(5)));
                }
            }
            default -> LOG.warn("what is said of an index is not understood: {}", parts.getFirst());
        }
    }

    private void asked(String name, Statement statement, Definition definition) {
        Build begun = null;
        State state;
        synchronized (this) {
            if (closed) {
                return;
            }
            Build build = builds.get(name);
            if (build == null) {
                build = new Build(statement, definition, CatalogQuery.BUILT_PREFIX + name);
                builds.put(name, build);
                names.putLast(build.hidden, definition.name());
                if (names.size() > NAMES_MAX) {
                    names.pollFirstEntry();
                }
                if (stopped > 0 || jobs.size() >= BUILDS_MAX) {
                    build.state = State.FAILED;
                    build.failure = busy();
                } else {
                    begun = build;
                    build.job = begin();
                }
            }
            build.askedNanos = System.nanoTime();
            state = build.state;
        }
        loops.next().schedule(() -> expire(name), KEPT.toNanos(), TimeUnit.NANOSECONDS);
        reports.tell(name, state);
        if (begun != null) {
            Build now = begun;
            // one of the same name may be there
            CompletableFuture<Void> _ = clear().thenRun(() -> run(name, now));
        }
    }

    private static ErrorFields busy() {
        return notPossible("this node builds other indexes, or changes its schema");
    }

    private static ErrorFields notPossible(String why) {
        return ErrorFields.of("ERROR", NOT_POSSIBLE, why);
    }

    private void expire(String name) {
        synchronized (this) {
            Build build = builds.get(name);
            if (build == null || System.nanoTime() - build.askedNanos < KEPT.toNanos()) {
                return;
            }
        }
        LOG.info("nobody asks any more for an index that was built");
        forget(name);
    }

    private void forget(String name) {
        synchronized (this) {
            Build build = builds.remove(name);
            if (build == null) {
                return;
            }
            if (build.job != null) {
                build.job.end();
            }
            leftovers |= build.lives();
        }
        clear();
    }

    // ------------------------------------------------------------------------------------------ names

    /**
     * What the server would call an index whose definition says no name, if it made it now: it makes them, one after the other, of an empty temporary table that has the name and the columns of the
     * definition's, until one has a name that no relation in the table's schema has, and no index that is being built there is to have.
     *
     * @param statement whose rights and settings it is made with
     * @return the name; empty if the server refuses such an index. Fails if it cannot be told
     */
    public CompletableFuture<String> name(byte[] statement, Definition definition) {
        Statement of = Statement.of(statement);
        Job job;
        String others;
        synchronized (this) {
            if (closed || stopped > 0 || jobs.size() >= BUILDS_MAX) {
                return CompletableFuture.failedFuture(new PostgresException(busy()));
            }
            job = begin();
            others = Stream.concat(Stream.of("(NULL::pg_catalog.text, NULL::pg_catalog.text)"),
                    builds.values().stream().filter(Build::lives).map(build -> "(" + Table.literal(build.hidden) + ", "
                            + Table.literal(build.definition.name()) + ")"))
                    .collect(Collectors.joining(", "));
        }
        return inSession(job, OwnSessions.superuser(settings, APPLICATION),
                connection -> makeRole(connection, of.role()))
                .thenCompose(id -> inSession(job, OwnSessions.plain(roles.settings(id), APPLICATION),
                        connection -> name(connection, of, definition, others)))
                .whenComplete((_, _) -> job.over.complete(null));
    }

    private static CompletableFuture<String> name(BackendConnection connection, Statement statement,
            Definition definition, String others) {
        return say(connection, beginning(statement))
                .thenCompose(_ -> connection.query("SELECT relname, relnamespace FROM pg_catalog.pg_class WHERE oid"
                        + " OPERATOR(pg_catalog.=) pg_catalog.to_regclass(" + Table.literal(definition.table()) + ")"))
                .thenCompose(found -> {
                    if (found.rows().isEmpty()) {
                        return CompletableFuture.completedFuture("");
                    }
                    String table = Table.quote(String.valueOf(found.rows().getFirst().get(0)));
                    String free = free(String.valueOf(found.rows().getFirst().get(1)), others);
                    return connection
                            .statement("CREATE TEMPORARY TABLE " + table + " (LIKE " + definition.table() + ")")
                            .thenCompose(_ -> free(connection,
                                    create(definition) + "ON pg_temp." + table + " " + definition.rest(), free,
                                    NAMES_TRIED_MAX));
                })
                .exceptionally(failed -> {
                    if (cause(failed) instanceof PostgresException refused && !refused.sqlState().equals(NO_RIGHT)
                            && !refused.sqlState().equals(NOT_POSSIBLE)) {
                        return "";
                    }
                    throw new CompletionException(cause(failed));
                });
    }

    /** Of the indexes of the session's temporary table, the name of one that is free in a schema, given which indexes that are being built are to be called what. */
    private static String free(String schema, String others) {
        return """
                SELECT x.relname FROM pg_catalog.pg_class x
                    WHERE x.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema() AND x.relkind OPERATOR(pg_catalog.=) 'i'
                        AND NOT EXISTS (SELECT FROM pg_catalog.pg_class t WHERE t.relnamespace OPERATOR(pg_catalog.=) %1$s
                            AND (t.relname OPERATOR(pg_catalog.=) x.relname OR EXISTS (SELECT FROM (VALUES %2$s) AS b (hidden, name)
                                WHERE b.hidden OPERATOR(pg_catalog.=) t.relname::pg_catalog.text
                                    AND b.name OPERATOR(pg_catalog.=) x.relname::pg_catalog.text)))"""
                .formatted(schema, others);
    }

    private static CompletableFuture<String> free(BackendConnection connection, String create, String free, int tries) {
        if (tries == 0) {
            return CompletableFuture.failedFuture(new PostgresException(notPossible("all its names are taken")));
        }
        return connection.statement(create).thenCompose(_ -> connection.query(free))
                .thenCompose(found -> found.rows().isEmpty()
                        ? free(connection, create, free, tries - 1)
                        : CompletableFuture.completedFuture(String.valueOf(found.value())));
    }

    // ------------------------------------------------------------------------------------------ building

    /** With the lock. */
    private Job begin() {
        Job job = new Job();
        jobs.add(job);
        CompletableFuture<Void> _ = job.over.whenComplete((_, _) -> {
            synchronized (this) {
                jobs.remove(job);
            }
        });
        return job;
    }

    /** Does something in a session of a job's; fails if that is to end. Completed when the session, and all that it held, is gone. */
    private <T> CompletableFuture<T> inSession(Job job, BackendSettings of,
            Function<BackendConnection, CompletableFuture<T>> work) {
        return BackendConnection.connect(loops.next(), of).thenCompose(connection -> {
            boolean unwanted;
            synchronized (this) {
                unwanted = job.ended || closed;
                job.connection = connection;
            }
            if (unwanted) {
                connection.abort();
            }
            return work.apply(connection).whenComplete((_, _) -> connection.close())
                    .handle((done, failed) -> connection.closed().thenCompose(_ -> failed == null
                            ? CompletableFuture.completedFuture(done)
                            : CompletableFuture.<T>failedFuture(failed)))
                    .thenCompose(Function.identity());
        });
    }

    private void run(String name, Build build) {
        Job job;
        synchronized (this) {
            build.cleared = true;
            job = build.job;
        }
        if (job == null) {
            throw new IllegalStateException("a build without a job");
        }
        LOG.info("building index {} of {} beside the order", build.definition.name(), build.definition.table());
        CompletableFuture<Void> _ = inSession(job, OwnSessions.superuser(settings, APPLICATION),
                connection -> makeRole(connection, build.statement.role()))
                .thenCompose(id -> inSession(job, OwnSessions.plain(roles.settings(id), APPLICATION),
                        connection -> build(connection, build)))
                .thenCompose(_ -> inSession(job, OwnSessions.superuser(settings, APPLICATION),
                        connection -> hold(connection, build)))
                .handle((index, failed) -> {
                    job.over.complete(null);
                    over(name, build, index, failed);
                    return null;
                });
    }

    /** Makes the role that builds for this one anew: this one may have been dropped, and made again under its name, since. In a session of its own, as others may have changed its rows. */
    private CompletableFuture<String> makeRole(BackendConnection connection, String role) {
        return connection.statement(WAITS)
                .thenCompose(_ -> connection.query("SELECT oid FROM pg_roles WHERE rolname = " + Table.literal(role)))
                .thenCompose(found -> {
                    String id = found.rows().isEmpty() ? null : found.value();
                    if (id == null) {
                        throw new PostgresException(notPossible("role \"" + role + "\" does not exist"));
                    }
                    try {
                        return connection.query(roles.making(role, id)).thenApply(_ -> id);
                    } catch (IOException unreadable) {
                        throw new UncheckedIOException(unreadable);
                    }
                });
    }

    /** Says statements by the extended protocol, one after the other. */
    private static CompletableFuture<?> say(BackendConnection connection, List<String> statements) {
        CompletableFuture<?> said = CompletableFuture.completedFuture(null);
        for (String statement : statements) {
            said = said.thenCompose(_ -> connection.statement(statement));
        }
        return said;
    }

    /** What begins a transaction with the rights and settings of a statement's client. */
    private static List<String> beginning(Statement statement) {
        String set = statement.settings().entrySet().stream()
                .filter(setting -> Statement.SETTINGS.contains(setting.getKey()))
                .map(setting -> "pg_catalog.set_config(" + Table.literal(setting.getKey()) + ", "
                        + Table.literal(setting.getValue()) + ", false)")
                .collect(Collectors.joining(", "));
        return List.of("SELECT true" + (set.isEmpty() ? "" : ", " + set), WAITS,
                "SET ROLE " + Table.quote(statement.role()), "BEGIN");
    }

    private static String create(Definition definition) {
        return definition.unique() ? "CREATE UNIQUE INDEX " : "CREATE INDEX ";
    }

    private static CompletableFuture<?> build(BackendConnection connection, Build build) {
        Definition definition = build.definition;
        List<String> statements = new ArrayList<>(beginning(build.statement));
        // what is found out of one that looks the same goes with its transaction, and so does the role that finds it out
        statements.add("CREATE TEMPORARY TABLE tutti_probe (LIKE " + definition.table() + ")");
        statements.add(create(definition) + "tutti_probe_i ON pg_temp.tutti_probe " + definition.rest());
        statements.add("RESET ROLE");
        statements.add("SET LOCAL search_path = pg_catalog, pg_temp");
        CompletableFuture<?> made = say(connection, statements);
        return made.thenCompose(_ -> connection.query(HARMLESS)).handle((harmless, failed) -> {
            if (failed != null) {
                throw cause(failed) instanceof PostgresException refused && !refused.sqlState().equals(NO_RIGHT)
                        ? new Refused(failed)
                        : new CompletionException(cause(failed));
            } else if (!"t".equals(harmless.value())) {
                throw new PostgresException(notPossible("code of a user's is called in it"));
            }
            return null;
        }).thenCompose(_ -> connection.query("ROLLBACK"))
                .thenCompose(_ -> connection.statement(create(definition) + "CONCURRENTLY " + build.hidden + " ON "
                        + definition.table() + " " + definition.rest()));
    }

    /** Has an index that has been built be not valid, and finds it. */
    private static CompletableFuture<String> hold(BackendConnection connection, Build build) {
        return connection.query("UPDATE pg_index SET indisvalid = false FROM tutti.built b"
                + " WHERE pg_index.indexrelid = b.indexrelid AND b.name = " + Table.literal(build.hidden)
                + " AND b.valid RETURNING b.indexrelid")
                .thenApply(found -> found.rows().isEmpty() ? "" : String.valueOf(found.value()));
    }

    private void over(String name, Build build, @Nullable String index, @Nullable Throwable failed) {
        Throwable cause = failed == null ? null : cause(failed);
        State end = cause instanceof Refused ? State.REFUSED : State.FAILED;
        boolean wanted;
        synchronized (this) {
            build.job = null;
            wanted = builds.get(name) == build;
            if (cause == null && index != null && !index.isEmpty()) {
                build.index = index;
                if (wanted) {
                    build.state = State.BUILT;
                }
            } else {
                build.failure = cause instanceof PostgresException refused && !refused.sqlState().equals(NO_RIGHT)
                        ? named(refused.fields()).with('P', null)
                        : notPossible(cause == null ? "the index is not there" : String.valueOf(cause.getMessage()));
                leftovers = true;
            }
        }
        if (!wanted) {
            clear();
            return;
        }
        LOG.info("index {} of {}: {}", build.definition.name(), build.definition.table(),
                build.failure == null ? "built, and waits for its position" : build.failure);
        if (build.failure == null) {
            reports.tell(name, State.BUILT);
        } else {
            CompletableFuture<Void> _ = clear().thenRun(() -> {
                synchronized (this) {
                    build.state = end;
                }
                reports.tell(name, end);
            });
        }
    }

    private static Throwable cause(Throwable failed) {
        return failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed;
    }

    /** An error as if every index that is being built had its name. */
    public ErrorFields named(ErrorFields error) {
        if (error.fields().values().stream().noneMatch(text -> text.contains(CatalogQuery.BUILT_PREFIX))) {
            return error;
        }
        Map<Character, String> fields = new HashMap<>(error.fields());
        synchronized (this) {
            names.forEach((hidden, name) -> fields.replaceAll((_, text) -> text.replace(hidden, name)));
        }
        return new ErrorFields(fields);
    }

    // ------------------------------------------------------------------------------------------ for appliers

    @Override
    public boolean any() {
        synchronized (this) {
            return leftovers || !jobs.isEmpty() || builds.values().stream().anyMatch(Build::lives);
        }
    }

    @Override
    public @Nullable Built built(byte[] statement) {
        synchronized (this) {
            if (builds.isEmpty()) {
                return null;
            }
            String name = build(statement);
            Build build = builds.get(name);
            if (build != null && build.state == State.BUILT) {
                return new Built(build.index, build.definition.name());
            }
            leftovers |= build != null && build.lives();
            builds.remove(name);
            return null;
        }
    }

    @Override
    public void named(byte[] statement) {
        synchronized (this) {
            builds.remove(build(statement));
        }
    }

    @Override
    public CompletableFuture<Void> stop() {
        List<CompletableFuture<Void>> running;
        synchronized (this) {
            stopped++;
            leftovers |= builds.values().stream().anyMatch(Build::lives);
            for (Map.Entry<String, Build> each : builds.entrySet()) {
                Build build = each.getValue();
                if (build.lives()) {
                    // what is told of it later is told of this one: it is not built again for who waits
                    Build given = new Build(build.statement, build.definition, build.hidden);
                    given.state = State.FAILED;
                    given.failure = notPossible("the schema has been changed meanwhile");
                    given.askedNanos = build.askedNanos;
                    each.setValue(given);
                    reports.tell(each.getKey(), State.FAILED);
                }
            }
            jobs.forEach(Job::end);
            running = jobs.stream().map(job -> job.over).toList();
        }
        return CompletableFuture.allOf(running.toArray(CompletableFuture<?>[]::new));
    }

    @Override
    public void resume() {
        synchronized (this) {
            stopped--;
        }
        clear();
    }

    /** Drops what is left of builds that are over, without making anybody wait. Completed when that has been tried. */
    private CompletableFuture<Void> clear() {
        Job job;
        synchronized (this) {
            if (closed || stopped > 0 || !leftovers) {
                return cleared;
            }
            leftovers = false;
            job = begin();
            cleared = CompletableFuture.allOf(cleared, job.over);
        }
        CompletableFuture<Void> tried = new CompletableFuture<>();
        CompletableFuture<Void> _ = inSession(job, OwnSessions.superuser(settings, APPLICATION),
                connection -> connection.query(
                        "SELECT name, pg_catalog.format('DROP INDEX CONCURRENTLY IF EXISTS %s', indexrelid::regclass)"
                                + " FROM tutti.built")
                        .thenCompose(found -> {
                            CompletableFuture<?> dropped = CompletableFuture.completedFuture(null);
                            for (List<@Nullable String> row : found.rows()) {
                                if (isOver(String.valueOf(row.get(0)))) {
                                    dropped = dropped.thenCompose(_ -> connection.query(String.valueOf(row.get(1))));
                                }
                            }
                            return dropped;
                        }))
                .handle((_, failed) -> {
                    synchronized (this) {
                        leftovers |= failed != null;
                    }
                    job.over.complete(null);
                    tried.complete(null);
                    return null;
                });
        return tried;
    }

    /** Whether an index belongs to no build that goes on, or has come to its end. */
    private boolean isOver(String hidden) {
        synchronized (this) {
            return builds.values().stream()
                    .noneMatch(build -> build.hidden.equals(hidden) && build.cleared
                            && (build.job != null || build.state == State.BUILT));
        }
    }

    /** Builds nothing any more. What is there is dropped when the engine is opened again. */
    void close() {
        synchronized (this) {
            closed = true;
            jobs.forEach(job -> {
                if (job.connection != null) {
                    job.connection.abort();
                }
            });
        }
    }
}
