package tutti.grid.commit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.Floors;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.Store;

/**
 * The baseline: locks on all owners and two-phase commit, as Infinispan had (Ruivo, section III). The coordinator asks all owners to
 * prepare; each locks what it owns of what is written or checked, one key after the other, checks what is to be checked, and votes.
 * When all have voted for it, the coordinator tells them to commit, and answers when they have.
 *
 * <p>
 * <b>Deadlocks.</b> Every owner locks in the order of keys, so on one owner there are none. But owners of the same key may lock it for
 * two transactions in different order, and then these wait for each other. An owner at which one begins to wait for another tells
 * the coordinators of both; a coordinator that knows of a wait in each direction aborts its transaction if it is the later one by
 * name. Longer cycles end when a lock was waited for too long.
 *
 * <p>
 * <b>Stamps.</b> A prepared owner proposes a stamp, and the largest is that of the transaction, as in multicast. A key is locked from
 * the proposal to the commit, so its versions are in the order of stamps, and readers know for which to wait. If an owner is left out before all have
 * voted, the coordinator draws another stamp in the view without it: {@link tutti.grid.view.ViewEntry} says why.
 *
 * <p>
 * <b>Crashes.</b> When the coordinator is gone, the lowest owner that is left asks the others; if one has committed, all do, and
 * otherwise all abort. A coordinator that is itself an owner commits only when another one has, so what was seen before one crash stays. After
 * two at a time, what only those two have committed is undone.
 */
public final class TwoPhaseCommit implements Commits {
    private final int self;
    private final LamportClock clock;
    private final Layouts layouts;
    private final Store store;
    private final World world;
    private final long lockTimeoutNanos;
    private final boolean findsDeadlocks;
    private final Map<TransactionId, Participant> participants = new LinkedHashMap<>();
    private final Map<TransactionId, Coordinator> coordinators = new LinkedHashMap<>();
    private final Map<TransactionId, Recovery> recoveries = new LinkedHashMap<>();
    /** By key: who has the lock, then who waits for it. */
    private final Map<Key, Deque<Participant>> locks = new HashMap<>();
    private final Floors floors = new Floors();
    private Set<Integer> view;
    private long viewNumber;
    private long nowNanos;
    /** What is known of all participants, so that not all need be looked at again and again: that none is disturbed, and since which layout none is of an earlier one. */
    private boolean clean = true;
    private long drained = -1;

    /** A transaction at one of its owners. */
    private final class Participant implements Store.Writer {
        private final TransactionId id;
        private final int[] destinations;
        private final CommitRequest request;
        private final Owners owners;
        /** What to lock here, in order; those before {@link #locked} are. */
        private final List<Key> keys;
        private int locked;
        private long waitsSince;
        /** The proposal; 0 before. */
        private long stamp;
        private boolean closed;
        private boolean committed;

        Participant(TransactionId id, int[] destinations, CommitRequest request) {
            this.id = id;
            this.destinations = destinations;
            this.request = request;
            this.owners = layouts.in(request.layout());
            this.keys = Stream.concat(written().map(CommitRequest.Write::key), checked().map(CommitRequest.Check::key))
                    .distinct().sorted(Comparator.comparingLong(Key::hash).thenComparing(Key::toString)).toList();
        }

        /** What it writes here. */
        Stream<CommitRequest.Write> written() {
            return request.writes().stream().filter(write -> owners.isWriter(self, write.key()));
        }

        /** What must be checked here. */
        Stream<CommitRequest.Check> checked() {
            return request.checks().stream().filter(check -> owners.isOwner(self, check.key()));
        }

        /** Whether a node that is gone takes part in it. */
        boolean isDisturbed() {
            return !view.contains(id.node()) || Arrays.stream(destinations).anyMatch(node -> !view.contains(node));
        }

        @Override
        public long bound() {
            return stamp;
        }

        boolean isPrepared() {
            return stamp > 0;
        }
    }

    /** A transaction at the node where it ran. */
    private static final class Coordinator {
        private final CommitRequest request;
        private final Owners owners;
        private final Set<Integer> destinations;
        private final Consumer<Result> done;
        private final Set<Integer> votes = new HashSet<>();
        private final Set<Integer> applied = new HashSet<>();
        private final Set<TransactionId> waitsFor = new HashSet<>();
        private final Set<TransactionId> waitedBy = new HashSet<>();
        private long stamp;
        private boolean committing;

        Coordinator(CommitRequest request, Owners owners, Set<Integer> destinations, Consumer<Result> done) {
            this.request = request;
            this.owners = owners;
            this.destinations = destinations;
            this.done = done;
        }
    }

    /** A transaction whose coordinator is gone, at who has taken its place. */
    private static final class Recovery {
        private final int[] destinations;
        private final Map<Integer, Long> answers = new HashMap<>();

        Recovery(int[] destinations) {
            this.destinations = destinations;
        }
    }

    /**
     * In its first view.
     *
     * @param clock of this node
     * @param lockTimeoutNanos after which a transaction that waits for a lock is aborted, by {@link #tick}
     * @param findsDeadlocks whether direct cycles are looked for; otherwise all deadlocks end so
     */
    public TwoPhaseCommit(int self, LamportClock clock, Set<Integer> nodes, Layouts layouts, Store store,
            long lockTimeoutNanos, boolean findsDeadlocks, World world) {
        this.self = self;
        this.clock = clock;
        this.layouts = layouts;
        this.store = store;
        this.lockTimeoutNanos = lockTimeoutNanos;
        this.findsDeadlocks = findsDeadlocks;
        this.world = world;
        this.view = new TreeSet<>(nodes);
    }

    // ------------------------------------------------------------------------------------------ as a coordinator

    @Override
    public void commit(TransactionId id, CommitRequest asked, Consumer<Result> done) {
        CommitRequest request = asked.in(layouts.number());
        Owners owners = layouts.present();
        Set<Integer> destinations = new TreeSet<>();
        if (!request.keys().stream().allMatch(key -> Arrays.stream(owners.of(key)).anyMatch(view::contains))) {
            done.accept(Result.failed(Result.Kind.OWNER_UNAVAILABLE));
            return;
        }
        request.writes().forEach(write -> Arrays.stream(owners.writers(write.key())).forEach(destinations::add));
        request.checks().forEach(check -> Arrays.stream(owners.of(check.key())).forEach(destinations::add));
        destinations.retainAll(view);
        coordinators.put(id, new Coordinator(request, owners, destinations, done));
        CommitMessage.Prepare prepare = new CommitMessage.Prepare(id,
                destinations.stream().mapToInt(Integer::intValue).toArray(), request.bytes());
        sendTo(destinations, prepare);
        if (destinations.contains(self)) {
            prepare(prepare, request);
        }
    }

    private void sendTo(Iterable<Integer> nodes, CommitMessage message) {
        for (int node : nodes) {
            if (node != self && view.contains(node)) {
                world.send(node, message);
            }
        }
    }

    /** To a node, which may be this one. */
    private void tell(int node, CommitMessage message) {
        if (node == self) {
            received(self, message);
        } else if (view.contains(node)) {
            world.send(node, message);
        }
    }

    private void vote(int from, CommitMessage.Vote vote) {
        Coordinator coordinator = coordinators.get(vote.id());
        if (coordinator != null && !coordinator.committing) {
            coordinator.votes.add(from);
            coordinator.stamp = Math.max(coordinator.stamp, vote.stamp());
            decide(vote.id(), coordinator);
        }
    }

    private void decide(TransactionId id, Coordinator coordinator) {
        if (!coordinator.committing && coordinator.votes.containsAll(left(coordinator.destinations))) {
            coordinator.committing = true;
            clock.seen(coordinator.stamp);
            if (!view.containsAll(coordinator.destinations)) {
                // Who is gone proposes nothing that is above what it has answered.
                coordinator.stamp = clock.next();
            }
            sendTo(coordinator.destinations, new CommitMessage.Outcome(id, true, coordinator.stamp));
        }
        if (coordinator.committing) {
            complete(id, coordinator);
        }
    }

    private Set<Integer> left(Set<Integer> nodes) {
        Set<Integer> left = new TreeSet<>(nodes);
        left.retainAll(view);
        return left;
    }

    /** Commits here when another owner has, and answers when all have. */
    private void complete(TransactionId id, Coordinator coordinator) {
        Set<Integer> left = left(coordinator.destinations);
        if (left.contains(self) && !coordinator.applied.contains(self)
                && (left.size() == 1 || !coordinator.applied.isEmpty())) {
            coordinator.applied.add(self);
            close(id, true, coordinator.stamp);
        }
        if (coordinator.applied.containsAll(left) && coordinators.remove(id, coordinator)) {
            coordinator.done.accept(Result.committed(coordinator.stamp));
        }
    }

    private void abort(TransactionId id, Result.Kind kind) {
        Coordinator coordinator = coordinators.get(id);
        if (coordinator == null || coordinator.committing) {
            return;
        }
        coordinators.remove(id);
        sendTo(coordinator.destinations, new CommitMessage.Outcome(id, false, 0));
        close(id, false, 0);
        coordinator.done.accept(Result.failed(kind));
    }

    private void waits(CommitMessage.Waits waits) {
        Coordinator waiter = coordinators.get(waits.id());
        if (waiter != null) {
            waiter.waitsFor.add(waits.holder());
            breakCycle(waits.id(), waits.holder(), waiter);
        }
        Coordinator holder = coordinators.get(waits.holder());
        if (holder != null) {
            holder.waitedBy.add(waits.id());
            breakCycle(waits.holder(), waits.id(), holder);
        }
    }

    private void breakCycle(TransactionId own, TransactionId other, Coordinator coordinator) {
        if (coordinator.waitsFor.contains(other) && coordinator.waitedBy.contains(other)
                && BY_NAME.compare(own, other) > 0) {
            abort(own, Result.Kind.DEADLOCK);
        }
    }

    private static final Comparator<TransactionId> BY_NAME = Comparator.comparingLong(TransactionId::serial)
            .thenComparingInt(TransactionId::node);

    // ------------------------------------------------------------------------------------------ as an owner

    @Override
    public void received(int from, Encoded message) {
        switch ((CommitMessage) message) {
            case CommitMessage.Prepare prepare -> prepare(prepare, CommitRequest.decode(prepare.payload()));
            case CommitMessage.Vote vote -> vote(from, vote);
            case CommitMessage.Refused refused -> abort(refused.id(), refused.kind());
            case CommitMessage.Waits waits -> waits(waits);
            case CommitMessage.Outcome outcome -> {
                close(outcome.id(), outcome.commit(), outcome.stamp());
                if (outcome.commit()) {
                    tell(from, new CommitMessage.Done(outcome.id()));
                }
            }
            case CommitMessage.Done done -> {
                Coordinator coordinator = coordinators.get(done.id());
                if (coordinator != null && coordinator.committing) {
                    coordinator.applied.add(from);
                    complete(done.id(), coordinator);
                }
            }
            case CommitMessage.Orphan orphan -> recover(orphan.id(), orphan.destinations());
            case CommitMessage.Inquire inquire -> world.send(from,
                    new CommitMessage.Known(inquire.id(), inquire.view(), knownStamp(inquire.id())));
            case CommitMessage.Known known -> {
                Recovery recovery = recoveries.get(known.id());
                if (recovery != null && known.view() == viewNumber) {
                    recovery.answers.put(from, known.stamp());
                    conclude(known.id(), recovery);
                }
            }
        }
    }

    private void prepare(CommitMessage.Prepare prepare, CommitRequest request) {
        Participant participant = new Participant(prepare.id(), prepare.destinations(), request);
        participants.put(prepare.id(), participant);
        clean &= !participant.isDisturbed();
        drained = request.layout() == layouts.number() ? drained : -1;
        floors.add(request.begin());
        lock(participant);
    }

    /** Locks the next keys, until it must wait for one. */
    private void lock(Participant participant) {
        while (participant.locked < participant.keys.size()) {
            Deque<Participant> queue = locks.computeIfAbsent(participant.keys.get(participant.locked),
                    _ -> new ArrayDeque<>(1));
            if (!queue.contains(participant)) {
                queue.add(participant);
            }
            Participant holder = queue.getFirst();
            if (holder != participant) {
                participant.waitsSince = nowNanos;
                tellOfWait(participant, holder);
                return;
            }
            participant.locked++;
        }
        boolean unchanged = participant.checked()
                .allMatch(check -> store.newest(check.key()).stamp() <= check.stamp());
        if (!unchanged) {
            refuse(participant, Result.Kind.CONFLICT);
            return;
        }
        participant.stamp = clock.next();
        participant.written().forEach(write -> store.announce(write.key(), participant));
        tell(participant.id.node(), new CommitMessage.Vote(participant.id, true, participant.stamp));
    }

    private void tellOfWait(Participant waiter, Participant holder) {
        if (!findsDeadlocks) {
            return;
        }
        CommitMessage.Waits waits = new CommitMessage.Waits(waiter.id, holder.id);
        if (view.contains(waiter.id.node())) {
            tell(waiter.id.node(), waits);
        }
        if (holder.id.node() != waiter.id.node() && view.contains(holder.id.node())) {
            tell(holder.id.node(), waits);
        }
    }

    private void refuse(Participant participant, Result.Kind kind) {
        TransactionId id = participant.id;
        close(id, false, 0);
        tell(id.node(), new CommitMessage.Refused(id, kind));
    }

    /** Applies or drops a transaction, once, and releases its locks. */
    private void close(TransactionId id, boolean commit, long stamp) {
        Participant participant = participants.get(id);
        if (participant == null || participant.closed) {
            return;
        }
        participant.closed = true;
        participant.committed = commit;
        floors.remove(participant.request.begin());
        boolean prepared = participant.isPrepared();
        clock.seen(stamp);
        participant.stamp = commit ? stamp : clock.latest();
        List<Key> written = participant.written().map(CommitRequest.Write::key).toList();
        if (commit) {
            participant.written().forEach(write -> store.apply(write.key(), write.version(stamp)));
            world.applied(id, stamp, participant.request);
        }
        List<Participant> next = new ArrayList<>();
        for (Key key : participant.keys) {
            release(key, participant, next);
        }
        if (prepared) {
            written.forEach(key -> store.withdraw(key, participant));
        }
        for (Participant other : next) {
            if (!other.closed && !other.isPrepared()) {
                lock(other);
            }
        }
    }

    private void release(Key key, Participant participant, List<Participant> next) {
        Deque<Participant> queue = locks.get(key);
        if (queue == null) {
            return;
        }
        boolean held = queue.peekFirst() == participant;
        queue.remove(participant);
        if (queue.isEmpty()) {
            locks.remove(key);
        } else if (held) {
            Participant holder = queue.getFirst();
            next.add(holder);
            for (Participant waiter : List.copyOf(queue)) {
                // What is told may end either of them at once, and then the others are told of another holder.
                if (waiter != holder && !waiter.closed && !holder.closed) {
                    tellOfWait(waiter, holder);
                }
            }
        }
    }

    @Override
    public void tick(long nanos) {
        nowNanos = nanos;
        for (Participant participant : List.copyOf(participants.values())) {
            if (!participant.closed && !participant.isPrepared() && participant.locked < participant.keys.size()
                    && view.contains(participant.id.node())
                    && nanos - participant.waitsSince >= lockTimeoutNanos) {
                refuse(participant, Result.Kind.LOCK_TIMEOUT);
            }
        }
    }

    @Override
    public long settled() {
        return floors.lowest(clock.latest());
    }

    @Override
    public long present() {
        return clock.latest();
    }

    @Override
    public long forget(long horizon) {
        participants.values().removeIf(participant -> participant.closed && participant.stamp <= horizon);
        return horizon;
    }

    @Override
    public int size() {
        return participants.size();
    }

    // ------------------------------------------------------------------------------------------ crashes and moves

    @Override
    public boolean isDrained() {
        if (drained != layouts.number() && participants.values().stream()
                .allMatch(one -> one.closed || one.request.layout() == layouts.number())) {
            drained = layouts.number();
        }
        return drained == layouts.number()
                && coordinators.values().stream().allMatch(one -> one.request.layout() == layouts.number());
    }

    @Override
    public boolean isClean() {
        clean = clean || participants.values().stream().noneMatch(Participant::isDisturbed);
        return clean && coordinators.values().stream().allMatch(one -> view.containsAll(one.destinations))
                && recoveries.isEmpty();
    }

    @Override
    public void view(long number, Set<Integer> members) {
        view = new TreeSet<>(members);
        viewNumber = number;
        clean = false;
        recoveries.clear();
        for (Map.Entry<TransactionId, Coordinator> entry : List.copyOf(coordinators.entrySet())) {
            Coordinator coordinator = entry.getValue();
            boolean owned = coordinator.request.keys().stream()
                    .allMatch(key -> Arrays.stream(coordinator.owners.of(key)).anyMatch(view::contains));
            if (!owned && !coordinator.committing) {
                abort(entry.getKey(), Result.Kind.OWNER_UNAVAILABLE);
            } else {
                decide(entry.getKey(), coordinator);
            }
        }
        for (Participant participant : List.copyOf(participants.values())) {
            if (!view.contains(participant.id.node())) {
                int coordinator = Arrays.stream(participant.destinations).filter(view::contains).findFirst()
                        .orElse(self);
                if (coordinator == self) {
                    recover(participant.id, participant.destinations);
                } else if (!participant.closed || participant.committed) {
                    world.send(coordinator, new CommitMessage.Orphan(participant.id, participant.destinations));
                }
            }
        }
    }

    private long knownStamp(TransactionId id) {
        Participant participant = participants.get(id);
        return participant != null && participant.committed ? participant.stamp : 0;
    }

    private void recover(TransactionId id, int[] destinations) {
        if (recoveries.containsKey(id)) {
            return;
        }
        Recovery recovery = new Recovery(destinations);
        recoveries.put(id, recovery);
        recovery.answers.put(self, knownStamp(id));
        sendTo(Arrays.stream(destinations).boxed().toList(), new CommitMessage.Inquire(id, viewNumber));
        conclude(id, recovery);
    }

    private void conclude(TransactionId id, Recovery recovery) {
        List<Integer> left = Arrays.stream(recovery.destinations).filter(view::contains).boxed().toList();
        if (recovery.answers.keySet().containsAll(left)) {
            long stamp = recovery.answers.values().stream().mapToLong(Long::longValue).max().orElse(0);
            recoveries.remove(id);
            sendTo(left, new CommitMessage.Outcome(id, stamp > 0, stamp));
            close(id, stamp > 0, stamp);
        }
    }
}
