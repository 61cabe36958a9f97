package tutti.engine.postgres.databases;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.BackendSettings;

/**
 * The databases of one PostgreSQL server as a replica's engine: the configured one, and those that clients have made by CREATE DATABASE
 * (docs/decisions/0179). A transaction is of one database, and records its position there.
 *
 * <p>
 * <b>The highest position is the engine's.</b> Positions are committed in their order, one at a time, and all databases of a server write one log. A
 * crash loses a suffix of that log. So whichever database has recorded the highest position that is left: all before it is there, in every
 * database. Nobody has to advance the positions of databases that nobody writes to, and no position is there in one database and missing before
 * it in another.
 *
 * <p>
 * What is of a database that has been dropped changes nothing: that is a fact of the order, and so the same at all nodes.
 *
 * <p>
 * Safe for use from any thread.
 */
public final class ServerEngine implements Engine {
    /** Most databases besides the configured one: each takes a connection, and is asked whenever the order's log is cut. */
    public static final int DATABASES_MAX = 32;
    /** Most databases in which an applier, or an executor, keeps a connection at a time. */
    public static final int OPENED_MAX = 1 + OfDatabases.OTHERS_MAX;
    private final PostgresEngine configured;
    private final String configuredName;
    private final Opener opener;
    private final Map<Long, Member> members = new ConcurrentHashMap<>();
    private final Set<Long> away = ConcurrentHashMap.newKeySet();
    private final DatabaseChanges changes;
    /** Of appliers of one database, those that the node knows. */
    private final Map<Applier, Applier> known = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable BlockedListener> listener = new AtomicReference<>();
    private final AtomicReference<Runnable> lost = new AtomicReference<>(() -> {});

    /** Opens the engine of one database. */
    @FunctionalInterface
    public interface Opener {
        /**
         * Installs capture in a database of the server, and opens it. Blocks.
         *
         * @param beside the engine of the configured database
         * @throws IOException if it cannot be opened
         */
        PostgresEngine open(BackendSettings settings, PostgresEngine beside) throws IOException, InterruptedException;
    }

    /**
     * A database that the cluster has made.
     *
     * @param id the position at which it was made
     */
    public record Member(long id, String name, PostgresEngine engine) {}

    /**
     * Opens all databases that the cluster has made. Blocks.
     *
     * @param configured opened; closed with this engine
     * @param settings of a superuser, to the configured database
     * @throws IOException if one cannot be opened
     */
    public ServerEngine(EventLoopGroup loops, BackendSettings settings, PostgresEngine configured, Opener opener)
            throws IOException, InterruptedException {
        this.configured = configured;
        this.configuredName = settings.database();
        this.opener = opener;
        this.changes = new DatabaseChanges(loops, settings, this);
        boolean opened = false;
        try {
            for (DatabaseChanges.Listed each : changes.open()) {
                open(each.id(), each.name(), settings.inDatabase(each.name()));
            }
            opened = true;
        } finally {
            if (!opened) {
                closeOthers();
            }
        }
    }

    /** Opens a database that has been made. Blocks. */
    void open(long id, String name, BackendSettings settings) throws IOException, InterruptedException {
        PostgresEngine engine = opener.open(settings, configured);
        BlockedListener heard = listener.get();
        if (heard != null) {
            engine.onBlocked(heard);
        }
        engine.onLost(this::lost);
        Member before = members.put(id, new Member(id, name, engine));
        away.remove(id);
        if (before != null) {
            before.engine().close();
        }
    }

    /** Closes a database's engine until another one is opened; what is to be done there meanwhile is the {@linkplain #absent trouble} of this node. Blocks. */
    void leave(long id) {
        away.add(id);
        forget(id);
    }

    /** Why nothing can be done in a database that has no engine. */
    EngineFailure absent(long database) {
        return away.contains(database) || of(database) != null
                ? new EngineFailure("57P03", "the database is being renamed, or could not be opened after that",
                        EngineFailure.Kind.TROUBLE)
                : new EngineFailure("3D000", "the database has been dropped meanwhile", false);
    }

    /** A database is about to be dropped. */
    void forget(long id) {
        Member gone = members.remove(id);
        if (gone != null) {
            gone.engine().close();
        }
    }

    /** The database of that name, if it is one that the cluster has made. From any thread. */
    public @Nullable Member member(String name) {
        return members.values().stream().filter(each -> each.name().equals(name)).findFirst().orElse(null);
    }

    /** Those that the cluster has made. From any thread. */
    public List<Member> made() {
        return members.values().stream().sorted((one, other) -> one.name().compareTo(other.name())).toList();
    }

    /** Whether this is the engine of a database that is there. From any thread. */
    public boolean has(PostgresEngine engine) {
        return all().contains(engine);
    }

    PostgresEngine configured() {
        return configured;
    }

    /** The engine of a database; null if it has been dropped. */
    @Nullable
    PostgresEngine of(long database) {
        if (database == DatabaseTag.CONFIGURED) {
            return configured;
        }
        Member member = members.get(database);
        return member == null ? null : member.engine();
    }

    DatabaseChanges changes() {
        return changes;
    }

    /** Those who listen hear of an applier that the node knows, and not of that of one database. */
    void known(Applier inner, Applier outer) {
        known.put(inner, outer);
    }

    void unknown(Applier inner) {
        known.remove(inner);
    }

    private List<PostgresEngine> all() {
        List<PostgresEngine> all = new ArrayList<>(List.of(configured));
        members.values().forEach(each -> all.add(each.engine()));
        return all;
    }

    @Override
    public void appliedPosition(Completion<Long> done) {
        highest(Engine::appliedPosition, done);
    }

    /** What survives in one database survives with all that was committed before, in whichever: they write one log. */
    @Override
    public void durablePosition(Completion<Long> done) {
        highest(Engine::durablePosition, done);
    }

    private void highest(BiConsumer<Engine, Completion<Long>> question, Completion<Long> done) {
        List<CompletableFuture<Long>> answers = all().stream().map(engine -> {
            CompletableFuture<Long> answer = new CompletableFuture<>();
            question.accept(engine, new Completion<>() {
                @Override
                public void succeeded(Long position) {
                    answer.complete(position);
                }

                @Override
                public void failed(EngineFailure failure) {
                    answer.completeExceptionally(new Unanswered(failure));
                }
            });
            return answer;
        }).toList();
        CompletableFuture<Void> _ = CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
                .handle((_, failed) -> {
                    if (failed == null) {
                        done.succeeded(answers.stream().mapToLong(CompletableFuture::resultNow).max().orElseThrow());
                    } else {
                        done.failed(answers.stream().filter(CompletableFuture::isCompletedExceptionally)
                                .map(CompletableFuture::exceptionNow).map(ServerEngine::failure).findFirst()
                                .orElseThrow());
                    }
                    return null;
                });
    }

    private static EngineFailure failure(Throwable failed) {
        return failed instanceof Unanswered unanswered
                ? unanswered.failure
                : new EngineFailure("XX000", String.valueOf(failed), EngineFailure.Kind.TROUBLE);
    }

    private static final class Unanswered extends Exception {
        private static final long serialVersionUID = 1;
        private final transient EngineFailure failure;

        Unanswered(EngineFailure failure) {
            super(failure.message());
            this.failure = failure;
        }
    }

    /** They are all recorded in the configured database. */
    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        configured.skippedPositions(done);
    }

    @Override
    public Applier openApplier() {
        return new ServerApplier(this);
    }

    @Override
    public Executor openExecutor() {
        return new ServerExecutor(this);
    }

    @Override
    public void onBlocked(BlockedListener heard) {
        BlockedListener translated = new Translated(heard);
        listener.set(translated);
        all().forEach(engine -> engine.onBlocked(translated));
    }

    /** Names the appliers that the node knows. */
    private final class Translated implements BlockedListener {
        private final BlockedListener heard;

        Translated(BlockedListener heard) {
            this.heard = heard;
        }

        @Override
        public void blocked(long position, LocalTransaction holder) {
            heard.blocked(position, holder);
        }

        @Override
        public void blocked(LocalTransaction waiter, Set<LocalTransaction> holders) {
            heard.blocked(waiter, holders);
        }

        @Override
        public void waits(Applier waiter, Set<LocalTransaction> locals, Set<Applier> appliers) {
            Applier outer = known.get(waiter);
            if (outer != null) {
                heard.waits(outer, locals, outer(appliers));
            }
        }

        private Set<Applier> outer(Collection<Applier> inner) {
            return inner.stream().map(each -> known.getOrDefault(each, each)).collect(Collectors.toSet());
        }
    }

    @Override
    public void onLost(Runnable told) {
        lost.set(told);
        all().forEach(engine -> engine.onLost(this::lost));
    }

    /** The node begins anew. */
    void lost() {
        lost.getAndSet(() -> {}).run();
    }

    @Override
    public AbortReason.@Nullable Promised promised(KeySet keys) {
        AbortReason.Promised met = configured.promised(keys);
        for (Member each : members.values()) {
            if (met == null) {
                met = each.engine().promised(keys.salted(DatabaseTag.salt(each.id())));
            }
        }
        return met;
    }

    @Override
    public boolean together(WriteSet one, WriteSet other) {
        return DatabaseTag.database(one.changes()) == DatabaseTag.database(other.changes());
    }

    @Override
    public Set<Long> changedTables(WriteSet writes) {
        long salt = DatabaseTag.salt(DatabaseTag.database(writes.changes()));
        return configured.changedTables(DatabaseTag.content(writes)).stream().map(table -> table ^ salt)
                .collect(Collectors.toSet());
    }

    /** Those of another database than the configured one have its name before theirs, as a {@link DatabasesView} has it, and its salt in their keys. */
    @Override
    public void preparePlacement(List<String> tables, Set<Integer> keepers, Completion<PlacementPlan> done) {
        List<NamedTable> named = tables.stream().map(NamedTable::of).toList();
        Set<String> databases = named.stream().map(NamedTable::database)
                .map(name -> name == null ? configuredName : name).collect(Collectors.toCollection(TreeSet::new));
        if (databases.size() > 1) {
            done.failed(
                    new EngineFailure("0A000", "tables of one database are placed together: give a command for each of "
                            + String.join(", ", databases), false));
            return;
        }
        List<String> within = named.stream().map(NamedTable::table).toList();
        String database = databases.iterator().next();
        if (database.equals(configuredName)) {
            configured.preparePlacement(within, keepers, done);
            return;
        }
        Member member = member(database);
        if (member == null) {
            done.failed(new EngineFailure("3D000", "the cluster has made no database \"" + database + '"', false));
        } else {
            member.engine().preparePlacement(within, keepers, new Completion<>() {
                @Override
                public void succeeded(PlacementPlan plan) {
                    done.succeeded(tagged(member, plan));
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            });
        }
    }

    private static PlacementPlan tagged(Member member, PlacementPlan plan) {
        long salt = DatabaseTag.salt(member.id());
        SortedMap<String, Long> tables = new TreeMap<>();
        plan.tables().forEach((name, key) -> tables.put(Table.quote(member.name()) + '.' + name, key ^ salt));
        return new PlacementPlan(tables, DatabaseTag.tag(member.id(), plan.statement()), plan.keys().salted(salt));
    }

    private void closeOthers() {
        members.values().forEach(each -> each.engine().close());
    }

    @Override
    public void close() {
        closeOthers();
        configured.close();
    }
}
