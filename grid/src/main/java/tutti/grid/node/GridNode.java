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
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
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
import tutti.grid.commit.GroupCommit;
import tutti.grid.commit.Result;
import tutti.grid.commit.TotalOrderCommit;
import tutti.grid.commit.TwoPhaseCommit;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.Multicast;
import tutti.grid.store.Floors;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;
import tutti.grid.store.RingOwners;
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
 * others go on without stops, and cannot come back. Without views ({@link CommitProtocol#GROUPS}) nothing is agreed on: a node does
 * without those that it has not heard for the failure timeout, and gives them up for good after ten times as long, so that nothing need be
 * kept for them.
 *
 * <p>
 * <b>What is forgotten.</b> With each heartbeat a node says below which stamp it needs nothing: neither its open transactions nor what it
 * has not applied yet. What is below that of all members, as they say it in the present view, is dropped. So is what has expired for all; see {@link Times}.
 */
public final class GridNode implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(GridNode.class);
    private static final int ENVELOPE_BYTES = 2 * Long.BYTES;
    /** Without views: after so many failure timeouts a node is given up for good. */
    private static final int GIVEN_UP_TIMEOUTS = 10;
    /** Without views: after so many heartbeats without a word another owner is asked. */
    private static final int HEARTBEATS_FOR_ANSWER = 2;

    /** Hears what happens, for those who measure and check. On the loop. */
    public interface Observer {
        /** Nobody hears. */
        Observer NONE = (_, _, _) -> {};

        /** A transaction is applied here, on the keys that this node owns. */
        void applied(TransactionId id, long stamp, CommitRequest request);
    }

    private record Waiting<T>(GridTransaction.Answer<T> answer, long deadlineNanos) {}

    private final GridConfig config;
    private final Machine machine;
    private final Network network;
    private final PeerLinks links;
    private final LamportClock clock;
    private final Owners owners;
    private final boolean byGroups;
    private final Store store = new Store();
    private final Commits commits;
    private final ViewAgreement agreement;
    private final Floors begins = new Floors();
    private final Map<TransactionId, GridTransaction> open = new LinkedHashMap<>();
    private final Reads reads;
    private final Scans scans;
    private final Map<TransactionId, Waiting<Result>> commitAnswers = new LinkedHashMap<>();
    private final Map<Integer, Deque<ByteBuffer>> held = new HashMap<>();
    private final Hearing hearing = new Hearing();
    /** Without views: who was not heard for some time; those of them who were given up. */
    private Set<Integer> silent = Set.of();
    private final Set<Integer> gone = new TreeSet<>();
    private final Times times;
    /** What each member has said of itself in the present view. */
    private final Map<Integer, GridMessage.Heartbeat> heartbeats = new HashMap<>();
    private final long incarnation;
    private volatile @Nullable GridException over;
    private long transactions;
    /** What others have been told of as present. */
    private long told;
    private long committed;
    private long conflicts;
    private long deadlocks;
    private long lockTimeouts;
    private long messages;

    /**
     * Opens a node, which begins to look for the others. Any thread.
     *
     * @throws IOException if it cannot listen at its address
     */
    public GridNode(GridConfig config, Machine machine, Observer observer) throws IOException {
        this.config = config;
        this.machine = machine;
        this.times = new Times(machine.clock());
        var random = machine.random("grid node");
        this.incarnation = random.nextInt() & 0x7fff_ffffL;
        int[] degrees = config.caches().stream().mapToInt(GridConfig.CacheConfig::degree).toArray();
        GroupOwners groups = new GroupOwners(config.nodes().keySet(), Arrays.stream(degrees).max().orElse(1));
        this.byGroups = config.protocol() == CommitProtocol.GROUPS;
        this.clock = new LamportClock(byGroups ? groups.groupOf(config.self()) : config.self());
        this.owners = byGroups ? groups : new RingOwners(config.nodes().keySet(), degrees);
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
        this.commits = switch (config.protocol()) {
            case TOM_2 -> new TotalOrderCommit(config.self(), Multicast.Steps.TWO, config.crashes(), clock,
                    first.members(), owners, store, world);
            case TOM_3 -> new TotalOrderCommit(config.self(), Multicast.Steps.THREE, config.crashes(), clock,
                    first.members(), owners, store, world);
            case GROUPS -> new GroupCommit(config.self(), groups, clock, store,
                    config.failureTimeout().toNanos() / 2, world);
            case TWO_PHASE -> new TwoPhaseCommit(config.self(), clock, first.members(), owners, store,
                    config.lockTimeout().toNanos(), world);
        };
        this.reads = new Reads(config, owners, machine.clock()::nanoTime, new Reads.World() {
            @Override
            public boolean isThere(int node) {
                return GridNode.this.isThere(node);
            }

            @Override
            public void send(int to, GridMessage.Read question) {
                GridNode.this.send(to, question);
            }

            @Override
            public void readHere(GridMessage.Read question, Consumer<Version> reader, Runnable trimmed) {
                GridNode.this.readHere(question, reader, trimmed);
            }

            @Override
            public void later(Runnable task) {
                GridNode.this.later(task);
            }
        });
        this.scans = new Scans(config, this::there, (to, question) -> {
            if (to == config.self()) {
                later(() -> scanHere(to, question));
            } else {
                send(to, question);
            }
        }, this::later);
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
            hearing.start(first.members(), machine.clock().nanoTime(), config.operationTimeout().toNanos());
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

    /** Whether a node takes part, as far as this one knows. */
    private boolean isThere(int node) {
        return view().has(node) && !silent.contains(node);
    }

    /** Whether a node has stored as much as it may, as of its last heartbeat. */
    private boolean isFull(int node) {
        GridMessage.Heartbeat last = heartbeats.get(node);
        return last != null && last.full();
    }

    private Set<Integer> there() {
        Set<Integer> there = new TreeSet<>(view().members());
        there.removeAll(silent);
        return there;
    }

    /** Figures. */
    public GridStatus status() {
        return new GridStatus(view().number(), there(), store.size(), store.bytes(), store.expired(),
                isFull(config.self()), links.unsentBytes(there()), commits.size(), commitAnswers.size(), committed,
                conflicts, deadlocks, lockTimeouts, reads.local(), reads.remote(),
                store.waitingReads() + commits.waitingReads(), messages);
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
        reads.fail(reason);
        scans.fail(reason);
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
        if (links.unsentBytes(there()) > config.unsentBytesMax()) {
            throw new GridException(GridException.Reason.BUSY, "more than " + config.unsentBytesMax()
                    + " bytes wait to be sent to a node that does not keep up: try again later");
        }
        TransactionId id = new TransactionId(config.self(), incarnation << Integer.SIZE | ++transactions);
        long begin = commits.present();
        begins.add(begin);
        GridTransaction transaction = new GridTransaction(this, id, level, readOnly, begin, times.begin(),
                machine.clock().nanoTime() + config.transactionTimeout().toNanos());
        open.put(id, transaction);
        return transaction;
    }

    /** A transaction has ended. */
    void ended(GridTransaction transaction, boolean hasCommitted) {
        if (open.remove(transaction.id(), transaction)) {
            begins.remove(transaction.beginStamp());
            times.ended(transaction.timeMillis());
            committed += hasCommitted ? 1 : 0;
        }
    }

    /** Reads a key; see {@link Store#read}. */
    void read(Key key, long stamp, boolean latest, GridTransaction.Answer<Version> answer) {
        if (over != null) {
            later(() -> answer.failed(new GridException(GridException.Reason.CLOSED, "the node is closed")));
        } else {
            reads.read(key, stamp, latest, answer);
        }
    }

    /** Finds the keys of a snapshot; see {@link Scans}. */
    void scan(int cache, byte[] prefix, GridTransaction of, GridTransaction.Answer<List<Key>> answer) {
        if (over != null) {
            later(() -> answer.failed(new GridException(GridException.Reason.CLOSED, "the node is closed")));
        } else {
            scans.scan(cache, prefix, of, machine.clock().nanoTime(), answer);
        }
    }

    private void scanHere(int from, GridMessage.Scan question) {
        Consumer<GridMessage.Keys> answer = from == config.self()
                ? keys -> later(() -> scans.answered(from, keys))
                : keys -> send(from, keys);
        commits.whenThere(question.stamp(), () -> Scans.answer(store, question, answer));
    }

    private void readHere(GridMessage.Read question, Consumer<Version> reader, Runnable trimmed) {
        commits.whenThere(question.stamp(), () -> {
            if (!question.latest() && store.isTrimmed(question.stamp())) {
                trimmed.run();
            } else {
                store.read(question.key(), question.stamp(), question.latest(), reader);
            }
        });
    }

    /** Commits a transaction that writes something. */
    void commit(TransactionId id, CommitRequest request, GridTransaction.Answer<Result> answer) {
        if (over != null) {
            later(() -> answer.failed(new GridException(GridException.Reason.CLOSED, "the node is closed")));
            return;
        }
        GridException refusal = OwnersLeft.refusal(config, owners, this::isThere, this::isFull, request);
        if (refusal != null) {
            later(() -> answer.failed(refusal));
            return;
        }
        long deadline = machine.clock().nanoTime() + config.operationTimeout().toNanos();
        commitAnswers.put(id, new Waiting<>(answer, deadline));
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
        hearing.heard(from, machine.clock().nanoTime());
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
                case GridMessage.Read read -> readHere(read,
                        version -> send(from, new GridMessage.Value(read.number(), version)),
                        () -> send(from, new GridMessage.Trimmed(read.number())));
                case GridMessage.Scan scan -> scanHere(from, scan);
                case GridMessage.Keys keys -> scans.answered(from, keys);
                case GridMessage.Present now -> commits.seen(now.stamp());
                case GridMessage.Trimmed trimmed -> reads.trimmed(trimmed.number());
                case GridMessage.Value value -> {
                    commits.seen(value.version().stamp());
                    reads.value(value.number(), value.version());
                }
                default -> commits.received(from, message);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ time and views

    private void heartbeat(int from, GridMessage.Heartbeat heartbeat) {
        if (heartbeat.view() < view().number()) {
            agreement.tell(from);
        } else {
            heartbeats.put(from, heartbeat);
        }
    }

    private void tick() {
        if (over != null) {
            return;
        }
        long now = machine.clock().nanoTime();
        long often = config.heartbeat().toNanos();
        hearing.heard(config.self(), now);
        hearing.tick(now, 3 * often);
        Set<Integer> unheard = hearing.silent(view().members(), config.failureTimeout().toNanos());
        if (byGroups) {
            absent(unheard);
        } else {
            view().members().forEach(node -> agreement.suspect(node, unheard.contains(node)));
            agreement.tick();
        }
        commits.tick(now);
        Set<Integer> members = new TreeSet<>(view().members());
        members.removeAll(gone);
        GridMessage.Heartbeat heartbeat = new GridMessage.Heartbeat(view().number(),
                Math.min(commits.settled(), begins.lowest(commits.present())), times.earliest(),
                store.bytes() >= config.storedBytesMax());
        heartbeats.put(config.self(), heartbeat);
        members.stream().filter(node -> node != config.self()).forEach(node -> {
            send(node, heartbeat);
            if (byGroups && commits.present() > told) {
                send(node, new GridMessage.Present(commits.present()));
            }
        });
        told = commits.present();
        links.acknowledge();
        if (heartbeats.keySet().containsAll(members)) {
            forget(members.stream().map(heartbeats::get).toList());
        }
        expire(now);
        var _ = loop().schedule(often, this::tick);
    }

    private void forget(List<GridMessage.Heartbeat> ofAll) {
        store.trim(commits.forget(ofAll.stream().mapToLong(GridMessage.Heartbeat::settled).min().orElse(0)),
                ofAll.stream().mapToLong(GridMessage.Heartbeat::timeMillis).min().orElse(0));
    }

    /** Without views: goes on without nodes, and gives up those that were not heard for very long. */
    private void absent(Set<Integer> unheard) {
        if (!unheard.equals(silent)) {
            LOGGER.info("node {} of grid {} does not hear {}", config.self(), config.name(), unheard);
        }
        silent = unheard;
        for (int node : hearing.silent(unheard, GIVEN_UP_TIMEOUTS * config.failureTimeout().toNanos())) {
            if (gone.add(node)) {
                links.giveUp(node);
            }
        }
        commits.absent(silent, gone);
        reads.ownersChanged();
        scans.ownersChanged();
        reads.askOthers(hearing.silent(view().members(), HEARTBEATS_FOR_ANSWER * config.heartbeat().toNanos()));
    }

    private void expire(long now) {
        reads.expire(now);
        scans.expire(now);
        List<Waiting<Result>> expired = new ArrayList<>();
        commitAnswers.values().removeIf(one -> one.deadlineNanos - now <= 0 && expired.add(one));
        expired.forEach(one -> one.answer.failed(Reads.timeout(config,
                "a commit, which may have happened or may happen yet,")));
        for (GridTransaction transaction : List.copyOf(open.values())) {
            if (transaction.deadlineNanos() - now <= 0) {
                transaction.expire();
            }
        }
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
        heartbeats.clear();
        commits.view(view.number(), new TreeSet<>(view.members()));
        reads.ownersChanged();
        scans.ownersChanged();
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
