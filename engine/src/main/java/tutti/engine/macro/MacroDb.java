package tutti.engine.macro;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.JavaCall;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JdbcEngine;

/**
 * MacroDB: one primary and any number of secondaries of a database in the virtual machine, as one engine (MacroDDB, chapter
 * 3). Transactions that may change something run on the primary; what they changed goes to the secondaries
 * asynchronously, in the order of the commits, several positions in one transaction. Transactions that only read run on a
 * secondary.
 *
 * <p>
 * <b>One copy for the client.</b> A reading transaction gets a secondary that shows at least what the primary showed when
 * the transaction began, or the primary itself if there is none. Every secondary shows a prefix of the positions, because
 * commits reach its queue in their order ({@link tutti.core.spi.Engine}: one commit at a time), and it applies them in
 * that order. The position that readers need is raised <em>before</em> the primary is asked to commit, so that it is never
 * behind what the primary shows: whatever a client has been told is committed, and whatever it has seen at the primary, all
 * its later transactions see, wherever they run; and each sees a prefix. While the primary commits, readers that begin run
 * there, as no secondary can have the position yet.
 *
 * <p>
 * <b>Replicas on demand.</b> A new secondary is registered first, so that it gets every commit from then on, and is filled
 * then with a snapshot of the primary, which says which position it shows; what is in its queue up to there is skipped
 * ({@link JdbcEngine#copyTo}). Commits go on meanwhile.
 *
 * <p>
 * <b>Failures.</b> A secondary that cannot apply a change, or whose answer to a statement is not the primary's, is
 * dropped: transactions that read from it end there, later ones run elsewhere, nobody waits for it, and {@link Status} and
 * the log tell why. None is made in its place by itself, as the next one may fail alike: {@link #setSecondaries} does when
 * called. The engine fails with its primary only. Safe for use from any thread.
 */
public final class MacroDb implements ClientEngine {
    private static final Logger LOG = LoggerFactory.getLogger(MacroDb.class);

    /** Makes empty databases for secondaries. */
    @FunctionalInterface
    public interface Databases {
        /** A new and empty one, of the primary's kind. */
        EmbeddedDatabase create() throws SQLException;
    }

    /**
     * Bounds of a secondary's queue.
     *
     * @param batchPositionsMax most positions that it makes visible at once, at least 1
     * @param queueBytesMax bytes of changes that may wait for it, at least 1; beyond that, commits wait
     */
    public record Settings(int batchPositionsMax, long queueBytesMax) {
        /** 64 positions, 64 MiB. */
        public static final Settings DEFAULT = new Settings(64, 64L << 20);

        public Settings {
            if (batchPositionsMax < 1 || queueBytesMax < 1) {
                throw new IllegalArgumentException("batchPositionsMax " + batchPositionsMax + ", queueBytesMax "
                        + queueBytesMax);
            }
        }
    }

    /**
     * What an operator wants to know.
     *
     * @param position that the primary shows
     * @param secondaries positions that the secondaries show which can be read from
     * @param filling how many secondaries are being filled
     * @param readsAtSecondaries reading transactions that ran there
     * @param readsAtPrimary reading transactions that found no secondary new enough
     * @param dropped secondaries that failed and were dropped
     * @param lastFailure why the last of these was dropped; null if none was
     */
    public record Status(long position, List<Long> secondaries, int filling, long readsAtSecondaries,
            long readsAtPrimary, long dropped, @Nullable EngineFailure lastFailure) {}

    private final JdbcEngine primary;
    private final Databases databases;
    private final Settings settings;
    private final List<Secondary> secondaries = new CopyOnWriteArrayList<>();
    private final Set<MacroSession> sessions = ConcurrentHashMap.newKeySet();
    /** By the primary's, those of this engine. */
    private final Map<Applier, Applier> appliers = new ConcurrentHashMap<>();
    /** Held while commits are handed to the secondaries, and while a new one is registered. */
    private final ReentrantLock registration = new ReentrantLock();
    /** Held while their number is changed to what was asked for. */
    private final ReentrantLock resizing = new ReentrantLock();
    private final AtomicLong readsAtSecondaries = new AtomicLong();
    private final AtomicLong readsAtPrimary = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();
    private volatile @Nullable EngineFailure lastFailure;
    private volatile long position;
    /** The last position that the primary was asked to commit: it may show it, and never shows a later one. */
    private volatile long asked;

    @Override
    public JavaCall.Known procedures() {
        return primary.procedures();
    }

    private MacroDb(JdbcEngine primary, Databases databases, Settings settings) {
        this.primary = primary;
        this.databases = databases;
        this.settings = settings;
        this.position = primary.appliedPosition();
        this.asked = position;
    }

    /**
     * Opens a primary, and makes secondaries of it. Closes everything if it fails. Blocks.
     *
     * @param count how many secondaries to begin with, 0 or more
     */
    public static MacroDb open(EmbeddedDatabase primary, Databases secondaries, int count, Settings settings)
            throws SQLException {
        return open(JdbcEngine.open(primary), secondaries, count, settings);
    }

    /** Likewise, over a primary that has been opened; closes it with the others. */
    public static MacroDb open(JdbcEngine primary, Databases secondaries, int count, Settings settings)
            throws SQLException {
        MacroDb opened = new MacroDb(primary, secondaries, settings);
        boolean complete = false;
        try {
            for (int i = 0; i < count; i++) {
                opened.addSecondary();
            }
            complete = true;
            return opened;
        } finally {
            if (!complete) {
                opened.close();
            }
        }
    }

    /** Makes another secondary; it takes readers when it has caught up. Blocks until it is filled. */
    public void addSecondary() throws SQLException {
        Secondary added = new Secondary(settings, this::dropped);
        registration.lock();
        try {
            secondaries.add(added);
        } finally {
            registration.unlock();
        }
        boolean started = false;
        try {
            JdbcEngine copy = primary.copyTo(databases.create());
            copy.onBlocked((_, holder) -> endRead(holder));
            added.start(copy);
            started = true;
        } finally {
            if (!started) {
                // It would collect commits for ever.
                secondaries.remove(added);
                added.close();
            }
        }
    }

    /** Gives a secondary up, when its last reader has ended. Returns false if there is none. */
    public boolean removeSecondary() {
        Secondary removed;
        registration.lock();
        try {
            if (secondaries.isEmpty()) {
                return false;
            }
            removed = secondaries.removeLast();
        } finally {
            registration.unlock();
        }
        // Waits for what it is applying, which commits must not.
        removed.close();
        return true;
    }

    /**
     * Makes secondaries, or gives some up, until there are so many. Calls at the same time take turns. Blocks until those
     * that are made are filled.
     *
     * @param count 0 or more; each is one more copy of the database on the heap
     * @return how it is then; there are fewer if some have been dropped meanwhile
     * @throws SQLException if one cannot be filled; the message says why and how many there are, and those stay
     */
    public Status setSecondaries(int count) throws SQLException {
        if (count < 0) {
            throw new IllegalArgumentException("a database has 0 secondaries or more, not " + count);
        }
        resizing.lock();
        try {
            int before = secondaries.size();
            // Counted once: one that is dropped as soon as it has been made is not made again and again.
            for (int missing = count - before; missing > 0; missing--) {
                addSecondary();
            }
            for (int spare = before - count; spare > 0; spare--) {
                removeSecondary();
            }
            LOG.info("{} was asked for {} secondaries: it had {} and has {}", primary, count, before,
                    secondaries.size());
            return status();
        } catch (SQLException failed) {
            throw unfilled(count, failed, failed.getSQLState());
        } catch (RuntimeException failed) {
            throw unfilled(count, failed, "XX000");
        } finally {
            resizing.unlock();
        }
    }

    private SQLException unfilled(int count, Exception why, @Nullable String state) {
        return new SQLException("a secondary cannot be filled, so there are " + secondaries.size() + " instead of "
                + count + ": " + why.getMessage(), state, why);
    }

    private void dropped(Secondary failed, EngineFailure cause) {
        secondaries.remove(failed);
        lastFailure = cause;
        dropped.incrementAndGet();
        LOG.error("a secondary of {} cannot follow and is dropped, {} are left to read from: {} {}", primary,
                secondaries.size(), cause.sqlState(), cause.message());
    }

    /** What an operator wants to know. Cheap. */
    public Status status() {
        List<Long> shown = new ArrayList<>();
        int filling = 0;
        for (Secondary secondary : secondaries) {
            long at = secondary.position();
            if (at < 0) {
                filling++;
            } else {
                shown.add(at);
            }
        }
        // Looked at last: none of them is ahead of it.
        return new Status(position, List.copyOf(shown), filling, readsAtSecondaries.get(), readsAtPrimary.get(),
                dropped.get(), lastFailure);
    }

    /** The engine that changes are made on. */
    public JdbcEngine primary() {
        return primary;
    }

    @Override
    public ClientSession openSession(Supplier<? extends @Nullable LocalTransaction> current) throws SQLException {
        MacroSession session = new MacroSession(this, current);
        sessions.add(session);
        return session;
    }

    void closed(MacroSession session) {
        sessions.remove(session);
    }

    /** A secondary for a reading transaction that begins now, entered; or null if none is new enough. */
    @Nullable
    Secondary enterSecondary() {
        long needed = asked;
        while (true) {
            Secondary best = null;
            for (Secondary secondary : secondaries) {
                if (secondary.position() >= needed && (best == null || secondary.readers() < best.readers())) {
                    best = secondary;
                }
            }
            if (best == null) {
                readsAtPrimary.incrementAndGet();
                return null;
            }
            if (best.enter()) {
                readsAtSecondaries.incrementAndGet();
                return best;
            }
        }
    }

    /** A reader stands in the way of a schema change at its secondary. */
    private void endRead(LocalTransaction holder) {
        for (MacroSession session : sessions) {
            session.endRead(holder);
        }
    }

    // ------------------------------------------------------------------------------------------ commits

    /** The primary is about to be asked to commit this position. If that fails, readers run there until one succeeds. */
    void committing(long at) {
        asked = at;
    }

    /**
     * The primary has committed write sets up to this position; the next commit has not been asked for yet.
     *
     * @param done told when no secondary has too much to catch up with; does not block
     */
    void committed(long at, List<WriteSet> writes, Completion<Void> done) {
        if (nobodyFollows(at)) {
            done.succeeded(null);
        } else {
            hand(new Secondary.Entry(at, writes, null), () -> done.succeeded(null));
        }
    }

    /**
     * Whether a commit that the primary shows goes nowhere else. A secondary that is registered after this has looked is
     * filled after that, too, with a snapshot of the primary that has the commit.
     */
    private boolean nobodyFollows(long at) {
        if (!secondaries.isEmpty()) {
            return false;
        }
        position = at;
        return true;
    }

    private void hand(Secondary.Entry entry, Runnable done) {
        registration.lock();
        try {
            position = entry.position();
            for (Secondary secondary : secondaries) {
                secondary.add(entry);
            }
        } finally {
            registration.unlock();
        }
        if (secondaries.stream().allMatch(Secondary::hasRoom)) {
            done.run();
            return;
        }
        Thread.ofVirtual().name("tutti-secondaries-full").start(() -> {
            secondaries.forEach(Secondary::awaitRoom);
            done.run();
        });
    }

    /** An applier of the primary, whose commits go on to the secondaries. */
    private final class MacroApplier implements Applier {
        private final Applier inner = primary.openApplier();
        private List<WriteSet> applied = List.of();

        MacroApplier() {
            appliers.put(inner, this);
        }

        @Override
        public void apply(long at, List<WriteSet> writes, Completion<Void> done) {
            applied = List.copyOf(writes);
            inner.apply(at, writes, done);
        }

        @Override
        public void commit(long at, Completion<Void> done) {
            List<WriteSet> writes = applied;
            applied = List.of();
            committing(at);
            inner.commit(at, new Completion<>() {
                @Override
                public void succeeded(Void nothing) {
                    committed(at, writes, done);
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            });
        }

        @Override
        public void cancel() {
            inner.cancel();
        }

        @Override
        public void rollback(Runnable done) {
            inner.rollback(done);
        }

        @Override
        public void execute(long at, byte[] statement, Completion<ExecuteResult> done) {
            committing(at);
            inner.execute(at, statement, new Completion<>() {
                @Override
                public void succeeded(ExecuteResult result) {
                    if (result.tookEffect()) {
                        hand(new Secondary.Entry(at, List.of(), statement), () -> done.succeeded(result));
                    } else {
                        done.succeeded(result);
                    }
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            });
        }

        @Override
        public void skip(long at, EngineFailure why, Completion<ExecuteResult> done) {
            committing(at);
            inner.skip(at, why, new Completion<>() {
                @Override
                public void succeeded(ExecuteResult result) {
                    hand(new Secondary.Entry(at, List.of(), null), () -> done.succeeded(result));
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            });
        }

        @Override
        public void close() {
            inner.close();
            appliers.remove(inner);
        }
    }

    // ------------------------------------------------------------------------------------------ engine

    @Override
    public void appliedPosition(Completion<Long> done) {
        primary.appliedPosition(done);
    }

    @Override
    public void durablePosition(Completion<Long> done) {
        primary.durablePosition(done);
    }

    @Override
    public boolean writesForDurability() {
        return primary.writesForDurability();
    }

    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        primary.skippedPositions(done);
    }

    @Override
    public Applier openApplier() {
        return new MacroApplier();
    }

    /** The primary knows its own appliers, and the listener those of this engine. */
    @Override
    public void onBlocked(BlockedListener listener) {
        primary.onBlocked(new BlockedListener() {
            @Override
            public void blocked(long at, LocalTransaction holder) {
                listener.blocked(at, holder);
            }

            @Override
            public void blocked(LocalTransaction waiter, Set<LocalTransaction> holders) {
                listener.blocked(waiter, holders);
            }

            @Override
            public void waits(Applier waiter, Set<LocalTransaction> locals, Set<Applier> others) {
                listener.waits(outer(waiter), locals,
                        others.stream().map(MacroDb.this::outer).collect(Collectors.toSet()));
            }
        });
    }

    private Applier outer(Applier inner) {
        return appliers.getOrDefault(inner, inner);
    }

    @Override
    public void onLost(Runnable listener) {
        primary.onLost(listener);
    }

    @Override
    public boolean locksReferencedRows() {
        return primary.locksReferencedRows();
    }

    @Override
    public String toString() {
        return "MacroDB of " + primary;
    }

    @Override
    public void close() {
        for (MacroSession session : List.copyOf(sessions)) {
            session.close();
        }
        primary.close();
        for (Secondary secondary : secondaries) {
            secondary.close();
        }
    }
}
