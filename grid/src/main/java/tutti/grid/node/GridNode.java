package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.Commits;
import tutti.grid.commit.Result;
import tutti.grid.commit.TotalOrderCommit;
import tutti.grid.commit.TwoPhaseCommit;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.Multicast;
import tutti.grid.store.Floors;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;
import tutti.grid.store.Store;
import tutti.grid.store.Version;
import tutti.grid.view.View;
import tutti.grid.view.ViewAgreement;
import tutti.grid.view.ViewMessage;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;

/**
 * A node of a grid: the keys that it owns, and the transactions that run here. Everything happens on one loop, {@link #loop}, on which its
 * methods must be called unless they say otherwise. Answers come on the loop, too, and never before the question has returned.
 *
 * <p>
 * <b>Clock and views.</b> Every message carries the sender's clock, which the receiver sees before anything else, and its view. What was
 * sent in a later view than the receiver's waits until the receiver has it; what comes from outside of the receiver's view is
 * dropped, but for what agrees on views.
 *
 * <p>
 * <b>Who is there.</b> A node that was not heard for the failure timeout is suspected; a majority then goes on without it. A node that the
 * others go on without stops, and cannot come back.
 *
 * <p>
 * <b>What is forgotten.</b> With each heartbeat a node says below which stamp it needs nothing: neither its open transactions nor what it
 * has not applied yet. What is below that of all members, as they say it in the present view, is dropped.
 */
public final class GridNode implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(GridNode.class);
    private static final int ENVELOPE_BYTES = 2 * Long.BYTES;

    /** Hears what happens, for those who measure and check. On the loop. */
    public interface Observer {
        /** Nobody hears. */
        Observer NONE = (_, _, _) -> {};

        /** A transaction is applied here, on the keys that this node owns. */
        void applied(TransactionId id, long stamp, CommitRequest request);
    }

    private record Waiting<T>(GridTransaction.Answer<T> answer, long deadlineNanos, @Nullable Key key, long stamp,
            boolean latest,
            int owner) {}

    private final GridConfig config;
    private final Machine machine;
    private final Network network;
    private final PeerLinks links;
    private final LamportClock clock;
    private final Owners owners;
    private final Store store = new Store();
    private final Commits commits;
    private final ViewAgreement agreement;
    private final Floors begins = new Floors();
    private final Map<TransactionId, GridTransaction> open = new LinkedHashMap<>();
    private final Map<Long, Waiting<Version>> reads = new LinkedHashMap<>();
    private final Map<TransactionId, Waiting<Result>> commitAnswers = new LinkedHashMap<>();
    private final Map<Integer, Deque<ByteBuffer>> held = new HashMap<>();
    private final Map<Integer, Long> heardNanos = new TreeMap<>();
    private final Map<Integer, Long> settled = new HashMap<>();
    private final long incarnation;
    private volatile @Nullable GridException over;
    private long transactions;
    private long readNumber;
    private long tickedNanos;
    private long committed;
    private long conflicts;
    private long deadlocks;
    private long lockTimeouts;
    private long localReads;
    private long remoteReads;
    private long messages;

    /**
     * Opens a node, which begins to look for the others. Any thread.
     *
     * @throws IOException if it cannot listen at its address
     */
    public GridNode(GridConfig config, Machine machine, Observer observer) throws IOException {
        this.config = config;
        this.machine = machine;
        var random = machine.random("grid node");
        this.incarnation = random.nextInt() & 0x7fff_ffffL;
        this.clock = new LamportClock(config.self());
        this.owners = new Owners(config.nodes().keySet(),
                config.caches().stream().mapToInt(GridConfig.CacheConfig::degree).toArray());
        this.network = machine.network("grid-" + config.name() + "-" + config.self(), this::failed);
        View first = new View(0, config.nodes().keySet());
        Commits.World world = new Commits.World() {
            @Override
            public void send(int to, Encoded message) {
                GridNode.this.send(to, message);
            }

            @Override
            public void applied(TransactionId id, long stamp, CommitRequest request) {
                observer.applied(id, stamp, request);
            }
        };
        this.commits = config.protocol() == CommitProtocol.TWO_PHASE
                ? new TwoPhaseCommit(config.self(), clock, first.members(), owners, store,
                        config.lockTimeout().toNanos(), world)
                : new TotalOrderCommit(config.self(),
                        config.protocol() == CommitProtocol.TOM_2 ? Multicast.Steps.TWO : Multicast.Steps.THREE,
                        config.crashes(), clock, first.members(), owners, store, world);
        this.agreement = new ViewAgreement(config.self(), first, this::sendViewMessage, this::install);
        try {
            this.links = new PeerLinks(config, random.nextLong(), network, new PeerLinks.Receiver() {
                @Override
                public void received(int from, ByteBuffer frame) throws IOException {
                    GridNode.this.received(from, frame);
                }

                @Override
                public void refused(int by, String why) {
                    LOGGER.error("node {} of grid {} is refused by node {}: {}", config.self(), config.name(), by, why);
                    end("node " + by + " refuses this node: " + why);
                }
            });
        } catch (IOException taken) {
            network.close();
            throw taken;
        }
        network.loop().execute(() -> {
            tickedNanos = machine.clock().nanoTime();
            // Others may not have been started yet.
            first.members().forEach(node -> heardNanos.put(node, tickedNanos + config.operationTimeout().toNanos()));
            links.start();
            tick();
        });
    }

    /** The loop on which everything happens. Any thread. */
    public Loop loop() {
        return network.loop();
    }

    /** What it was given. Any thread. */
    public GridConfig config() {
        return config;
    }

    /** The view that it is in. */
    public View view() {
        return agreement.view();
    }

    /** The newest version that this node has applied of a key. */
    public Version newest(Key key) {
        return store.newest(key);
    }

    /** Which nodes own keys. Any thread. */
    public Owners owners() {
        return owners;
    }

    /** Why it has ended, if it has. Any thread. */
    public @Nullable GridException ended() {
        return over;
    }

    /** Figures. */
    public GridStatus status() {
        View view = view();
        return new GridStatus(view.number(), view.members(), store.size(), commits.size(), commitAnswers.size(),
                committed, conflicts,
                deadlocks, lockTimeouts, localReads, remoteReads, store.waitingReads(), messages);
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
        new ArrayList<>(reads.values()).forEach(read -> read.answer.failed(reason));
        reads.clear();
        new ArrayList<>(commitAnswers.values()).forEach(commit -> commit.answer.failed(reason));
        commitAnswers.clear();
    }

    // ------------------------------------------------------------------------------------------ transactions

    /**
     * Begins a transaction.
     *
     * @param readOnly it will write nothing, and reads a snapshot that is consistent, whatever the level
     * @throws GridException if the node is closed or has too much to do
     */
    public GridTransaction begin(IsolationLevel level, boolean readOnly) {
        GridException why = over;
        if (why != null) {
            throw new GridException(why);
        }
        if (open.size() >= config.transactionsMax()) {
            throw new GridException(GridException.Reason.BUSY, open.size()
                    + " transactions are open on this node, and more may not be: end some, or raise transactionsMax");
        }
        if (links.unsentBytes(view().members()) > config.unsentBytesMax()) {
            throw new GridException(GridException.Reason.BUSY, "more than " + config.unsentBytesMax()
                    + " bytes wait to be sent to a node that does not keep up: try again later");
        }
        TransactionId id = new TransactionId(config.self(), incarnation << Integer.SIZE | ++transactions);
        long begin = clock.latest();
        begins.add(begin);
        GridTransaction transaction = new GridTransaction(this, id, level, readOnly, begin,
                machine.clock().nanoTime() + config.transactionTimeout().toNanos());
        open.put(id, transaction);
        return transaction;
    }

    /** A transaction has ended. */
    void ended(GridTransaction transaction, boolean hasCommitted) {
        if (open.remove(transaction.id(), transaction)) {
            begins.remove(transaction.beginStamp());
            committed += hasCommitted ? 1 : 0;
        }
    }

    /** Reads a key; see {@link Store#read}. */
    void read(Key key, long stamp, boolean latest, GridTransaction.Answer<Version> answer) {
        if (over != null) {
            later(() -> answer.failed(new GridException(GridException.Reason.CLOSED, "the node is closed")));
            return;
        }
        long deadline = machine.clock().nanoTime() + config.operationTimeout().toNanos();
        int[] all = owners.of(key);
        int owner = -1;
        // Nodes begin with different owners.
        for (int i = 0; i < all.length; i++) {
            int candidate = all[(i + config.self()) % all.length];
            if (candidate == config.self() || (owner < 0 && view().has(candidate))) {
                owner = candidate;
            }
        }
        if (owner < 0) {
            later(() -> answer.failed(new GridException(GridException.Reason.OWNER_UNAVAILABLE, "all owners of key "
                    + key + " have crashed: nodes " + Arrays.toString(all))));
            return;
        }
        long number = ++readNumber;
        reads.put(number, new Waiting<>(answer, deadline, key, stamp, latest, owner));
        if (owner == config.self()) {
            localReads++;
            store.read(key, stamp, latest, version -> later(() -> value(number, version)));
        } else {
            remoteReads++;
            send(owner, new GridMessage.Read(number, key, stamp, latest));
        }
    }

    private void value(long number, Version version) {
        Waiting<Version> waiting = reads.remove(number);
        if (waiting != null) {
            waiting.answer.is(version);
        }
    }

    /** Commits a transaction that writes something. */
    void commit(TransactionId id, CommitRequest request, GridTransaction.Answer<Result> answer) {
        if (over != null) {
            later(() -> answer.failed(new GridException(GridException.Reason.CLOSED, "the node is closed")));
            return;
        }
        for (CommitRequest.Write write : request.writes()) {
            int least = config.caches().get(write.key().cache()).ownersMin();
            long left = Arrays.stream(owners.of(write.key())).filter(view()::has).count();
            if (left > 0 && left < least) {
                later(() -> answer.failed(new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "key "
                        + write.key() + " has " + left + " owners left, and cache '"
                        + config.caches().get(write.key().cache()).name() + "' is written with " + least
                        + " at least: start the grid anew with all nodes, or lower ownersMin")));
                return;
            }
        }
        long deadline = machine.clock().nanoTime() + config.operationTimeout().toNanos();
        commitAnswers.put(id, new Waiting<>(answer, deadline, null, 0, false, -1));
        commits.commit(id, request, result -> later(() -> result(id, result)));
    }

    private void result(TransactionId id, Result result) {
        switch (result.kind()) {
            case CONFLICT -> conflicts++;
            case DEADLOCK -> deadlocks++;
            case LOCK_TIMEOUT -> lockTimeouts++;
            case COMMITTED, OWNER_UNAVAILABLE -> {
                // Counted elsewhere, or not.
            }
        }
        Waiting<Result> waiting = commitAnswers.remove(id);
        if (waiting != null) {
            waiting.answer.is(result);
        }
    }

    /** Never from inside of a state machine. */
    private void later(Runnable task) {
        loop().execute(task);
    }

    // ------------------------------------------------------------------------------------------ messages

    private void send(int to, Encoded message) {
        int size = message.encodedSize();
        ByteBuffer bytes = ByteBuffer.allocate(ENVELOPE_BYTES + size);
        bytes.putLong(view().number()).putLong(clock.latest());
        message.encode(bytes);
        messages++;
        links.send(to, bytes.array());
    }

    private void sendViewMessage(int to, ViewMessage message) {
        if (to == config.self()) {
            later(() -> agreement.received(to, message));
        } else {
            send(to, message);
        }
    }

    private void received(int from, ByteBuffer frame) throws IOException {
        if (over != null) {
            return;
        }
        if (frame.remaining() < ENVELOPE_BYTES) {
            throw new IOException("a frame of " + frame.remaining() + " bytes");
        }
        heardNanos.put(from, machine.clock().nanoTime());
        Deque<ByteBuffer> before = held.get(from);
        if (frame.getLong(frame.position()) > view().number() || before != null) {
            // What agrees on views must not wait for one.
            if (GridMessage.set().decode(frame.slice().position(ENVELOPE_BYTES)) instanceof ViewMessage message) {
                agreement.received(from, message);
            } else {
                held.computeIfAbsent(from, _ -> new ArrayDeque<>())
                        .add(ByteBuffer.allocate(frame.remaining()).put(frame).flip());
            }
            return;
        }
        dispatch(from, frame);
    }

    private void dispatch(int from, ByteBuffer frame) throws IOException {
        frame.getLong();
        long stamp = frame.getLong();
        Encoded message;
        try {
            message = GridMessage.set().decode(frame);
        } catch (DecodeException wrong) {
            throw new IOException("node " + from + " has sent what no node would: " + wrong.getMessage(), wrong);
        }
        if (message instanceof ViewMessage change) {
            agreement.received(from, change);
        } else if (!view().has(from)) {
            agreement.tell(from);
        } else {
            clock.seen(stamp);
            switch (message) {
                case GridMessage.Heartbeat heartbeat -> heartbeat(from, heartbeat);
                case GridMessage.Read read -> store.read(read.key(), read.stamp(), read.latest(),
                        version -> send(from, new GridMessage.Value(read.number(), version.stamp(), version.value())));
                case GridMessage.Value value -> value(value.number(), new Version(value.stamp(), value.value()));
                default -> commits.received(from, message);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ time and views

    private void heartbeat(int from, GridMessage.Heartbeat heartbeat) {
        if (heartbeat.view() < view().number()) {
            agreement.tell(from);
        } else {
            settled.put(from, heartbeat.settled());
        }
    }

    private long settledHere() {
        return Math.min(commits.settled(), begins.lowest(clock.latest()));
    }

    private void tick() {
        if (over != null) {
            return;
        }
        long now = machine.clock().nanoTime();
        long often = config.heartbeat().toNanos();
        // If this loop was held up, what has come meanwhile has not been read yet.
        boolean late = now - tickedNanos > 3 * often;
        tickedNanos = now;
        for (int node : view().members()) {
            if (late) {
                heardNanos.merge(node, now, Math::max);
            }
            agreement.suspect(node, node != config.self()
                    && now - heardNanos.getOrDefault(node, now) > config.failureTimeout().toNanos());
        }
        agreement.tick();
        commits.tick(now);
        settled.put(config.self(), settledHere());
        GridMessage.Heartbeat heartbeat = new GridMessage.Heartbeat(view().number(), settledHere());
        for (int node : view().members()) {
            if (node != config.self()) {
                send(node, heartbeat);
            }
        }
        links.acknowledge();
        if (settled.keySet().containsAll(view().members())) {
            long horizon = view().members().stream().mapToLong(settled::get).min().orElse(0);
            commits.forget(horizon);
            store.trim(horizon);
        }
        expire(now);
        var _ = loop().schedule(often, this::tick);
    }

    private void expire(long now) {
        expire(now, reads, "a read");
        expire(now, commitAnswers, "a commit, which may have happened or may happen yet,");
        for (GridTransaction transaction : List.copyOf(open.values())) {
            if (transaction.deadlineNanos() - now <= 0) {
                transaction.expire();
            }
        }
    }

    private <T> void expire(long now, Map<?, Waiting<T>> waiting, String what) {
        List<Waiting<T>> expired = new ArrayList<>();
        waiting.values().removeIf(one -> one.deadlineNanos - now <= 0 && expired.add(one));
        expired.forEach(one -> one.answer.failed(new GridException(GridException.Reason.TIMEOUT, what
                + " was not answered within " + config.operationTimeout().toMillis()
                + " ms: look whether this node reaches the others")));
    }

    private void install(View view) {
        if (!view.has(config.self())) {
            LOGGER.error("node {} of grid {} was taken for dead: the others go on as {}", config.self(), config.name(),
                    view);
            end("the other nodes have not heard of this one for too long and go on without it, as " + view
                    + ": start the grid anew");
            return;
        }
        LOGGER.info("node {} of grid {} goes on in {}", config.self(), config.name(), view);
        settled.clear();
        commits.view(view.number(), new TreeSet<>(view.members()));
        for (Map.Entry<Long, Waiting<Version>> read : List.copyOf(reads.entrySet())) {
            Waiting<Version> waiting = read.getValue();
            Key key = waiting.key;
            if (key != null && !view.has(waiting.owner)) {
                reads.remove(read.getKey());
                read(key, waiting.stamp, waiting.latest, waiting.answer);
            }
        }
        later(this::dispatchHeld);
    }

    /** Takes what was sent in the present view, or an earlier one, and had to wait for it. */
    private void dispatchHeld() {
        for (int from : List.copyOf(held.keySet())) {
            Deque<ByteBuffer> frames = held.get(from);
            try {
                while (frames != null && !frames.isEmpty()
                        && frames.getFirst().getLong(0) <= view().number() && over == null) {
                    dispatch(from, frames.removeFirst());
                }
            } catch (IOException wrong) {
                throw new IllegalStateException(wrong);
            }
            if (frames != null && frames.isEmpty()) {
                held.remove(from);
            }
        }
    }
}
