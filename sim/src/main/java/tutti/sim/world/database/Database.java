package tutti.sim.world.database;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.copy.CopySource;
import tutti.runtime.Directory;
import tutti.sim.disk.Journal;
import tutti.sim.fault.FaultKind;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * A database server on a simulated host: rows with all their versions, locks, and commits that are durable some time later.
 * Nodes reach it by an {@link #open engine}. When it goes down, locks and open transactions are gone, and so are the last
 * commits that were not on disk; what remains is a prefix. Writes are kept with the transaction until it commits, so what
 * is read is always committed.
 *
 * <p>
 * All calls and callbacks are events of its host.
 */
public final class Database {
    private static final Label LOCK = Label.of("database", "lock granted");
    private static final Label ANSWER = Label.of("database", "answer");
    private static final Label APPLY = Label.of("database", "apply");
    private static final Label COMMIT = Label.of("database", "commit");
    private static final Label FLUSH = Label.of("database", "flush");
    private static final Label LOOK = Label.of("database", "look");
    private static final Label STATE = Label.of("database", "state");
    private static final int COMMIT_RECORD_BYTES = 64;
    /** How often the database is asked for whom something waits, and how long it waits at most for an end to be told of. */
    static final long LOOK_NANOS = 4 * Nanos.MILLI;
    /** Of the failures of commits, those of which the commit has worked all the same. */
    private static final double ANSWERS_LOST = 0.5;
    /** Of commits whose server process is ended, those that were made before. */
    private static final double COMMITTED = 0.5;

    /**
     * How long things take.
     *
     * @param apply of a write set, or execution of a whole request
     * @param commit of one transaction
     * @param flush until a commit is written to disk
     * @param answer of a question, or of a request to roll back
     */
    public record Timing(Distribution apply, Distribution commit, Distribution flush, Distribution answer) {}

    private record Commit(SimEngine engine, Runnable made, Runnable dropped) {}

    private final Host host;
    private final EngineKind kind;
    private final Timing timing;
    private final DatabaseLog log;
    private final RandomStream random;
    private final Journal<Long> journal;
    private final Store store = new Store();
    private final List<SimEngine> engines = new ArrayList<>();
    private final ArrayDeque<Runnable> hung = new ArrayDeque<>();
    private final List<Runnable> awaitingEnds = new ArrayList<>();
    private final Set<Commit> underWay = new LinkedHashSet<>();
    /** Positions committed since the last were written. */
    private final List<Long> unwritten = new ArrayList<>();
    private final TreeSet<Long> skipped = new TreeSet<>();
    private final Set<TransactionId> undertaken = new HashSet<>();
    private final Locks locks;
    private final Images images;
    private final LocalTables founding;
    /** By the position that placed tables last. */
    private final TreeMap<Long, TablePlacement> placements = new TreeMap<>();
    private LocalTables kept;
    /** Number of the copy that it has begun with, and up to where that went; 0 if with none. */
    private long image;
    private long imageEnd;
    private long life;
    private boolean hangs;
    private boolean refuses;
    private boolean flushing;
    private boolean full;
    private double abortRate;
    private Distribution commitDelay = Distribution.ZERO;
    private Predicate<TransactionId> refusedHere = _ -> false;
    private final Map<Integer, Predicate<TransactionId>> refusedFrom = new TreeMap<>();
    private long durable;
    private final Map<FaultKind, Long> happened = new EnumMap<>(FaultKind.class);

    /** An empty database that nobody copies. */
    public Database(Host host, EngineKind kind, Timing timing, DatabaseLog log) {
        this(host, kind, timing, log, new Images(), LocalTables.ALL);
    }

    /**
     * An empty database.
     *
     * @param images of the databases of its world
     * @param kept which tables it keeps in the beginning
     */
    public Database(Host host, EngineKind kind, Timing timing, DatabaseLog log, Images images,
            LocalTables kept) {
        this.founding = kept;
        this.kept = kept;
        this.images = images;
        this.host = host;
        this.kind = kind;
        this.timing = timing;
        this.log = log;
        this.random = host.random("database");
        this.journal = new Journal<>(host.disk(), "database commits");
        this.locks = new Locks(granted -> later(0, LOCK, granted));
    }

    // ------------------------------------------------------------------------------------------ lives

    /** Begins a life of the host: what was not durable is gone. */
    public void boot() {
        engines.clear();
        begin();
    }

    private void begin() {
        life++;
        locks.forget();
        hung.clear();
        awaitingEnds.clear();
        underWay.clear();
        unwritten.clear();
        takePlaced();
        List<Long> commits = journal.recover();
        // An old copy of the files may tell of what is gone since the server has begun with an even older one: then it is like that one.
        Long held = commits.isEmpty() ? null : store.ends().floor(commits.getLast());
        long recovered = held == null ? imageEnd : held;
        store.cut(recovered);
        placements.tailMap(recovered, false).clear();
        keep();
        skipped.tailSet(recovered, false).clear();
        durable = Math.min(durable, recovered);
        flush();
    }

    /** Begins with the copy that was put in its place, if there is one that it has not begun with yet. */
    private void takePlaced() {
        Images.Image placed = images.placed(host.disk());
        long number = placed == null ? 0 : placed.number();
        if (number == image) {
            return;
        }
        image = number;
        imageEnd = placed == null ? 0 : placed.store().visible();
        store.become(placed == null ? new Store() : placed.store());
        placements.clear();
        placements.putAll(placed == null ? Map.of() : placed.placed());
        keep();
        store.keep(kept);
        skipped.clear();
        skipped.addAll(placed == null ? Set.of() : placed.skipped());
        durable = imageEnd;
        journal.clear();
    }

    /** Its files may be others than before; nobody uses it. */
    public void reopen() {
        boot();
    }

    /**
     * Writes a copy of what is visible now, for another node. Blocks.
     *
     * @param into an empty directory
     */
    public CopySource.Copy copy(Directory into) throws IOException {
        return images.write(store, skipped(), placements, into);
    }

    /** The server dies and is started again at once: whoever uses it is told that it was lost. */
    public void restart() {
        if (host.state() == Host.State.DOWN) {
            return;
        }
        happens(FaultKind.ENGINE_DOWN);
        List<SimEngine> lost = List.copyOf(engines);
        engines.clear();
        begin();
        lost.forEach(SimEngine::lost);
    }

    /**
     * Likewise, with an old copy of its files in their place.
     *
     * @return up to which position the copy goes
     */
    public long restartFromCopy() {
        if (host.state() == Host.State.DOWN) {
            return durable;
        }
        happens(FaultKind.ENGINE_OLD_CHECKPOINT);
        NavigableSet<Long> checkpoints = store.ends().headSet(durable, true);
        long position = checkpoints.isEmpty() ? 0 : random.pick(List.copyOf(checkpoints));
        journal.append(position, COMMIT_RECORD_BYTES);
        journal.sync(() -> {});
        restart();
        return position;
    }

    /**
     * A node connects.
     *
     * @return null if connections are refused
     */
    public @Nullable SimEngine open() {
        if (refuses) {
            happens(FaultKind.ENGINE_DOWN);
            return null;
        }
        SimEngine engine = new SimEngine(this);
        engines.add(engine);
        return engine;
    }

    void closed(SimEngine engine) {
        engines.remove(engine);
    }

    // ------------------------------------------------------------------------------------------ faults

    /** Sets whether nobody can connect; those who have are served. */
    public void setRefuses(boolean refused) {
        refuses = refused;
    }

    /** How often a fault of a kind has done something here so far. */
    public long happened(FaultKind kind) {
        return happened.getOrDefault(kind, 0L);
    }

    private void happens(FaultKind kind) {
        happened.merge(kind, 1L, Long::sum);
    }

    /** Sets whether nothing is done; when it goes on, everything is. */
    public void setHangs(boolean still) {
        hangs = still;
        if (host.state() == Host.State.DOWN) {
            hung.clear();
        }
        while (!hangs && !hung.isEmpty()) {
            hung.remove().run();
        }
    }

    /** Sets with which probability transactions are aborted for no good reason, and answers of commits are lost. */
    public void setAbortRate(double rate) {
        abortRate = rate;
    }

    /** Sets whether there is no room to apply anything. */
    public void setFull(boolean noRoom) {
        full = noRoom;
    }

    /** Whether there is no room to apply what is asked for now. */
    boolean isFull() {
        if (full) {
            happens(FaultKind.ENGINE_FULL);
        }
        return full;
    }

    /** Sets whose effects cannot be made here. */
    public void setRefusedHere(Predicate<TransactionId> refused) {
        refusedHere = refused;
    }

    /** Sets whose changes, which a node has executed, cannot be made here. */
    public void setRefusedFrom(int node, Predicate<TransactionId> refused) {
        refusedFrom.put(node, refused);
    }

    /** Whether a fault has it that a transaction's effects cannot be made here. */
    boolean refuses(TransactionId transaction) {
        boolean here = refusedHere.test(transaction);
        if (here) {
            happens(FaultKind.ENGINE_REFUSES);
        }
        return here;
    }

    /** The same, of changes that another node's engine has made. */
    boolean refusesChanges(TransactionId transaction) {
        Predicate<TransactionId> of = refusedFrom.get(transaction.node());
        boolean own = of != null && of.test(transaction);
        if (own) {
            happens(FaultKind.OWN_ROWS);
        }
        return own || refuses(transaction);
    }

    /** Sets how much longer commits take. */
    public void setCommitDelay(Distribution delay) {
        commitDelay = delay;
    }

    // ------------------------------------------------------------------------------------------ what it holds

    /** A hash of the whole state; equal states have equal hashes. */
    public long stateHash() {
        return store.hash();
    }

    /** What a row holds now, as committed; null if it is not there. */
    public int @Nullable [] read(long row) {
        return store.read(row, Long.MAX_VALUE).value();
    }

    /** The highest position that is visible. */
    public long visible() {
        return store.visible();
    }

    /** The highest position that no crash undoes. */
    public long durable() {
        return durable;
    }

    /** The last position up to another one at which a table was changed, as far as that is known here; 0 if there is none. */
    public long lastChanged(int table, long upTo) {
        return store.lastChanged(table, upTo);
    }

    // ------------------------------------------------------------------------------------------ for its parts

    /** Which tables it keeps. */
    public LocalTables kept() {
        return kept;
    }

    EngineKind kind() {
        return kind;
    }

    Store store() {
        return store;
    }

    Locks locks() {
        return locks;
    }

    /** Whether a fault aborts what is being done now. */
    boolean aborts() {
        boolean aborts = abortRate > 0 && random.chance(abortRate);
        if (aborts) {
            happens(FaultKind.ENGINE_ABORTS);
        }
        return aborts;
    }

    /** Of a commit that fails: whether it has worked all the same, and only its answer is lost. */
    boolean losesAnswer() {
        return random.chance(ANSWERS_LOST);
    }

    /** Which of so many statements a fault aborts; none of them if it is as many or more. */
    int abortedStatement(int statements) {
        return aborts() ? random.nextInt(statements) : Integer.MAX_VALUE;
    }

    private void later(long nanos, Label label, Runnable action) {
        long ofLife = life;
        host.after(nanos, label, () -> {
            if (ofLife != life) {
                return;
            }
            if (hangs) {
                happens(FaultKind.ENGINE_HANG);
                hung.add(() -> {
                    if (ofLife == life) {
                        action.run();
                    }
                });
            } else {
                action.run();
            }
        });
    }

    /** Does something now, or when the server goes on. */
    void whenAlive(Runnable action) {
        if (hangs) {
            later(0, LOOK, action);
        } else {
            action.run();
        }
    }

    void applyLater(Runnable then) {
        later(timing.apply.sample(random), APPLY, then);
    }

    /**
     * Ends a commit after a while, unless the server goes down before, or a {@link #endLeft later life} of its node ends it.
     *
     * @param engine by which it was asked for
     * @param made what makes it
     * @param dropped what gives it up
     */
    void commitLater(SimEngine engine, Runnable made, Runnable dropped) {
        if (!commitDelay.equals(Distribution.ZERO)) {
            happens(FaultKind.SLOW_COMMITS);
        }
        Commit commit = new Commit(engine, made, dropped);
        underWay.add(commit);
        later(timing.commit.sample(random) + commitDelay.sample(random), COMMIT, () -> {
            if (underWay.remove(commit)) {
                made.run();
            }
        });
    }

    /** Ends what earlier lives of its node have left, as {@link tutti.core.spi.Engine} says: it is committed now or never. */
    void endLeft() {
        List<Commit> left = underWay.stream().filter(each -> !engines.contains(each.engine)).toList();
        for (Commit each : left) {
            underWay.remove(each);
            (kind.runsInNode() || random.chance(COMMITTED) ? each.made : each.dropped).run();
        }
    }

    void answerLater(Runnable then) {
        later(timing.answer.sample(random), ANSWER, then);
    }

    /** Tells somebody something that does not depend on the server. */
    void tellLater(Runnable then) {
        host.after(timing.answer.sample(random), ANSWER, then);
    }

    void lookLater(Runnable then) {
        later(LOOK_NANOS, LOOK, then);
    }

    /** A client's transaction has ended, and holds nothing any more. */
    void ended() {
        List<Runnable> waiters = List.copyOf(awaitingEnds);
        awaitingEnds.clear();
        waiters.forEach(waiter -> later(0, LOOK, waiter));
    }

    /** Does something when a client's transaction has ended, or after a while; once. */
    void awaitEnd(Runnable then) {
        boolean[] done = new boolean[1];
        Runnable once = () -> {
            if (!done[0]) {
                done[0] = true;
                then.run();
            }
        };
        awaitingEnds.add(once);
        lookLater(() -> {
            awaitingEnds.remove(once);
            once.run();
        });
    }

    /** Makes changes visible at a position. */
    void commit(long position, List<Changes> changes) {
        for (Changes one : changes) {
            store.write(position, one);
            tellApplied(one);
        }
        store.visible(position);
        host.kernel().trace(STATE, store.hash());
        store.dangling().forEach(what -> log.inconsistent(position, what));
        unwritten.add(position);
        if (!flushing) {
            flushing = true;
            later(timing.flush.sample(random), FLUSH, this::flush);
        }
    }

    private void tellApplied(Changes changes) {
        if (changes.rows().isEmpty()) {
            log.passedOver(changes.transaction(), kept.common(store));
        } else {
            log.applied(changes.transaction(), kept.common(store));
        }
        for (int table = 0; table < Catalog.TABLES; table++) {
            if (kept.isPartialAndHere(table)) {
                log.holds(changes.transaction(), table, store.hash(table));
            }
        }
    }

    private void keep() {
        kept = placements.isEmpty() ? founding : new LocalTables(placements.lastEntry().getValue(), founding.node());
    }

    /** Has tables be placed otherwise from a position on. */
    void place(long position, PlacementStatement placing) {
        placements.put(position, placing.after(kept.placement()));
        keep();
        store.drop(position, kept);
        commit(position, List.of());
    }

    /** Whether it holds a row of a table that is not kept here. */
    public boolean holdsWhatItLacks() {
        for (int table = 0; table < Catalog.TABLES; table++) {
            if (!kept.placement().keeps(kept.node(), Catalog.tableKey(table)) && store.hash(table) != 0) {
                return true;
            }
        }
        return false;
    }

    /** Notes that nothing is made at a position. */
    void skip(long position) {
        skipped.add(position);
        log.skipped(position);
        commit(position, List.of());
    }

    /** Positions at which nothing was made. */
    Set<Long> skipped() {
        return Set.copyOf(skipped);
    }

    private void flush() {
        flushing = false;
        long upTo = store.visible();
        long ofLife = life;
        unwritten.forEach(position -> journal.append(position, COMMIT_RECORD_BYTES));
        unwritten.clear();
        journal.sync(() -> {
            if (ofLife == life) {
                durable = Math.max(durable, upTo);
            }
        });
    }

    void executed(Run run) {
        log.executed(run);
    }

    /** A request has been executed, perhaps once more, by an owner of its log. */
    void undertaken(Run run) {
        undertaken.add(run.transaction());
        log.undertaken(run);
    }

    /** Whether it has executed a request as an owner of its log. */
    public boolean hasUndertaken(TransactionId transaction) {
        return undertaken.contains(transaction);
    }

    /** Something that no two runs have in common. */
    long salt() {
        return random.nextLong();
    }

    Run run(TransactionId transaction, Program program, long salt) {
        return new Run(transaction, program, salt, kind);
    }

    @Override
    public String toString() {
        return kind + " at " + store.visible() + (hangs ? ", hangs" : "") + (refuses ? ", refuses" : "");
    }
}
