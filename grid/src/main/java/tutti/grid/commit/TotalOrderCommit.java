package tutti.grid.commit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.Multicast;
import tutti.grid.multicast.MulticastMessage;
import tutti.grid.multicast.Ordered;
import tutti.grid.store.Floors;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.Store;

/**
 * Commit by total order multicast to the owners of what a transaction writes and checks (Ruivo, section IV-A, figures 1a and 1b).
 *
 * <p>
 * <b>Nothing to check</b> (figure 1a: read committed, repeatable read). Owners apply a transaction when it is delivered, and say
 * so to its coordinator, the node where it ran. It is answered when one owner of each key has.
 *
 * <p>
 * <b>Something to check</b> (figure 1b: write-skew check; all that was read, for serializable). When it is delivered, an owner looks
 * whether there is no newer version of what it owns of what was read, and votes. The coordinator commits the transaction as
 * soon as it has a positive vote for each key, aborts it at the first negative one, and tells all owners. An owner that owns all that
 * is checked knows the outcome by itself.
 *
 * <p>
 * <b>Why owners agree.</b> A vote depends on which versions are there, that is, on the outcomes of transactions delivered
 * before; an owner votes when it knows those that write what is checked, and does not look at versions with larger stamps, which may be there
 * already. Owners of a key deliver what writes it in the same order. By
 * induction over stamps they vote alike, so one vote for a key is as good as all, and the outcome is a function of the stamps alone: any
 * coordinator finds the same. Owners wait for transactions with lower stamps only, hence never in a circle.
 *
 * <p>
 * <b>Serializable.</b> If all that was read is checked against the stamp of the snapshot that it was read from, then nothing was
 * written to it between there and the transaction's own stamp: it is as if all of it happened at its stamp. Read-only transactions
 * happen at the stamp of their snapshot. The order of stamps is the serial order; since a node draws no stamp below what it has seen, it
 * is also that of each node's own transactions.
 *
 * <p>
 * <b>Crashes.</b> When the coordinator is gone, the lowest owner that is left and takes part coordinates. All send it their votes
 * again, or the outcome, if they know it; it tells the others. If no owner of a key is left, and all that are left have voted and
 * so do not know an outcome, the transaction is aborted.
 */
public final class TotalOrderCommit implements Commits, Multicast.World {
    private final int self;
    private final Layouts layouts;
    private final Store store;
    private final World world;
    private final LamportClock clock;
    private final Multicast multicast;
    private final Map<TransactionId, Transaction> transactions = new LinkedHashMap<>();
    /** Beginnings of transactions that this node has not applied or dropped. */
    private final Floors floors = new Floors();
    /** By key: who must know the outcome of what writes it before it can vote. */
    private final Map<Key, List<Transaction>> blocked = new HashMap<>();
    private Set<Integer> view;
    /** What is known of all transactions, so that not all need be looked at again and again: that none is disturbed, and since which layout none is of an earlier one. */
    private boolean clean = true;
    private long drained = -1;

    /** One that takes part here. */
    private final class Transaction implements Store.Writer {
        private final TransactionId id;
        private final CommitRequest request;
        private final Owners owners;
        private final List<Key> writtenHere = new ArrayList<>();
        private final List<CommitRequest.Check> checkedHere = new ArrayList<>();
        private @Nullable Ordered ordered;
        private boolean delivered;
        private boolean voted;
        private @Nullable Boolean outcome;
        private boolean closed;
        // As its coordinator.
        private final Set<Integer> voters = new HashSet<>();
        private @Nullable Consumer<Result> done;
        private boolean decided;
        private long stamp;

        Transaction(TransactionId id, CommitRequest request) {
            this.id = id;
            this.request = request;
            this.owners = layouts.in(request.layout());
        }

        @Override
        public long bound() {
            return ordered == null ? Long.MAX_VALUE : ordered.stamp();
        }

        /** Whether there is nothing to vote about. */
        boolean isCertain() {
            return request.checks().isEmpty();
        }

        Set<Integer> destinations() {
            Set<Integer> nodes = new TreeSet<>();
            request.writes().forEach(write -> addLeft(owners.writers(write.key()), nodes));
            request.checks().forEach(check -> addLeft(owners.of(check.key()), nodes));
            return nodes;
        }

        private void addLeft(int[] all, Set<Integer> to) {
            for (int node : all) {
                if (view.contains(node)) {
                    to.add(node);
                }
            }
        }

        /** Whether it is over, as far as this node takes part in it. */
        boolean isOver() {
            return ordered == null ? done == null : closed && done == null;
        }

        /** Whether a node that is gone takes part in it. */
        boolean isDisturbed() {
            Ordered known = ordered;
            return !view.contains(id.node())
                    || (known != null && left(known).size() < known.destinations().length);
        }

        int coordinator() {
            Ordered known = ordered;
            if (known == null || view.contains(id.node())) {
                return id.node();
            }
            for (int node : known.destinations()) {
                if (view.contains(node)) {
                    return node;
                }
            }
            return self;
        }

        /** Whether an owner of each key that matters has voted for it: of each that is checked, or else of each that is written. */
        boolean isCovered() {
            return isCertain()
                    ? request.writes().stream().allMatch(write -> hasVoter(write.key()))
                    : request.checks().stream().allMatch(check -> hasVoter(check.key()));
        }

        private boolean hasVoter(Key key) {
            for (int owner : owners.of(key)) {
                if (voters.contains(owner)) {
                    return true;
                }
            }
            return false;
        }
    }

    /**
     * In its first view.
     *
     * @param clock of this node
     * @param crashes see {@link Multicast}
     */
    public TotalOrderCommit(int self, Multicast.Steps steps, int crashes, LamportClock clock, Set<Integer> nodes,
            Layouts layouts, Store store, World world) {
        this.self = self;
        this.layouts = layouts;
        this.store = store;
        this.world = world;
        this.clock = clock;
        this.view = new TreeSet<>(nodes);
        this.multicast = new Multicast(self, steps, crashes, clock, nodes, this);
    }

    @Override
    public void commit(TransactionId id, CommitRequest asked, Consumer<Result> done) {
        CommitRequest request = asked.in(layouts.number());
        Transaction transaction = new Transaction(id, request);
        for (Key key : request.keys()) {
            if (!anyOwnerLeft(key)) {
                done.accept(Result.failed(Result.Kind.OWNER_UNAVAILABLE));
                return;
            }
        }
        transaction.done = done;
        transactions.put(id, transaction);
        multicast.send(id, transaction.destinations(), request.bytes());
    }

    private boolean anyOwnerLeft(Key key) {
        for (int owner : layouts.present().of(key)) {
            if (view.contains(owner)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void received(int from, Encoded message) {
        switch (message) {
            case MulticastMessage ordering -> multicast.received(from, ordering);
            case CommitMessage.Vote vote -> voted(from, vote);
            case CommitMessage.Outcome outcome -> outcome(outcome);
            default -> throw new IllegalArgumentException("no message of this protocol: " + message);
        }
    }

    @Override
    public void tick(long nanos) {
        // Nothing here depends on time.
    }

    @Override
    public long settled() {
        return floors.lowest(multicast.settled());
    }

    @Override
    public long present() {
        return clock.latest();
    }

    @Override
    public long forget(long horizon) {
        multicast.forget(horizon);
        transactions.values().removeIf(transaction -> transaction.closed && transaction.done == null
                && transaction.stamp <= horizon);
        return horizon;
    }

    @Override
    public int size() {
        return transactions.size();
    }

    // ------------------------------------------------------------------------------------------ as an owner

    @Override
    public void send(int to, MulticastMessage message) {
        world.send(to, message);
    }

    @Override
    public void announced(Ordered message) {
        Transaction transaction = transactions.computeIfAbsent(message.id(),
                id -> new Transaction(id, CommitRequest.decode(message.payload())));
        transaction.ordered = message;
        clean &= !transaction.isDisturbed();
        drained = transaction.request.layout() == layouts.number() ? drained : -1;
        floors.add(transaction.request.begin());
        for (CommitRequest.Write write : transaction.request.writes()) {
            if (transaction.owners.isWriter(self, write.key())) {
                transaction.writtenHere.add(write.key());
                store.announce(write.key(), transaction);
            }
        }
        for (CommitRequest.Check check : transaction.request.checks()) {
            if (transaction.owners.isOwner(self, check.key())) {
                transaction.checkedHere.add(check);
            }
        }
    }

    @Override
    public void ordered(Ordered message) {
        Transaction transaction = transactions.get(message.id());
        if (transaction != null) {
            transaction.stamp = message.stamp();
            transaction.writtenHere.forEach(store::changed);
        }
    }

    @Override
    public void delivered(Ordered message) {
        Transaction transaction = transactions.get(message.id());
        if (transaction == null) {
            throw new IllegalStateException("delivered without having been announced: " + message);
        }
        transaction.delivered = true;
        Boolean outcome = transaction.outcome;
        if (outcome != null) {
            close(transaction, outcome);
        } else if (transaction.isCertain()) {
            close(transaction, true);
            vote(transaction, true);
        } else {
            certify(transaction);
        }
    }

    /** Votes, if the outcomes are known of what was delivered before and writes what is checked. */
    private void certify(Transaction transaction) {
        boolean unchanged = true;
        for (CommitRequest.Check check : transaction.checkedHere) {
            for (Store.Writer writer : store.writers(check.key())) {
                if (writer instanceof Transaction other && other.delivered && other.bound() < transaction.bound()) {
                    blocked.computeIfAbsent(check.key(), _ -> new ArrayList<>(1)).add(transaction);
                    return;
                }
            }
            unchanged &= store.stampBelow(check.key(), transaction.stamp) <= check.stamp();
        }
        transaction.voted = true;
        if (!unchanged) {
            vote(transaction, false);
            close(transaction, false);
        } else {
            vote(transaction, true);
            if (transaction.outcome == null && transaction.checkedHere.size() == transaction.request.checks().size()) {
                close(transaction, true);
            }
        }
    }

    /** Applies or drops a delivered transaction, once. */
    private void close(Transaction transaction, boolean commit) {
        transaction.outcome = commit;
        if (transaction.closed || !transaction.delivered) {
            return;
        }
        transaction.closed = true;
        floors.remove(transaction.request.begin());
        if (commit) {
            for (CommitRequest.Write write : transaction.request.writes()) {
                if (transaction.owners.isWriter(self, write.key())) {
                    store.apply(write.key(), write.version(transaction.stamp));
                }
            }
            world.applied(transaction.id, transaction.stamp, transaction.request);
        }
        transaction.writtenHere.forEach(key -> store.withdraw(key, transaction));
        for (Key key : transaction.writtenHere) {
            List<Transaction> waiting = blocked.remove(key);
            if (waiting != null) {
                for (Transaction other : waiting) {
                    if (!other.voted && other.outcome == null) {
                        certify(other);
                    }
                }
            }
        }
    }

    private void vote(Transaction transaction, boolean commit) {
        CommitMessage.Vote vote = new CommitMessage.Vote(transaction.id, commit, transaction.stamp);
        int coordinator = transaction.coordinator();
        if (coordinator == self) {
            voted(self, vote);
        } else {
            world.send(coordinator, vote);
        }
    }

    private void outcome(CommitMessage.Outcome outcome) {
        Transaction transaction = transactions.get(outcome.id());
        if (transaction == null) {
            return;
        }
        if (transaction.coordinator() == self) {
            // Its own coordinator has crashed, and has told somebody else before.
            decide(transaction, outcome.commit(), Result.Kind.CONFLICT);
        } else {
            close(transaction, outcome.commit());
        }
    }

    // ------------------------------------------------------------------------------------------ as a coordinator

    private void voted(int from, CommitMessage.Vote vote) {
        Transaction transaction = transactions.get(vote.id());
        if (transaction == null || transaction.decided) {
            return;
        }
        transaction.stamp = vote.stamp();
        if (!vote.commit()) {
            decide(transaction, false, Result.Kind.CONFLICT);
        } else {
            transaction.voters.add(from);
            evaluate(transaction);
        }
    }

    private void evaluate(Transaction transaction) {
        Ordered ordered = transaction.ordered;
        if (transaction.isCovered()) {
            decide(transaction, true, Result.Kind.COMMITTED);
        } else if (transaction.voters.containsAll(ordered == null
                ? transaction.destinations()
                : left(ordered))) {
            decide(transaction, transaction.isCertain(), Result.Kind.OWNER_UNAVAILABLE);
        }
    }

    private Set<Integer> left(Ordered ordered) {
        Set<Integer> left = new HashSet<>();
        for (int node : ordered.destinations()) {
            if (view.contains(node)) {
                left.add(node);
            }
        }
        return left;
    }

    /** Tells the outcome to the owners and to who has asked for the commit. */
    private void decide(Transaction transaction, boolean commit, Result.Kind kind) {
        if (!transaction.isCertain()) {
            CommitMessage.Outcome outcome = new CommitMessage.Outcome(transaction.id, commit, transaction.stamp);
            for (int node : transaction.destinations()) {
                if (node != self) {
                    world.send(node, outcome);
                }
            }
        }
        transaction.decided = true;
        Consumer<Result> done = transaction.done;
        transaction.done = null;
        if (transaction.ordered == null) {
            transaction.closed = true;
            transaction.outcome = commit;
        } else {
            close(transaction, commit);
        }
        if (done != null) {
            done.accept(kind == Result.Kind.COMMITTED ? Result.committed(transaction.stamp) : Result.failed(kind));
        }
    }

    @Override
    public void lost(Ordered message) {
        Transaction transaction = transactions.remove(message.id());
        if (transaction != null && transaction.done != null) {
            transaction.done.accept(Result.failed(Result.Kind.OWNER_UNAVAILABLE));
        }
    }

    // ------------------------------------------------------------------------------------------ crashes and moves

    @Override
    public boolean isDrained() {
        if (drained != layouts.number() && transactions.values().stream()
                .allMatch(transaction -> transaction.request.layout() == layouts.number() || transaction.isOver())) {
            drained = layouts.number();
        }
        return drained == layouts.number();
    }

    @Override
    public boolean isClean() {
        clean = clean || transactions.values().stream().noneMatch(Transaction::isDisturbed);
        return clean && multicast.isClean();
    }

    @Override
    public void view(long number, Set<Integer> members) {
        view = new TreeSet<>(members);
        clean = false;
        multicast.view(number, members);
        for (Transaction transaction : List.copyOf(transactions.values())) {
            Boolean outcome = transaction.outcome;
            if (transaction.coordinator() == self) {
                // Whom it was told may be gone.
                transaction.decided &= view.contains(transaction.id.node());
                if (!view.contains(transaction.id.node()) && outcome != null && !transaction.isCertain()) {
                    decide(transaction, outcome, Result.Kind.CONFLICT);
                } else if (!transaction.decided) {
                    if (transaction.voted || (transaction.isCertain() && transaction.closed)) {
                        transaction.voters.add(self);
                    }
                    evaluate(transaction);
                }
            } else if (!view.contains(transaction.id.node()) && !transaction.isCertain()) {
                if (outcome != null) {
                    world.send(transaction.coordinator(), new CommitMessage.Outcome(transaction.id, outcome,
                            transaction.stamp));
                } else if (transaction.voted) {
                    vote(transaction, true);
                }
            }
        }
    }
}
