package tutti.grid.view;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.grid.store.Sorted;

/**
 * One node's side of the agreement on views: which nodes go on when some are suspected to have crashed, which join, and where keys lie. A
 * pure state machine. Whoever suspects somebody, or has a {@linkplain #wish}, proposes the next view, if it is the lowest that is not
 * suspected. What may be wished for is another question; see {@code tutti.grid.node.Relocation}.
 *
 * <p>
 * <b>One view of each number.</b> The members of a view decide on the next one by single-decree Paxos (Lamport, Paxos Made Simple,
 * 2001), with {@link View#isQuorum quorums} of the present view. Any two quorums share a member, which is what Paxos needs; who knows
 * the next view answers with it and takes part no more in the ballots for it. Views are told on, so a node may skip some. A node that
 * joins takes part from the view on that it is in.
 *
 * <p>
 * <b>What it survives.</b> Any loss, delay, repetition and order of messages, and any suspicion, right or wrong. There is a next view as
 * long as a quorum of the present one lives and hears each other: after each view, fewer than half may crash before the next;
 * of two nodes, the higher one. Everybody else, apart from a quorum, stays in its view for ever and can finish nothing that
 * needs others.
 */
public final class ViewAgreement {
    private final int self;
    private final int ticksMax;
    private final BiConsumer<Integer, ViewMessage> sender;
    private final Consumer<View> installer;
    private View view;
    private Function<View, @Nullable View> wish = _ -> null;
    private final Set<Integer> suspects = new TreeSet<>();
    // As an acceptor, for the view after the present one.
    private long promised;
    private long acceptedBallot;
    private @Nullable View accepted;
    // As a proposer, likewise.
    private long ballot;
    private final Map<Integer, ViewMessage.Promise> promises = new HashMap<>();
    private final Set<Integer> acceptors = new TreeSet<>();
    private @Nullable View proposal;
    /** For how many ticks the next ballot of this node is waited for. */
    private int patience = 1;
    /** So many of them are left, for the last one. */
    private int ticksLeft;

    /**
     * In its first view.
     *
     * @param ticksMax for how many ticks a ballot is waited for at most, at least 1
     * @param sender sends a message to a node, or drops it; to this node it returns at once, and hands it in later
     * @param installer told of each view, which may lack this node: then it was taken for dead, and must stop
     */
    public ViewAgreement(int self, View first, int ticksMax, BiConsumer<Integer, ViewMessage> sender,
            Consumer<View> installer) {
        this.self = self;
        this.ticksMax = ticksMax;
        this.view = first;
        this.sender = sender;
        this.installer = installer;
    }

    /** The present view. */
    public View view() {
        return view;
    }

    /** From now on, what the next view should be if nobody is suspected, made from the present one; null if it is as it should be. */
    public void wish(Function<View, @Nullable View> next) {
        wish = next;
    }

    private @Nullable View wanted() {
        return suspects.isEmpty() ? wish.apply(view) : view.without(suspects);
    }

    /** Members that are believed to have crashed. */
    public Set<Integer> suspects() {
        return Sorted.copy(suspects);
    }

    /** A member is believed to have crashed, or not any more. */
    public void suspect(int node, boolean crashed) {
        if (crashed && node != self && view.has(node)) {
            suspects.add(node);
        } else {
            suspects.remove(node);
        }
    }

    /**
     * To be called now and then, and when somebody has become suspect: proposes, or proposes again. A ballot takes two round trips, which may be longer than a tick; so each of a view is waited for twice as long as the one before, and
     * that of another node as well.
     */
    public void tick() {
        ticksLeft = Math.max(0, ticksLeft - 1);
        int lowest = view.members().stream().filter(node -> !suspects.contains(node)).findFirst().orElse(self);
        if (lowest != self || !view.has(self) || ticksLeft > 0 || wanted() == null) {
            return;
        }
        ticksLeft = patience;
        patience = Math.min(2 * patience, ticksMax);
        // Ballots of different nodes differ in the last eight bits.
        ballot = (((Math.max(ballot, promised) >> Byte.SIZE) + 1) << Byte.SIZE) + self;
        promises.clear();
        acceptors.clear();
        proposal = null;
        send(new ViewMessage.Prepare(view.number() + 1, ballot));
    }

    private void send(ViewMessage message) {
        view.members().forEach(node -> sender.accept(node, message));
    }

    /** A message has come, from any node. */
    public void received(int from, ViewMessage message) {
        if (message instanceof ViewMessage.Installed installed) {
            install(installed.view());
        } else if (message.number() <= view.number()) {
            tell(from);
        } else if (message.number() == view.number() + 1 && view.has(from)) {
            switch (message) {
                case ViewMessage.Prepare prepare -> prepare(from, prepare);
                case ViewMessage.Promise promise -> promise(from, promise);
                case ViewMessage.Accept accept -> accept(from, accept);
                case ViewMessage.Accepted done -> accepted(from, done);
                case ViewMessage.Installed _ -> throw new IllegalStateException("it is handled above");
            }
        }
    }

    /** A node is in an earlier view. */
    public void tell(int node) {
        sender.accept(node, new ViewMessage.Installed(view));
    }

    private void prepare(int from, ViewMessage.Prepare prepare) {
        if (prepare.ballot() > promised) {
            promised = prepare.ballot();
            ticksLeft = from == self ? ticksLeft : patience;
            sender.accept(from, new ViewMessage.Promise(prepare.number(), promised, acceptedBallot, accepted));
        }
    }

    private void promise(int from, ViewMessage.Promise promise) {
        if (promise.ballot() != ballot || proposal != null) {
            return;
        }
        promises.put(from, promise);
        if (view.isQuorum(promises.keySet())) {
            View next = null;
            long highest = 0;
            for (ViewMessage.Promise one : promises.values()) {
                if (one.accepted() != null && one.acceptedBallot() > highest) {
                    highest = one.acceptedBallot();
                    next = one.accepted();
                }
            }
            if (next == null) {
                next = wanted();
            }
            if (next == null) {
                return;
            }
            proposal = next;
            send(new ViewMessage.Accept(ballot, next));
        }
    }

    private void accept(int from, ViewMessage.Accept accept) {
        if (accept.ballot() >= promised) {
            promised = accept.ballot();
            acceptedBallot = accept.ballot();
            accepted = accept.view();
            sender.accept(from, new ViewMessage.Accepted(accept.number(), acceptedBallot));
        }
    }

    private void accepted(int from, ViewMessage.Accepted done) {
        View decided = proposal;
        if (done.ballot() != ballot || decided == null) {
            return;
        }
        acceptors.add(from);
        if (view.isQuorum(acceptors)) {
            // Those who are left out, and those who join, are told, too.
            Set<Integer> all = new TreeSet<>(view.members());
            all.addAll(decided.members());
            all.stream().filter(node -> node != self)
                    .forEach(node -> sender.accept(node, new ViewMessage.Installed(decided)));
            install(decided);
        }
    }

    private void install(View next) {
        if (next.number() <= view.number()) {
            return;
        }
        view = next;
        suspects.retainAll(next.members());
        promised = 0;
        acceptedBallot = 0;
        accepted = null;
        ballot = 0;
        promises.clear();
        acceptors.clear();
        proposal = null;
        patience = 1;
        ticksLeft = 0;
        installer.accept(next);
    }
}
