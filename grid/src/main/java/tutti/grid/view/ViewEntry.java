package tutti.grid.view;

import java.util.HashMap;
import java.util.Map;

/**
 * Which view a node goes by when the next one has been agreed on. A pure state machine.
 *
 * <p>
 * <b>Two steps.</b> A node that learns of a view which lacks somebody <em>closes</em> the one before at once: it takes nothing any more from who is gone, and says so to all members. It <em>enters</em> the view, in
 * which stamps are drawn and commits decided without those who are gone, when all members have said that they have closed. What they say carries their clocks. So does the flush of virtual synchrony for messages (Birman and
 * Joseph, Exploiting Virtual Synchrony in Distributed Systems, 1987). A view that lacks nobody of the one before is entered at once.
 *
 * <p>
 * <b>What for.</b> A read at stamp b is right if its owner a, when it answered, knew every transaction that writes the key at a stamp up to b. As long as a takes part, its proposals see to that: its clock has seen b, so what comes to it
 * later gets a stamp above. When a is left out, transactions that have not come to it go on without its proposals, and who has not seen b may draw a stamp below it. A reader would then lack a commit of its snapshot, find it at another
 * owner, or write over it, since checks go by stamps.
 *
 * <p>
 * <b>Why that cannot be.</b> Such a stamp is at least one that was drawn in an entered view u without a, whether the transaction was sent in such a view or was disturbed by the crash (then owners propose anew, or the coordinator of
 * {@link tutti.grid.commit.TwoPhaseCommit} draws another). Let c be the node of the reader.
 * <ul>
 * <li><em>c is in u.</em> It has closed before anybody entered u. Its clock had then seen b, whenever a has answered, and whoever draws in u has seen what c's clock was. So the stamp is above b.
 * <li><em>c is not in u, and the reader commits.</em> Then somebody in u has got its request from c before closing, with c's clock, or from somebody who has; and said so by the clock with which it closed. The stamp is above b.
 * <li><em>c is not in u, and the reader only reads.</em> Nobody who has entered u takes anything from c, and c never enters u, so receives nothing that was sent in it: it finds nothing that was decided in u or is based on that, and is before all of it.
 * </ul>
 * The first two hold for what c keeps of a's entries, too: an entry is taken for stamps up to a's last word only, which c's clock has seen. And for a's share of the keys of a snapshot. So nothing need be known of who has answered what, nothing fails for
 * it that would not have failed otherwise, and what owners decide is still a matter of stamps alone. When keys move, nobody proposes any more who did, likewise; there each layout waits until all have been heard in the one before.
 *
 * <p>
 * <b>It ends.</b> Who does not close is not heard, or is suspected by somebody who is; then another view follows, which lacks it. Meanwhile nodes go on in the view before, with those who are left of it.
 */
public final class ViewEntry {
    private final Map<Integer, Long> closed = new HashMap<>();
    private View entered;

    /** Of a node in its first view. */
    public ViewEntry(View first) {
        entered = first;
    }

    /** The view that the node goes by. */
    public View entered() {
        return entered;
    }

    /** A member takes nothing any more from whoever is not in the view of this number, as it says with its clock, which this node has seen; or this node does. */
    public void closed(int node, long number) {
        closed.merge(node, number, Math::max);
    }

    /** Enters the view that was agreed on last, if that may be. Whether it has, now. */
    public boolean enter(View agreed) {
        boolean may = agreed.number() > entered.number() && (!lacksSomebody(agreed)
                || agreed.members().stream().allMatch(node -> closed.getOrDefault(node, 0L) >= agreed.number()));
        if (may) {
            entered = agreed;
        }
        return may;
    }

    /** Whether a view lacks somebody who is in the one that the node goes by. */
    public boolean lacksSomebody(View agreed) {
        return !agreed.members().containsAll(entered.members());
    }
}
