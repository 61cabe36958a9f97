package tutti.grid.node;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitMessage;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.genuine.GroupMulticast;
import tutti.grid.store.Key;
import tutti.grid.store.Store;

/**
 * Without views: how a node that was started anew, or given up, or was never there, becomes a member of its group, as another life; both sides. On the node's loop.
 *
 * <p>
 * It applies to all nodes. Who leads its group first has the group go on without its life before, if that is a member still, or without a member that was given up, if there is one: the new life takes its place. Then it gives it what it has, all of one instant: what {@link GroupCommit#give} says, and every version of every key, in parts, each when the one before has
 * arrived. Transactions go on meanwhile; what is delivered since is kept by the leader. The new life does nothing but copy. When it has all, its leader takes it in by a ballot, of which the
 * state has what was delivered since ({@link tutti.grid.genuine.GroupMulticast}); from then on it counts. It serves clients, and says by its heartbeat that it is there, when it has also decided what was on its way.
 *
 * <p>
 * Whatever goes wrong on the way, a leader that crashes or leads no more, parts that do not come: nothing has changed but for what was copied, and it begins anew; as yet another life if it may be taken in still, so that
 * no life is taken in twice. A leader gives to one at a time.
 */
final class Replacement {
    private static final Logger LOGGER = LoggerFactory.getLogger(Replacement.class);
    private static final int OUTCOMES_MAX = 1 << 16;

    private final long process;
    private final GroupCommit commits;
    private final Store store;
    private final long patienceNanos;
    private final BiConsumer<Integer, GridMessage> sender;
    private final Runnable anotherLife;
    private @Nullable Giving giving;
    private @Nullable Copying copying;
    private long number;

    /** As a leader: what is left to be sent. */
    private static final class Giving {
        private final int to;
        private final long process;
        private final String address;
        private final long number;
        private final Iterator<GridMessage.Copy> copies;
        /** What waited for votes when it began. */
        private final Set<TransactionId> undecided;
        private boolean isTaken;
        private long heardNanos;

        Giving(int to, GridMessage.Apply apply, long number, Iterator<GridMessage.Copy> copies,
                Set<TransactionId> undecided) {
            this.undecided = undecided;
            this.to = to;
            this.process = apply.process();
            this.address = apply.address();
            this.number = number;
            this.copies = copies;
        }
    }

    /** As a new life: what has come. */
    private static final class Copying {
        private final int from;
        private final GridMessage.Given given;
        private final List<GroupCommit.Undecided> undecided = new ArrayList<>();
        private final List<CommitMessage.Outcome> outcomes = new ArrayList<>();
        private GroupMulticast.Over over = GroupMulticast.Over.NOTHING;
        private int copied;
        private boolean isWhole;
        private long heardNanos;

        Copying(int from, GridMessage.Given given) {
            this.from = from;
            this.given = given;
        }

        GroupCommit.State state() {
            return new GroupCommit.State(given.delivered(), given.floor(), given.present(), undecided, outcomes,
                    over, given.layouts());
        }
    }

    /**
     * Of a process.
     *
     * @param patienceNanos after which who is not heard about it is not waited for
     * @param anotherLife this process is to end, and another one to begin
     */
    Replacement(long process, GroupCommit commits, Store store, long patienceNanos,
            BiConsumer<Integer, GridMessage> sender, Runnable anotherLife) {
        this.process = process;
        this.commits = commits;
        this.store = store;
        this.patienceNanos = patienceNanos;
        this.sender = sender;
        this.anotherLife = anotherLife;
    }

    /** How many versions have been copied; 0 if none are being copied. */
    int copied() {
        Copying from = copying;
        return from == null ? 0 : from.copied;
    }

    /**
     * To be called often.
     *
     * @param isTooMuch whether this node, as a leader, keeps more for who copies than it may
     */
    void tick(long nowNanos, BooleanSupplier isTooMuch) {
        Giving to = giving;
        if (to != null && commits.isBringing()) {
            // It has nothing to say before it is taken in.
            to.heardNanos = nowNanos;
        }
        boolean isLate = to != null && nowNanos - to.heardNanos > patienceNanos;
        if (to != null && !isLate && isTooMuch.getAsBoolean()) {
            LOGGER.warn("more is written while node {} copies than is there to be copied: it has to begin again",
                    to.to);
            isLate = true;
        }
        if (isLate) {
            giving = null;
            commits.stopGiving();
        } else if (to != null) {
            takeIn(to);
        }
        if (copying != null && nowNanos - copying.heardNanos > patienceNanos) {
            if (copying.isWhole) {
                anotherLife.run();
            }
            copying = null;
            // Who gives next may not have some of it any more.
            store.drop(_ -> true);
        }
    }

    // ------------------------------------------------------------------------------------------ as a leader

    /**
     * Another life of a node wants to be taken in, or says that it still lives.
     *
     * @param gone who was given up
     */
    void applied(int from, GridMessage.Apply apply, Set<Integer> gone, long nowNanos) {
        if (!commits.isLeading() || (giving != null && nowNanos - giving.heardNanos <= patienceNanos)) {
            return;
        }
        Configuration of = commits.configuration();
        Configuration.Member before = of.of(from);
        if (before != null) {
            // Who was taken in, and does not know, begins another life.
            if (before.process() != apply.process()) {
                commits.takeOut(from);
            }
            return;
        }
        Optional<Integer> replaced = of.nodes().stream().filter(gone::contains).filter(commits::mayTakeOut).findFirst();
        if (replaced.isPresent()) {
            commits.takeOut(replaced.get());
            return;
        }
        GroupCommit.State state = commits.mayTakeIn() ? commits.give(from, apply.process()) : null;
        if (state == null) {
            return;
        }
        Stream<GridMessage.Copy> copies = store.keys(_ -> true).stream().flatMap(this::copies);
        Giving to = new Giving(from, apply, ++number, copies.toList().iterator(),
                state.undecided().stream().map(GroupCommit.Undecided::name).collect(Collectors.toSet()));
        to.heardNanos = nowNanos;
        giving = to;
        sender.accept(from, new GridMessage.Given(number, state.delivered(), state.floor(), state.present(),
                store.horizon(), store.timeHorizonMillis(), state.layouts()));
        sender.accept(from,
                new GridMessage.Over(number, state.over().finishedBelow(), state.over().messages()));
        state.undecided().forEach(one -> sender.accept(from, new GridMessage.Undecided(number, one.name(), one.id(),
                one.request().bytes(), one.stamp(), one.floor(), one.votes())));
        decided(from, state.outcomes());
    }

    private void decided(int to, List<CommitMessage.Outcome> outcomes) {
        for (int i = 0; i < outcomes.size(); i += OUTCOMES_MAX) {
            sender.accept(to, new GridMessage.Decided(number,
                    outcomes.subList(i, Math.min(i + OUTCOMES_MAX, outcomes.size()))));
        }
    }

    private Stream<GridMessage.Copy> copies(Key key) {
        return store.versions(key).stream().map(version -> new GridMessage.Copy(key, version));
    }

    private @Nullable Giving givingTo(int to, long of) {
        return giving != null && giving.to == to && giving.number == of ? giving : null;
    }

    /** The next part is asked for. */
    void fetch(int from, GridMessage.Fetch fetch, long nowNanos) {
        Giving to = givingTo(from, fetch.view());
        if (to == null) {
            return;
        }
        to.heardNanos = nowNanos;
        List<GridMessage.Copy> part = GridMessage.Copy.part(to.copies);
        sender.accept(from, new GridMessage.Copies(fetch.view(), !to.copies.hasNext(), part));
    }

    /** All has been copied. */
    void taken(int from, GridMessage.Taken taken, long nowNanos) {
        Giving to = givingTo(from, taken.number());
        if (to != null) {
            to.heardNanos = nowNanos;
            to.isTaken = true;
            takeIn(to);
        }
    }

    /** Takes in who has copied all, once it can be told of all outcomes of what waited for votes then: it might find nobody else who knows. */
    private void takeIn(Giving to) {
        if (to.isTaken && commits.areDecided(to.undecided)) {
            to.isTaken = false;
            decided(to.to, commits.outcomes());
            commits.takeIn(to.to, to.process, to.address);
        }
    }

    // ------------------------------------------------------------------------------------------ as a new life

    /**
     * Applies, or says that it still lives.
     *
     * @param address where it listens
     * @param nodes of the further group that it wants to found or join; none of any other
     */
    void apply(Set<Integer> to, String address, Set<Integer> nodes) {
        to.forEach(node -> sender.accept(node, new GridMessage.Apply(process, address, nodes)));
    }

    /** What this life is given has come, or a part of it. What belongs to no copy that goes on is dropped. */
    void received(int from, GridMessage message, long nowNanos) {
        if (message instanceof GridMessage.Given given && copying == null) {
            copying = new Copying(from, given);
            copying.heardNanos = nowNanos;
            sender.accept(from, new GridMessage.Fetch(given.number(), true));
            return;
        }
        Copying all = copying;
        if (all == null || all.from != from) {
            return;
        }
        long of = all.given.number();
        switch (message) {
            case GridMessage.Undecided one when one.number() == of -> all.undecided.add(new GroupCommit.Undecided(
                    one.name(), one.id(), CommitRequest.decode(one.request()), one.stamp(), one.floor(), one.votes()));
            case GridMessage.Over some when some.number() == of ->
                all.over = new GroupMulticast.Over(some.finishedBelow(), some.messages());
            case GridMessage.Decided some when some.number() == of -> all.outcomes.addAll(some.outcomes());
            case GridMessage.Copies part when part.view() == of -> {
                // Not when it is taken in, for which its group waits.
                part.copies().forEach(copy -> store.apply(copy.key(), copy.version()));
                all.copied += part.copies().size();
                all.isWhole = part.last();
                sender.accept(from, part.last() ? new GridMessage.Taken(of) : new GridMessage.Fetch(of, false));
            }
            default -> {
                return;
            }
        }
        all.heardNanos = nowNanos;
    }

    /** A part of such a ballot has come. */
    void part(int from, GenuineMessage.Part part, long nowNanos) {
        Copying all = copying;
        if (all != null && all.from == from) {
            all.heardNanos = nowNanos;
        }
        commits.received(from, part);
    }

    /** A ballot has come, in which this life is taken in, perhaps. */
    void installed(int from, GenuineMessage.Install install) {
        Copying all = copying;
        if (all != null && all.isWhole && commits.wouldTakeIn(from, install, all.given.delivered())) {
            store.trim(all.given.horizon(), all.given.timeMillis());
            commits.given(all.state());
            copying = null;
        }
        commits.received(from, install);
    }
}
