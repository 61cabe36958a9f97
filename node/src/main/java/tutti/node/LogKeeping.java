package tutti.node;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Engine;
import tutti.core.spi.Group;
import tutti.core.txn.KeySet;
import tutti.runtime.Background;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/**
 * What a node keeps to begin from after a crash, and what it lets the order's log forget: snapshots of the protocol in files,
 * the engine's durable position, and from where on each node would need the log.
 *
 * <p>
 * <b>Why nothing is forgotten that somebody needs.</b> A node that crashes begins with the engine at its durable position or
 * above, and with the newest snapshot up to there; so it needs the log behind that snapshot. It tells the others, by a message
 * in the order, the newest snapshot that is in a file and up to its durable position, neither of which goes back. Before
 * the least that all nodes have told, nobody needs anything. The message at that position itself is kept: a node that begins
 * with the snapshot compares it with what it had ({@link LogContinuity}). Nodes that are away for too long do not count
 * ({@link LogRetention}), unless they keep a table that too few others keep ({@link KeepersDurability}). New nodes do not either before they decide with the others,
 * but each does for its own log. A node that gives another one a copy tells nothing meanwhile ({@link CopyRetention}).
 * The copy may be of a position before what its receiver has told in former lives: none of that counts any more.
 *
 * <p>
 * <b>How often a snapshot is taken.</b> It carries the requests that are ordered and not executed, which may be many. So it is taken when as many positions
 * have been delivered as the settings say, and at least as many bytes as these take: each byte of the order then pays for one of a snapshot at most, however many
 * wait, and the log that a node begins with is longer by no more than what waits.
 *
 * <p>
 * All methods are called on the node's loop, except {@link #durablePosition}, {@link #givenUp} and {@link #awaitSnapshot}.
 */
final class LogKeeping {
    private static final Logger LOG = LoggerFactory.getLogger(LogKeeping.class);
    /** So many times an engine that would write for it is not asked what is durable, if the answer lets nobody forget anything: half a minute. */
    private static final int PASSED_OVER_MAX = 14;
    /** When so much has been delivered, a snapshot is taken before its time: the log is kept from the last one on, whatever its bound is. */
    private static final long SNAPSHOT_BYTES = 64L << 20;
    /** Not before so many times as much has been delivered as the last one had. */
    private static final long STATES_DELIVERED = 4;

    /** What it asks of its node. */
    interface Node {
        /** Has all nodes told something, in the order. */
        void send(Control control);

        /** Whether the node serves, so that what it tells counts. */
        boolean isReady();

        /** Whom this node reaches. */
        Group.View view();

        /** Nodes that take part in the order only. */
        Set<Integer> excluded();

        /** What the order's log takes. */
        long logBytes();

        /** Lets the order's log forget what is before a position. */
        void truncate(long position);

        /** Highest position that the engine may hold. */
        long engineHoldsAtMost();

        /** The node cannot go on. */
        void fail(Throwable cause, boolean restartable);
    }

    private final ReplicaNode.Settings settings;
    private final Engine engine;
    private final Machine machine;
    private final Loop loop;
    private final NodeFiles files;
    private final Node node;
    /** From where on each node would need the log after a crash: the others as they have told, this one as it is. */
    private final long[] restart = new long[256];
    private Set<Integer> replicas;
    private final LogRetention retention;
    private final CopyRetention copy;
    private final KeepersDurability keepers;
    /** Positions of the snapshots in files. */
    private final TreeSet<Long> snapshots = new TreeSet<>();
    private long snapshotPosition;
    /** Delivered since then. */
    private long deliveredBytes;
    /** Of the last snapshot. */
    private long stateBytes;
    private boolean snapshotRuns;
    /** Not written yet. */
    private NodeFiles.@Nullable Snapshot taken;
    private long toldRestart;
    private int passedOver = PASSED_OVER_MAX;
    private volatile long durablePosition;
    private volatile @Nullable Background snapshotWriter;

    LogKeeping(ReplicaNode.Settings settings, Engine engine, Machine machine, Loop loop, NodeFiles files,
            Placements placements, Node node)
            throws IOException {
        this.machine = machine;
        this.settings = settings;
        this.engine = engine;
        this.loop = loop;
        this.files = files;
        this.node = node;
        replicas = settings.replicas();
        retention = new LogRetention(settings.node(), replicas, settings.retention(), files.absences());
        keepers = new KeepersDurability(settings.node(), placements);
        copy = new CopyRetention(settings.node(), settings.retention().bytes(), loop, this::forget);
    }

    /** Begins to look, now and then, whom the log is kept for, and to tell from where on this node would need it. */
    void begin() {
        loop.schedule(settings.durabilityNanos(), this::tellDurable);
        loop.schedule(settings.durabilityNanos(), this::review);
    }

    private void review() {
        if (retention.review(machine.clock().nanoTime(), node.view(), node.excluded(), node.logBytes(), restart)) {
            forget();
        }
        keepAbsences();
        copy.review(node.logBytes());
        loop.schedule(settings.durabilityNanos(), this::review);
    }

    private void keepAbsences() {
        Map<Integer, Long> absences = retention.absences();
        if (absences != null) {
            try {
                files.keepAbsences(absences);
            } catch (IOException unkept) {
                LOG.warn("node {}: for how long others are away counts anew after the next start: {}", settings.node(),
                        unkept.toString());
            }
        }
    }

    /** What keeps the log for a node that this one gives a copy. */
    CopyRetention copy() {
        return copy;
    }

    /** The log is kept for so long from now on, for those that are away or excluded. */
    void retention(ReplicaNode.Retention limits) {
        retention.limits(limits);
        copy.limit(limits.bytes());
    }

    /** Nodes for which the log is no longer kept. Any thread. */
    Set<Integer> givenUp() {
        return retention.givenUp();
    }

    /** It is not looked at what is written up to a position. */
    void mayHaveBeenWritten(long position) {
        keepers.mayHaveBeenWritten(position);
    }

    /** Other tables are placed on some nodes only than before, by a message at a position. */
    void placed(long position) {
        keepers.placed(position);
    }

    /** These keys were written at a position that is visible. */
    void written(long position, KeySet keys) {
        keepers.written(position, keys);
    }

    /** The node begins with a snapshot that is in a file. */
    void recovered(long position) {
        snapshotPosition = position;
        snapshots.add(position);
    }

    /** Position up to which a crash of this node's database undoes nothing, as the engine told last. */
    long durablePosition() {
        return durablePosition;
    }

    /** Tells the others from time to time from where on this node would need the log after a crash. */
    private void tellDurable() {
        if (isOfNoUse()) {
            passedOver++;
            loop.schedule(settings.durabilityNanos(), this::tellDurable);
            return;
        }
        passedOver = 0;
        engine.durablePosition(new LoopCompletion<>(loop, position -> {
            check(position);
            durablePosition = position;
            long needed = snapshots.stream().filter(at -> at <= position).reduce(0L, Math::max);
            restart[settings.node()] = needed;
            if (needed > toldRestart && node.isReady() && !copy.keeps()) {
                toldRestart = needed;
                node.send(new Control.Restart(needed));
            }
            loop.schedule(settings.durabilityNanos(), this::tellDurable);
        }, cause -> {
            LOG.warn("node {}: the engine does not tell its durable position: {} {}", settings.node(),
                    cause.sqlState(), cause.message());
            loop.schedule(settings.durabilityNanos(), this::tellDurable);
        }));
    }

    /** Whether what is durable now would tell the others nothing, at a price: there is no snapshot that they have not been told of, or it must not be told. */
    private boolean isOfNoUse() {
        return engine.writesForDurability() && passedOver < PASSED_OVER_MAX
                && (snapshots.isEmpty() || snapshots.last() <= toldRestart || !node.isReady() || copy.keeps());
    }

    private void check(long position) {
        long most = node.engineHoldsAtMost();
        if (position < durablePosition || position > most) {
            throw new IllegalStateException("the database tells that position " + position + " is durable, expected "
                    + durablePosition + " to " + most + ": it has lost what it said was safe, or was changed"
                    + " behind this node's back; give it a copy of another node's database");
        }
    }

    /**
     * Takes a snapshot if enough has been delivered since the last one. It is of no use before its position is visible.
     *
     * @param bytes that have been delivered since this was called
     * @param waitingBytes of requests that the snapshot would carry
     */
    void delivered(long position, long bytes, long waitingBytes, Supplier<byte[]> state) {
        deliveredBytes += bytes;
        boolean due = position - snapshotPosition >= settings.snapshotPositions()
                || deliveredBytes >= Math.max(SNAPSHOT_BYTES, STATES_DELIVERED * stateBytes);
        if (snapshotRuns || !due || deliveredBytes < waitingBytes) {
            return;
        }
        deliveredBytes = 0;
        taken = new NodeFiles.Snapshot(position, state.get());
        stateBytes = taken.state().length;
        snapshotPosition = position;
        snapshotRuns = true;
    }

    /** Writes the snapshot that was taken, in the background, if all up to its position is visible. */
    void visible(long position, UnaryOperator<byte[]> complete) {
        NodeFiles.Snapshot before = taken;
        if (before == null || before.position() > position) {
            return;
        }
        taken = null;
        NodeFiles.Snapshot snapshot = new NodeFiles.Snapshot(before.position(), complete.apply(before.state()));
        snapshotWriter = machine.background("tutti-snapshot-" + settings.node(), () -> {
            try {
                files.save(snapshot);
            } catch (IOException broken) {
                node.fail(new IOException(
                        "cannot keep a snapshot in " + files.location() + ": " + broken.getMessage()
                                + "; make room on its disk, or let the node write there",
                        broken), false);
                return;
            }
            loop.execute(() -> {
                snapshotRuns = false;
                snapshots.add(snapshot.position());
            });
        });
    }

    /** The log is kept for these from now on. */
    void members(Set<Integer> now) {
        replicas = Set.copyOf(now);
        retention.members(now);
        forget();
    }

    /** A node has told from where on it would need the log. What this one has told may be of a life before its copy, and so does not count. */
    void toldRestart(int sender, long position) {
        if (sender != settings.node()) {
            restart[sender] = Math.max(restart[sender], position);
        }
        copy.told(sender);
        forget();
    }

    /** A node begins anew with a copy, which may be of a position before what its former lives have told. */
    void beginsAnew(int replica) {
        if (replica != settings.node()) {
            restart[replica] = 0;
        }
    }

    /**
     * What no node would need after a crash the log may forget, and snapshots that are of no use then are removed.
     */
    private void forget() {
        if (copy.keeps()) {
            return;
        }
        Set<Integer> givenUp = retention.givenUp();
        Set<Integer> needing = new TreeSet<>(replicas);
        if (!node.excluded().contains(settings.node())) {
            needing.add(settings.node());
        }
        long needless = keepers.needless(needing.stream().filter(replica -> !givenUp.contains(replica))
                .mapToLong(replica -> restart[replica]).min().orElse(0), replicas, restart);
        if (needless == 0) {
            return;
        }
        node.truncate(needless - 1);
        try {
            files.removeBefore(restart[settings.node()]);
            snapshots.removeIf(at -> at < restart[settings.node()]);
        } catch (IOException broken) {
            node.fail(broken, false);
        }
    }

    /** A snapshot that is being written is finished first: the directory may have another user next. */
    void awaitSnapshot() {
        Background writer = snapshotWriter;
        if (writer != null) {
            writer.join();
        }
    }
}
