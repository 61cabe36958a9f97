package tutti.node;

import java.io.IOException;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.txn.TransactionId;

/**
 * Does what nodes tell each other through the order besides the protocol's messages: lives that begin and end, from where on
 * each would need the log, questions about transactions and positions. Of the replica's loop.
 */
final class ControlMessages {
    private static final Logger LOG = LoggerFactory.getLogger(ControlMessages.class);

    /** What of the node is needed here. */
    interface Node {
        /** Has all nodes told something, in the order. */
        void send(Control control);

        /** Whether the engine held a position when this life began. */
        boolean engineHeld(long position);

        /** Other nodes take part than before, or fewer. */
        void membersChanged();

        /** A node has come to a position, if its database was in trouble before. */
        void isBeyond(int number, long position);

        /** This life's first message was delivered: all that was ordered before the node began lies before it. */
        void joinedAt(long position);

        /** The node cannot go on. */
        void fail(Throwable cause, boolean restartable);
    }

    /**
     * This life of this node.
     *
     * @param node its number
     * @param replicas numbers of all nodes
     * @param incarnation number of the life
     * @param mark of the life alone
     * @param protocol that it runs
     */
    record Life(int node, Set<Integer> replicas, long incarnation, long mark, ChosenProtocol protocol) {
        /** How it announces itself. */
        Control.Hello hello() {
            return new Control.Hello(incarnation, mark, protocol.toString());
        }

        private boolean is(int number, long life) {
            return number == node && life == incarnation;
        }
    }

    private final Life life;
    private final ClusterProtocol protocol;
    private final NodeFiles files;
    private final Outcomes outcomes;
    private final Questions questions;
    private final ClientTransactions transactions;
    private final LogKeeping logKeeping;
    private final Ballots ballots;
    private final Settlement settlement;
    private final Copies copies;
    private final MemberChanges changes;
    private final PlacementChanges placements;
    private final Node node;

    ControlMessages(Life life, ClusterProtocol protocol, NodeFiles files, Outcomes outcomes, Questions questions,
            ClientTransactions transactions, LogKeeping logKeeping, Ballots ballots, Settlement settlement,
            Copies copies, MemberChanges changes, PlacementChanges placements, Node node) {
        this.life = life;
        this.protocol = protocol;
        this.files = files;
        this.outcomes = outcomes;
        this.questions = questions;
        this.transactions = transactions;
        this.logKeeping = logKeeping;
        this.ballots = ballots;
        this.settlement = settlement;
        this.copies = copies;
        this.changes = changes;
        this.placements = placements;
        this.node = node;
    }

    /** One was delivered. */
    void delivered(long position, int sender, Control control) {
        switch (control) {
            case Control.Hello hello -> onHello(position, sender, hello);
            case Control.Restart told -> logKeeping.toldRestart(sender, told.position());
            case Control.Question question -> {
                TransactionId asked = question.transaction();
                if (life.is(asked.node(), asked.incarnation())) {
                    transactions.end(asked, () -> node.send(new Control.Ended(asked)));
                }
                if (sender == life.node()) {
                    questions.delivered(asked);
                }
            }
            case Control.Ended ended -> {
                if (sender == ended.transaction().node()) {
                    questions.ended(ended.transaction());
                }
            }
            case Control.Again told -> {
                if (sender == told.name().node()) {
                    outcomes.again(told.name(), told.run());
                }
            }
            case Control.Booked told -> transactions.bookings().delivered(sender, told, position);
            case Control.BookedFor told -> transactions.bookings().delivered(sender, told);
            case Control.BookingOver told -> transactions.bookings().delivered(sender, told, position);
            case Control.Inapplicable told -> settlement.delivered(sender, told, Set.of());
            case Control.InapplicableToKeepers told -> settlement.delivered(sender, told.told(), told.tables());
            case Control.Applied told -> settlement.delivered(sender, told);
            case Control.Decided told -> settlement.delivered(told);
            case Control.Fence fence when fence.node() == sender -> {
                // It holds what others do not, and knows.
                outcomes.fence(sender, fence.incarnation());
                settlement.excludes(sender);
            }
            case Control.Fence fence -> {
                if (outcomes.fence(fence.node(), fence.incarnation())
                        && life.is(fence.node(), fence.incarnation())) {
                    node.fail(new IllegalStateException("node " + sender + " took this node for lost and told a"
                            + " client so; what is under way here counts for nothing, so it begins anew"), true);
                }
            }
            case Control.Mark mark -> {
                if (sender == life.node()) {
                    questions.marked(mark.number(), position);
                }
            }
            case Control.Replaced told -> copies.replaced(position, sender, told);
            case Control.Look _ -> {
                // What is to be done at its position has been decided with that.
            }
            case Control.Changed told -> changes.delivered(position, sender, told);
            case Control.CaughtUp told -> changes.delivered(position, sender, told);
            case Control.Place told -> placements.delivered(position, sender, told);
            case Control.Placed told -> placements.delivered(position, sender, told);
            case Control.Said said -> throw new Defect("a message of the protocol is not for the node: " + said);
            case Control.Traced said -> throw new Defect("a message of the protocol is not for the node: " + said);
        }
    }

    /** One was delivered to a node that takes part in the order and in nothing else. */
    void deliveredToExcluded(long position, int sender, Control control) {
        // Of changes of the members its order hears from the others: here it is not known any more whose messages count.
        if (control instanceof Control.Restart told) {
            // Its own part of the log must not grow for ever.
            logKeeping.mayHaveBeenWritten(position);
            logKeeping.toldRestart(sender, told.position());
        } else if (control instanceof Control.Replaced told) {
            copies.replaced(position, sender, told);
        }
    }

    private void onHello(long position, int sender, Control.Hello hello) {
        boolean admitted = protocol.admits(sender, hello.protocol());
        long lastLife = outcomes.lastLife(sender);
        boolean born = outcomes.born(sender, hello.incarnation());
        transactions.bookings().born(sender, hello.incarnation(), position);
        if (!admitted) {
            LOG.warn(
                    "node {}: node {} runs protocol {}, not {} as the cluster does, and takes no part: nothing counts that it says in this life",
                    life.node(), sender, hello.protocol(), life.protocol());
            outcomes.fence(sender, outcomes.lastLife(sender));
            return;
        }
        if (born && ballots.born(sender)) {
            node.membersChanged();
        }
        node.isBeyond(sender, Long.MAX_VALUE); // it says so again if it is in trouble
        if (sender != life.node() || hello.mark() != life.mark()) {
            return;
        }
        if (node.engineHeld(position)) {
            throw new IllegalStateException("the order gave this node's first message position " + position
                    + ", which its database held before: the order has lost what was committed, or the database belongs to"
                    + " another cluster; restore the order's data at a majority of the nodes, or give this node a copy of"
                    + " another node's database");
        }
        if (born) {
            node.joinedAt(position);
        } else {
            beginAnewAfter(lastLife);
        }
    }

    /** This life's number has been used before, as its file was lost or put back from an old copy. */
    private void beginAnewAfter(long lastLife) {
        try {
            files.keepIncarnation(lastLife);
        } catch (IOException broken) {
            node.fail(broken, false);
            return;
        }
        node.fail(new IllegalStateException("this node has lost count of its lives: this is number "
                + life.incarnation() + ", but the cluster has heard of number " + lastLife
                + "; it begins anew behind that"), true);
    }
}
