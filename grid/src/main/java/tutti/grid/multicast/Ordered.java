package tutti.grid.multicast;

import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import tutti.core.txn.TransactionId;

/**
 * A message as one node knows it: from when it has come until nobody can ask for it any more. Changed by {@link Multicast} only.
 */
public final class Ordered {
    private final TransactionId id;
    private final int[] destinations;
    private final byte[] payload;
    /** The own proposal, or 0 at a sender that is no destination; once it is known, the final stamp. */
    private long stamp;
    private boolean known;
    boolean delivered;
    /** What destinations have proposed, as far as it has come. */
    final Map<Integer, Long> proposals = new LinkedHashMap<>();
    /** Nodes that hold what determines the final stamp, as far as this one knows. */
    final Set<Integer> holders = new HashSet<>();
    /** After a crash, where this node coordinates: the stamps with which destinations have answered. */
    final Map<Integer, Long> answers = new LinkedHashMap<>(0);
    Recovery recovery = Recovery.NONE;

    /** How far its coordinator is with finding out the final stamp after a crash. */
    enum Recovery {
        /** There is nothing to find out, or another node does. */
        NONE,
        /** Destinations are asked whether they know it. */
        ASKED,
        /** Nobody does; they are asked for other proposals. */
        RENEWED
    }

    Ordered(TransactionId id, int[] destinations, byte[] payload) {
        this.id = id;
        this.destinations = destinations;
        this.payload = payload;
    }

    /** Its name; the node in it is the sender. */
    public TransactionId id() {
        return id;
    }

    /** Where it is delivered, ascending. Not to be modified. */
    public int[] destinations() {
        return destinations;
    }

    /** What it says. Not to be modified. */
    public byte[] payload() {
        return payload;
    }

    /** Whether {@link #stamp} is the final one. */
    public boolean isKnown() {
        return known;
    }

    /** Its final stamp; as long as that is not known, a bound that it will not be below. */
    public long stamp() {
        return stamp;
    }

    void stamp(long other, boolean isFinal) {
        stamp = other;
        known = isFinal;
    }

    int sender() {
        return id.node();
    }

    boolean goesTo(int node) {
        return Arrays.binarySearch(destinations, node) >= 0;
    }

    /** Whether a node takes part: as sender or destination. */
    boolean concerns(int node) {
        return node == sender() || goesTo(node);
    }

    @Override
    public String toString() {
        return id + " to " + Arrays.toString(destinations) + (known ? " ordered at " : " pending at ") + stamp
                + (delivered ? ", delivered" : "");
    }
}
