package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
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
import tutti.grid.genuine.Configuration;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.Sorted;
import tutti.grid.store.Store;
import tutti.grid.store.Version;
import tutti.grid.view.View;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * What a {@link GridNode} is from when it becomes a member until it is none: the keys that it owns, and the transactions that run here. On
 * the node's loop. Answers come on the loop, too, and never before the question has returned.
 *
 * <p>
 * <b>Clock.</b> Every message carries the sender's clock, which the receiver sees before anything else, and the view that the sender goes by. Who is a member, and what of who is none is taken, is the {@link Membership}'s matter.
 *
 * <p>
 * <b>What is forgotten.</b> With each heartbeat a node says below which stamp it needs nothing: neither its open transactions nor what it
 * has not applied yet. What is below that of all members, as they say it in the present view, is dropped. So is what has expired for all; see {@link Times}.
 * Who joins begins with the clock of who tells it of its view, which is not below what that one has said before.
 */
final class GridMember implements Reads.World {
    /** The node. */
    interface World {
        /** The others go on without this process. Told once. */
        void excluded(View by);

        /** The node ends. */
        void ended(String why);

        /** Hears what is applied. */
        GridNode.Observer observer();

        /** How keys are moved. */
        Relocation.Factory relocation();

        /** How others' entries are kept. */
        L1.Factory l1();
    }

    private final GridConfig config;
    private final Clock machineClock;
    private final Loop loop;
    private final PeerLinks links;
    private final World world;
    private final LamportClock clock;
    private final Layouts layouts;
    private final Store store = new Store();
    private final Commits commits;
    private final Membership membership;
    private final OpenTransactions open;
    private final L1 l1;
    private final Reads reads;
    private final Scans scans;
    private final CommitAnswers commitAnswers;
    private final HeldFrames held;
    private final Hearing hearing = new Hearing();
    private final Times times;
    private final Heartbeats heartbeats = new Heartbeats();
    private volatile @Nullable GridException over;
    private final GridCounts counts;

    /**
     * Becomes a member.
     *
     * @param clockSeen by who has told of the view
     * @param incarnation not used before by this node
     * @param held what has come from members before; see {@link #dispatchHeld}
     * @param life without views: 0 of the first one of this node, otherwise its process
     */
    GridMember(GridConfig config, long process, long incarnation, View first, long clockSeen, Clock machineClock,
            Loop loop, PeerLinks links, GridCounts counts, HeldFrames held, long life, World world) {
        this.config = config;
        this.commitAnswers = new CommitAnswers(config);
        this.machineClock = machineClock;
        this.loop = loop;
        this.links = links;
        this.counts = counts;
        this.held = held;
        held.retain(first.members());
        this.world = world;
        this.times = new Times(machineClock, first.number() == 0 && life == 0);
        this.open = new OpenTransactions(config, incarnation, times);
        int[] degrees = config.caches().stream().mapToInt(GridConfig.CacheConfig::degree).toArray();
        boolean byGroups = config.protocol() == CommitProtocol.GROUPS;
        GroupOwners groups = groups(config);
        this.clock = new LamportClock(byGroups ? groups.groupOf(config.self()) : config.self());
        this.layouts = new Layouts(first.layout().number(),
                byGroups ? groups : Relocation.owners(first.layout(), degrees));
        this.commits = CommitProtocols.start(config, first.members(), groups, layouts, clock, store, life,
                new OfCommits());
        this.l1 = world.l1().of(config);
        store.onAnnounced(key -> l1.written(key, this::invalidate));
        Membership.Shared shared = new Membership.Shared(config, machineClock, links, clock, layouts, store, l1,
                hearing, heartbeats, times);
        this.membership = commits instanceof GroupCommit ofGroups
                ? new GroupMembership(shared, ofGroups, new OfMembership(), groups, first, life)
                : new ViewMembership(shared, commits, new OfMembership(), first, process, degrees,
                        world.relocation().of(config.self(), Arrays.stream(degrees).max().orElse(1), commits, store,
                                layouts, this::send, first),
                        held);
        this.reads = new Reads(config, layouts, machineClock::nanoTime, l1, this);
        this.scans = new Scans(config, layouts, membership::missing, this::there, (to, question) -> {
            if (to == config.self()) {
                later(() -> scanHere(to, question));
            } else {
                send(to, question);
            }
        }, this::later);
        clock.seen(clockSeen);
        l1.seen(clock.latest());
        membership.begin();
    }

    /** What commits ask for. */
    private final class OfCommits implements Commits.World {
        @Override
        public void send(int to, Encoded message) {
            GridMember.this.send(to, message);
        }

        @Override
        public void applied(TransactionId id, long stamp, CommitRequest request) {
            world.observer().applied(id, stamp, request);
        }

        @Override
        public void membersChanged() {
            membership.changed();
        }

        @Override
        public void layoutChanged(Configuration founded) {
            membership.layoutChanged(founded);
        }

        @Override
        public void over() {
            world.excluded(view());
        }
    }

    /** What the membership asks for. */
    private final class OfMembership implements Membership.Member {
        @Override
        public void send(int to, Encoded message) {
            GridMember.this.send(to, message);
        }

        @Override
        public void later(Runnable task) {
            GridMember.this.later(task);
        }

        @Override
        public void dispatchHeld() {
            GridMember.this.dispatchHeld();
        }

        @Override
        public boolean isOver() {
            return over != null;
        }

        @Override
        public void ownersChanged() {
            reads.ownersChanged();
            scans.ownersChanged();
        }

        @Override
        public void askOthersThan(Set<Integer> slow) {
            reads.askOthers(slow);
        }

        @Override
        public GridMessage.Heartbeat heartbeat(GridMessage.Moving moving) {
            GridMessage.Heartbeat heartbeat = new GridMessage.Heartbeat(view().number(),
                    Math.min(commits.settled(), open.lowestBegin(l1.lowestBegin(commits.present()))),
                    times.earliest(), store.bytes() >= config.storedBytesMax(), moving);
            heartbeats.said(config.self(), heartbeat);
            return heartbeat;
        }

        @Override
        public void excluded(View by) {
            world.excluded(by);
        }

        @Override
        public void ended(String why) {
            world.ended(why);
        }
    }

    /** The groups of a configuration. */
    static GroupOwners groups(GridConfig config) {
        return new GroupOwners(config.founders(),
                config.degreeMax(), config.furtherGroup());
    }

    /** The view that was agreed on last, or who this node takes for members. */
    View view() {
        return membership.view();
    }

    /** The membership: who comes and goes. */
    Membership membership() {
        return membership;
    }

    /** What its clock has seen. */
    long clock() {
        return clock.latest();
    }

    GridConfig config() {
        return config;
    }

    Loop loop() {
        return loop;
    }

    /** The newest version that this node has applied of a key. */
    Version newest(Key key) {
        return store.newest(key);
    }

    /** Whether transactions may begin. */
    boolean isReady() {
        return times.isKnown() && membership.isBroughtUp();
    }

    boolean hasForeignKeys() {
        return !store.keys(key -> !owners().isWriter(config.self(), key)).isEmpty();
    }

    /** Which nodes own keys. */
    Owners owners() {
        return layouts.present();
    }

    /** Whether a node takes part, as far as this one knows. */
    @Override
    public boolean isThere(int node) {
        return view().has(node) && !membership.silent().contains(node);
    }

    private Set<Integer> there() {
        Set<Integer> there = new TreeSet<>(view().members());
        there.removeAll(membership.silent());
        return there;
    }

    /** Figures. */
    GridStatus status() {
        return new GridStatus(view().number(), there(), Sorted.copy(membership.joining()),
                membership.entered().layout(), membership.isLost(),
                store.size(), store.bytes(), store.expired(), heartbeats.isFull(config.self()),
                links.unsentBytes(there()), commits.size(), commitAnswers.size(), counts.committed, counts.conflicts,
                counts.deadlocks, counts.lockTimeouts, reads.local(), reads.remote(),
                store.waitingReads() + commits.waitingReads(),
                counts.messages, l1.status());
    }

    /** Is a member no more: all that waits is told. */
    void end(GridException reason) {
        if (over != null) {
            return;
        }
        over = reason;
        reads.fail(reason);
        scans.fail(reason);
        commitAnswers.fail(reason);
    }

    // ------------------------------------------------------------------------------------------ transactions

    /** Begins a transaction; see {@link GridNode#begin}. */
    GridTransaction begin(IsolationLevel level, boolean readOnly) {
        open.checkRoom();
        if (links.unsentBytes(there()) > config.unsentBytesMax()) {
            throw new GridException(GridException.Reason.BUSY, "more than " + config.unsentBytesMax()
                    + " bytes wait to be sent to a node that does not keep up: try again later");
        }
        Set<Integer> others = new TreeSet<>(view().members());
        others.remove(config.self());
        return open.begin(this, level, readOnly, l1.begin(commits.present(), others), machineClock.nanoTime());
    }

    /** A transaction has ended. */
    void ended(GridTransaction transaction, boolean hasCommitted) {
        counts.committed += open.ended(transaction) && hasCommitted ? 1 : 0;
    }

    /** Whether the question cannot be asked any more; then it is answered. */
    private boolean isOver(GridTransaction.Answer<?> answer) {
        GridException why = over;
        if (why != null) {
            later(() -> answer.failed(new GridException(why)));
        }
        return why != null;
    }

    /** Reads a key; see {@link Store#read}. */
    void read(Key key, long stamp, boolean latest, GridTransaction.Answer<Version> answer) {
        if (!isOver(answer)) {
            reads.read(key, stamp, latest, answer);
        }
    }

    /** Finds the keys of a snapshot; see {@link Scans}. */
    void scan(int cache, byte[] prefix, GridTransaction of, GridTransaction.Answer<List<Key>> answer) {
        if (!isOver(answer)) {
            scans.scan(cache, prefix, of, machineClock.nanoTime(), answer);
        }
    }

    private void scanHere(int from, GridMessage.Scan question) {
        Consumer<GridMessage.Keys> answer = from == config.self()
                ? keys -> later(() -> scans.answered(from, keys))
                : keys -> send(from, keys);
        commits.whenThere(Math.max(question.stamp(), question.layout()),
                () -> scans.answer(store, question, answer));
    }

    @Override
    public void readHere(GridMessage.Read question, Consumer<Version> reader, Runnable trimmed) {
        // The layout of groups is a stamp, too.
        commits.whenThere(Math.max(question.stamp(), question.layout()), () -> {
            if (!membership.answersFor(question.key())) {
                // Who has asked will learn where it lies, and ask there.
                return;
            }
            if (!question.latest() && store.isTrimmed(question.stamp())) {
                trimmed.run();
            } else {
                store.read(question.key(), question.stamp(), question.latest(), reader);
            }
        });
    }

    /** Commits a transaction that writes something. */
    void commit(TransactionId id, CommitRequest request, GridTransaction.Answer<Result> answer) {
        if (isOver(answer)) {
            return;
        }
        GridException refusal = OwnersLeft.refusal(config, layouts.present(), this::isThere, heartbeats::isFull,
                request);
        if (refusal != null) {
            later(() -> answer.failed(refusal));
            return;
        }
        commitAnswers.add(id, answer, machineClock.nanoTime());
        commits.commit(id, request, result -> later(() -> result(id, result)));
    }

    private void result(TransactionId id, Result result) {
        counts.ended(result.kind());
        l1.seen(result.kind() == Result.Kind.COMMITTED ? result.stamp() : clock.latest());
        commitAnswers.ended(id, result);
    }

    /** A listener is told of what was committed at this stamp. */
    void told(long stamp) {
        l1.seen(stamp);
    }

    @Override
    public void later(Runnable task) {
        loop.execute(task);
    }

    // ------------------------------------------------------------------------------------------ messages

    private void send(int to, Encoded message) {
        counts.messages++;
        links.send(to, GridMessage.frame(membership.entered().number(), clock.latest(), message));
    }

    @Override
    public void send(int to, GridMessage.Read question) {
        send(to, (Encoded) question);
    }

    private void invalidate(int keeper, Key key) {
        send(keeper, new GridMessage.Invalidated(key));
    }

    /** A frame has come; see {@link PeerLinks.Receiver#received}. */
    void received(int from, ByteBuffer frame) throws IOException {
        if (over != null) {
            return;
        }
        hearing.heard(from, machineClock.nanoTime());
        if (!membership.isEarly(from, frame)) {
            dispatch(from, frame);
        }
    }

    private void dispatch(int from, ByteBuffer frame) throws IOException {
        boolean isPresent = frame.getLong() == membership.entered().number();
        long stamp = frame.getLong();
        Encoded message;
        try {
            message = GridMessage.set().decode(frame);
        } catch (DecodeException wrong) {
            throw new IOException("node " + from + " has sent what no node would: " + wrong.getMessage(), wrong);
        }
        if (!membership.takes(from, message, stamp)) {
            clock.seen(stamp);
            if (!(message instanceof GridMessage.Invalidated)) {
                l1.heard(from, stamp, machineClock.nanoTime());
            }
            switch (message) {
                case GridMessage.Heartbeat heartbeat -> membership.heartbeat(from, heartbeat, isPresent);
                case GridMessage.Read read -> readHere(read,
                        version -> send(from,
                                new GridMessage.Value(read.number(), version, mayKeep(from, read, version))),
                        () -> send(from, new GridMessage.Trimmed(read.number())));
                case GridMessage.Scan scan -> scanHere(from, scan);
                case GridMessage.Keys keys -> scans.answered(from, keys);
                case GridMessage.Present now -> commits.seen(now.stamp());
                case GridMessage.Trimmed trimmed -> reads.trimmed(trimmed.number());
                case GridMessage.Value value -> {
                    commits.seen(value.version().stamp());
                    reads.value(from, value.number(), value.version(), isPresent && value.kept());
                }
                case GridMessage.Invalidated gone -> l1.invalidated(gone.key());
                default -> {
                    if (!membership.received(from, message)) {
                        commits.received(from, message);
                    }
                }
            }
        }
    }

    /** Whether who has asked may keep the answer. */
    private boolean mayKeep(int from, GridMessage.Read read, Version version) {
        return read.keep() && view().has(from) && owners().isOwner(config.self(), read.key())
                && l1.answered(from, read.key(), version, store, this::invalidate);
    }

    // ------------------------------------------------------------------------------------------ time

    /** To be called with each heartbeat. */
    void tick() {
        long now = machineClock.nanoTime();
        long often = config.heartbeat().toNanos();
        hearing.heard(config.self(), now);
        hearing.tick(now, 3 * often);
        GridMessage.Moving moving = membership.tick();
        commits.tick(now);
        l1.tick(commits.present());
        Set<Integer> members = membership.say(moving);
        if (membership.mayForget() && heartbeats.areOf(members)) {
            store.trim(commits.forget(heartbeats.least(members, GridMessage.Heartbeat::settled)),
                    membership.joining().isEmpty() ? heartbeats.least(members, GridMessage.Heartbeat::timeMillis) : 0);
        }
        expire(now);
    }

    private void expire(long now) {
        reads.expire(now);
        scans.expire(now);
        commitAnswers.expire(now);
        open.expire(now);
    }

    /** Takes what was sent in the view that it goes by, or an earlier one, and had to wait for it. */
    void dispatchHeld() {
        held.dispatch(this::dispatch, () -> over != null, () -> membership.entered().number());
    }
}
