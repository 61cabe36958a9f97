package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.txn.TransactionId;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.CommitRequest;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;
import tutti.grid.store.Version;
import tutti.grid.view.View;
import tutti.runtime.Clock;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;

/**
 * A node of a grid. Everything happens on one loop, {@link #loop}, on which its methods must be called unless they say otherwise. Answers
 * come on the loop, too, and never before the question has returned.
 *
 * <p>
 * A node is an {@link Applicant} until it is a {@link GridMember}. A member that the others go on without, because they have not heard it for too long, is
 * an applicant again, as another process that knows nothing; so is a node that is started anew. Without views ({@link CommitProtocol#GROUPS}) all nodes are members from
 * the start, as soon as they know that they are the {@linkplain FirstLife first lives} of their nodes; others have to be {@linkplain Replacement taken in} by their group.
 */
public final class GridNode implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(GridNode.class);

    /** Hears what happens, for those who measure and check. On the loop. */
    public interface Observer {
        /** Nobody hears. */
        Observer NONE = (_, _, _) -> {};

        /** A transaction is applied here, on the keys that this node owns. */
        void applied(TransactionId id, long stamp, CommitRequest request);
    }

    private record Waiting(GridTransaction.Answer<GridNode> answer, long deadlineNanos) {}

    private final GridConfig config;
    private final Clock clock;
    private final Network network;
    private final PeerLinks links;
    private final Observer observer;
    private final Relocation.Factory relocation;
    private final L1.Factory l1;
    private final GridCounts counts = new GridCounts();
    private final List<Waiting> waiting = new ArrayList<>();
    private final List<Waiting> leaving = new ArrayList<>();
    /** By node that is to be a member no more: who waits for that. */
    private final Map<Integer, List<Waiting>> removing = new TreeMap<>();
    /** Whether it leaves: also when nobody waits for it any more. */
    private boolean isLeaving;
    private final RandomGenerator random;
    private long process;
    /** What the clock had seen when this node was a member the last time: what its transactions have committed is below. */
    private long clockSeen;
    private @Nullable Applicant applicant;
    /** Without views: as long as it is not known whether this process is the first one of its node; and what has come meanwhile. */
    private @Nullable FirstLife firstLife;
    private HeldFrames heldFrames = new HeldFrames();
    private volatile @Nullable GridMember member;
    private volatile @Nullable GridException over;

    /**
     * Opens a node, which begins to look for the others. Any thread.
     *
     * @throws IOException if it cannot listen at its address
     */
    public GridNode(GridConfig config, Machine machine, Observer observer) throws IOException {
        this(config, machine, observer, Relocation::new, L1::new);
    }

    /** The same, for tests with other ways of moving keys, and of keeping others' entries. */
    GridNode(GridConfig config, Machine machine, Observer observer, Relocation.Factory relocation, L1.Factory l1)
            throws IOException {
        this.config = config;
        this.relocation = relocation;
        this.l1 = l1;
        this.clock = machine.clock();
        this.observer = observer;
        this.random = machine.random("grid node");
        this.process = newProcess();
        this.network = machine.network("grid-" + config.name() + "-" + config.self(), this::failed);
        try {
            this.links = new PeerLinks(config, process, network, new PeerLinks.Receiver() {
                @Override
                public void received(int from, ByteBuffer frame) throws IOException {
                    GridNode.this.received(from, frame);
                }

                @Override
                public void refused(int by, LinkMessage.Refusal kind, String why) {
                    GridNode.this.refused(by, kind, why);
                }

                @Override
                public void superseded(int node) {
                    GridMember now = member;
                    if (now != null) {
                        now.membership().superseded(node);
                    }
                }

                @Override
                public void begins(int node, long as) {
                    GridMember now = member;
                    if (now != null) {
                        now.membership().begins(node, as);
                    }
                }

                @Override
                public void welcomed(int by, boolean isFirst, boolean hasChanged) {
                    FirstLife asking = firstLife;
                    if (asking != null) {
                        asking.said(by, isFirst, hasChanged);
                        beginLife(asking);
                    }
                }

                @Override
                public boolean hasChanged(int node) {
                    GridMember now = member;
                    return now != null && now.membership().hasChanged(node);
                }
            });
        } catch (IOException taken) {
            network.close();
            throw taken;
        }
        network.loop().execute(() -> {
            apply();
            links.start();
            FirstLife asking = firstLife;
            if (asking != null) {
                beginLife(asking);
            }
            tick();
        });
    }

    /** Goes on as the first life of this node, or as another one, if that is known. */
    private void beginLife(FirstLife asking) {
        Boolean isFirst = asking.verdict();
        if (isFirst == null) {
            return;
        }
        if (!isFirst && !asking.canBeReplaced()) {
            LOGGER.error("node {} of grid {} was there before", config.self(), config.name());
            end(FirstLife.tooFewOthers(config.self()));
            return;
        }
        firstLife = null;
        HeldFrames held = isFirst ? heldFrames : new HeldFrames();
        heldFrames = new HeldFrames();
        become(new View(0, isByGroups() ? config.founders() : config.nodes().keySet()), 0, isFirst ? 0 : process, held);
    }

    private boolean isByGroups() {
        return config.protocol() == CommitProtocol.GROUPS;
    }

    private long newProcess() {
        return Math.max(1, random.nextLong() & Long.MAX_VALUE);
    }

    /** The loop on which everything happens. Any thread. */
    public Loop loop() {
        return network.loop();
    }

    /** What it was given. Any thread. */
    public GridConfig config() {
        return config;
    }

    private GridMember member() {
        GridMember now = member;
        if (now == null) {
            GridException why = over;
            throw why != null ? new GridException(why) : notYet();
        }
        return now;
    }

    private GridException notYet() {
        return new GridException(GridException.Reason.JOINING,
                "node " + config.self() + " is not a member of the grid yet: wait until it is");
    }

    /**
     * The view that it is in.
     *
     * @throws GridException if it is no member
     */
    public View view() {
        return member().view();
    }

    /** The newest version that this node has applied of a key; absent if it is no member. */
    public Version newest(Key key) {
        GridMember now = member;
        return now == null ? Version.ABSENT : now.newest(key);
    }

    /**
     * Which nodes own keys.
     *
     * @throws GridException if it is no member
     */
    public Owners owners() {
        return member().owners();
    }

    /** Whether it has versions of keys that neither lie nor will lie here, for checks. */
    boolean hasForeignKeys() {
        return member().hasForeignKeys();
    }

    /** Whether it is a member that begins transactions: it has its keys, or is being given them. Any thread. */
    public boolean isMember() {
        GridMember now = member;
        return now != null && now.isReady();
    }

    /** Why it has ended, if it has. Any thread. */
    public @Nullable GridException ended() {
        return over;
    }

    /**
     * Figures.
     *
     * @throws GridException if it is no member
     */
    public GridStatus status() {
        return member().status();
    }

    /** Ends it at once, as a crash does: the others go on without it. Any thread. */
    @Override
    public void close() {
        if (loop().isCurrent()) {
            end("the node is closed");
            network.close();
        } else {
            network.close();
            // Nothing runs on the loop any more.
            end("the node is closed");
        }
    }

    private void failed(Throwable thrown) {
        LOGGER.error("node {} of grid {} stops", config.self(), config.name(), thrown);
        end("the node has failed: " + thrown);
    }

    private void end(String why) {
        if (over != null) {
            return;
        }
        GridException reason = new GridException(GridException.Reason.CLOSED, why);
        over = reason;
        links.close();
        GridMember last = member;
        if (last != null) {
            last.end(reason);
        }
        waiting.forEach(one -> one.answer.failed(reason));
        waiting.clear();
        leaving.forEach(one -> one.answer.is(this));
        leaving.clear();
        removing.values().stream().flatMap(List::stream).forEach(one -> one.answer.failed(reason));
        removing.clear();
    }

    /**
     * Begins a transaction.
     *
     * @param readOnly it will write nothing, and reads a snapshot that is consistent, whatever the level
     * @throws GridException if the node is closed, is no member, or has too much to do
     */
    public GridTransaction begin(IsolationLevel level, boolean readOnly) {
        GridException why = over;
        if (why != null) {
            throw new GridException(why);
        }
        GridMember now = member();
        if (!now.isReady()) {
            throw notYet();
        }
        return now.begin(level, readOnly);
    }

    /** A listener is told of something that was committed at this stamp: transactions that begin from now on see it. */
    public void told(long stamp) {
        GridMember now = member;
        if (now != null) {
            now.told(stamp);
        }
    }

    // ------------------------------------------------------------------------------------------ coming and going

    /** Waits until it is a member; not longer than the operation timeout. */
    public void whenMember(GridTransaction.Answer<GridNode> answer) {
        GridException why = over;
        if (why != null) {
            answer.failed(new GridException(why));
        } else if (isMember()) {
            answer.is(this);
        } else {
            waiting.add(new Waiting(answer, clock.nanoTime() + config.operationTimeout().toNanos()));
        }
    }

    /**
     * Leaves: what lies on this node is moved to others first; then it ends.
     *
     * @param answer told when it has ended; or of a failure when it takes longer than ten operation timeouts, while it goes on
     * @throws GridException if too few nodes would be left, or the node is no member
     */
    public void leave(GridTransaction.Answer<GridNode> answer) {
        member().membership().leave();
        isLeaving = true;
        leaving.add(new Waiting(answer, clock.nanoTime() + 10 * config.operationTimeout().toNanos()));
    }

    /**
     * Has the others go on for good without another node, which has crashed.
     *
     * @param answer told when it is no member; or of a failure if too few members of its group would be left, or when it is still heard, or too few others are, for the operation timeout
     * @throws GridException if this node is no member
     */
    public void remove(int number, GridTransaction.Answer<GridNode> answer) {
        GridMember _ = member();
        removing.computeIfAbsent(number, _ -> new ArrayList<>())
                .add(new Waiting(answer, clock.nanoTime() + config.operationTimeout().toNanos()));
        removeOthers();
    }

    private void removeOthers() {
        GridMember now = member;
        removing.forEach((number, all) -> {
            if (now != null && !now.membership().isMember(number)) {
                all.forEach(one -> one.answer.is(this));
                all.clear();
            } else if (now != null) {
                try {
                    now.membership().remove(number);
                } catch (GridException tooFew) {
                    all.forEach(one -> one.answer.failed(tooFew));
                    all.clear();
                }
            }
            expire(all, "node " + number + " is still a member: " + (now != null && now.isThere(number)
                    ? "it is heard; have it leave, or close it"
                    : "more than half of the others of its group, or of the nodes, must be heard"));
        });
        removing.values().removeIf(List::isEmpty);
    }

    /**
     * Takes keys all of whose owners have crashed for removed. Until somebody says so, at one node, they cannot be read or written, and keys are not moved.
     *
     * @throws GridException if the node is no member
     */
    public void acceptLoss() {
        member().membership().acceptLoss();
    }

    private void apply() {
        if (isByGroups()) {
            firstLife = new FirstLife(config.self(), GridMember.groups(config), config.founders());
        } else {
            applicant = new Applicant(config, process, clock.nanoTime(), links);
        }
    }

    /**
     * Becomes a member.
     *
     * @param life without views: 0 of the first one of this node, otherwise its process
     */
    private void become(View view, long clockOfOthers, long life, HeldFrames held) {
        applicant = null;
        LOGGER.info("node {} of grid {} is {}, in {}", config.self(), config.name(),
                life == 0 ? "a member" : "to be taken in anew by its group", view);
        if (!isByGroups()) {
            links.members(view.processes());
        }
        long own = process;
        GridMember now = new GridMember(config, isByGroups() ? 0 : own, random.nextInt() & 0x7fff_ffffL, view,
                Math.max(clockSeen, clockOfOthers), clock, loop(), links, counts, held, life,
                new GridMember.World() {
                    @Override
                    public void excluded(View by) {
                        loop().execute(() -> GridNode.this.excluded(own, String.valueOf(by)));
                    }

                    @Override
                    public void ended(String why) {
                        loop().execute(() -> end(why));
                    }

                    @Override
                    public Observer observer() {
                        return observer;
                    }

                    @Override
                    public Relocation.Factory relocation() {
                        return relocation;
                    }

                    @Override
                    public L1.Factory l1() {
                        return l1;
                    }
                });
        member = now;
        now.dispatchHeld();
        tellWaiting();
    }

    private void tellWaiting() {
        if (!waiting.isEmpty() && isMember()) {
            List<Waiting> all = List.copyOf(waiting);
            waiting.clear();
            all.forEach(one -> one.answer.is(this));
        }
    }

    /** The others go on without this process: it has left, or begins as another one. */
    private void excluded(long which, String by) {
        GridMember last = member;
        if (over != null || which != process) {
            return;
        }
        if (isLeaving) {
            LOGGER.info("node {} of grid {} has left", config.self(), config.name());
            end("the node has left");
            return;
        }
        LOGGER.warn("node {} of grid {} was not heard for too long: the others go on as {}; it joins anew",
                config.self(), config.name(), by);
        member = null;
        process = newProcess();
        if (last != null) {
            clockSeen = last.clock();
            last.end(new GridException(GridException.Reason.CLOSED, "the other nodes have not heard of node "
                    + config.self()
                    + " for too long and go on without what it had; it joins them anew. A commit that was"
                    + " under way may have happened: begin the transaction again, and look"));
        }
        apply();
        links.restart(process);
    }

    private void refused(int by, LinkMessage.Refusal kind, String why) {
        switch (kind) {
            case FOREIGN -> {
                LOGGER.error("node {} of grid {} is refused by node {}: {}", config.self(), config.name(), by, why);
                end("node " + by + " refuses this node: " + why);
            }
            case EXCLUDED -> excluded(process, why);
            case LATER -> {
                // It tries again.
            }
        }
    }

    private void received(int from, ByteBuffer frame) throws IOException {
        if (over != null) {
            return;
        }
        if (frame.remaining() < GridMessage.ENVELOPE_BYTES) {
            throw new IOException("a frame of " + frame.remaining() + " bytes");
        }
        GridMember now = member;
        Applicant asking = applicant;
        if (now != null) {
            now.received(from, frame);
            tellWaiting();
        } else if (asking != null) {
            View view = asking.received(from, frame);
            if (view != null) {
                become(view, asking.clockSeen(), 0, asking.held());
            }
        } else if (heldFrames.bytes() + frame.remaining() <= Applicant.HELD_BYTES_MAX) {
            heldFrames.add(from, frame);
        } else {
            throw new IOException("too much waits until this node is a member");
        }
    }

    private void tick() {
        if (over != null) {
            return;
        }
        Applicant asking = applicant;
        if (asking != null) {
            View founded = asking.tick(clock.nanoTime());
            if (founded != null) {
                become(founded, 0, 0, asking.held());
            }
        }
        GridMember now = member;
        if (now != null) {
            now.tick();
            tellWaiting();
        }
        links.acknowledge();
        removeOthers();
        expire(waiting, "the other nodes have not taken in node " + config.self() + " within "
                + config.operationTimeout().toMillis() + " ms" + (now == null ? "" : now.membership().howFar())
                + ": look whether it reaches them");
        expire(leaving, "what lies on node " + config.self() + " is not moved yet: it goes on leaving");
        var _ = loop().schedule(config.heartbeat().toNanos(), this::tick);
    }

    private void expire(List<Waiting> all, String why) {
        List<Waiting> expired = new ArrayList<>();
        all.removeIf(one -> one.deadlineNanos - clock.nanoTime() <= 0 && expired.add(one));
        expired.forEach(one -> one.answer.failed(new GridException(GridException.Reason.TIMEOUT, why)));
    }
}
