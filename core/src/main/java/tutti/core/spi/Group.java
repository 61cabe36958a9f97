package tutti.core.spi;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import tutti.core.schema.Versions;

/**
 * The nodes of one cluster as one of them sees them: who is there, who leads, and messages between them that need no order.
 *
 * <p>
 * <b>Threads.</b> All methods may be called from any thread. The listener is called one call at a time.
 */
public interface Group extends AutoCloseable {
    /** Names who hears of the group. Called once at most, and before the {@link DurableLog} of the same order is started. */
    void join(Listener listener);

    /**
     * Sends a message to some nodes outside of the order: soon, and reliably as long as this node and the receiver live
     * and can reach each other; otherwise it may be lost. Messages between two nodes are received in the order in which
     * they were sent, each at most once; nothing is promised about several nodes, or about messages that are ordered.
     *
     * @param payload at most {@link DurableLog#maxPayloadBytes()}; must not be modified afterwards
     * @param nodes members of the group; this one may be among them
     */
    void multicast(byte[] payload, Set<Integer> nodes);

    /**
     * Advice: nothing is ordered faster than one of these nodes answers, so one of them should lead. Empty if it does not
     * matter. A group without leader, or whose leader cannot change, takes no notice.
     */
    default void prefer(Set<Integer> nodes) {}

    /**
     * A node that has lost what it had, or may not use it any more, begins anew with a copy: it is to be let in with that. Told at
     * all nodes by a message in the log. A group that remembers nothing of its members takes no notice.
     *
     * @param directory number of the copy, which no other has
     * @param position of the message
     */
    default void replaced(int node, long directory, long position) {}

    /** Who can be reached, as last told to the listener. Cheap. */
    View view();

    /**
     * The newest version in which a message for all members may be written ({@link Versions#SPOKEN}): all of them are known to
     * read it. Cheap. A group in one process, where all are of one build, need not find out.
     */
    default int wireVersion() {
        return Versions.SPOKEN.newest();
    }

    /**
     * How many connections or datagrams were dropped since it was opened, because nobody had sent them who may, or for what came
     * with them. Cheap.
     */
    default long refused() {
        return 0;
    }

    /** Leaves. No call of the listener begins after it returns. */
    @Override
    void close();

    /** Hears of the group. */
    interface Listener {
        /**
         * A message came by {@link Group#multicast}.
         *
         * @param payload valid during the call only
         */
        default void received(int sender, ByteBuffer payload) {}

        /** Membership or reachability changed. Told once soon after start, then upon every change. */
        void view(View view);
    }

    /**
     * Who can be reached.
     *
     * @param members nodes believed alive, this one included; in ascending order
     * @param majority whether this node can have messages ordered now
     * @param leader the node that orders, or -1 if there is none
     */
    record View(Set<Integer> members, boolean majority, int leader) {
        /** Before anything is known. */
        public static final View NONE = new View(Set.of(), false, -1);

        /** Copies the members. */
        public View {
            members = Collections.unmodifiableSet(new TreeSet<>(members));
        }
    }
}
