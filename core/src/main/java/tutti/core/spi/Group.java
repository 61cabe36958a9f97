package tutti.core.spi;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
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
     * @param since it does not count if another one about the node lies behind this position: then its sender was asked before
     * @param position of the message
     */
    default void replaced(int node, long directory, long since, long position) {}

    /** Whether members may come and go while it runs: {@link #members} is understood. */
    default boolean changesMembers() {
        return false;
    }

    /**
     * With which members the log began, whoever has come and gone since.
     *
     * @param configured as this node is configured
     */
    default Set<Integer> founders(Set<Integer> configured) {
        return configured;
    }

    /** The members as this node knows them; without addresses where they do not change. Cheap. */
    default Members members() {
        return new Members(0, new TreeMap<>(), Set.of(), new TreeMap<>());
    }

    /**
     * The cluster has other members. Told at all nodes by a message in the log, some time after it is delivered; who decides what
     * is ordered follows by itself, one node after the other. A list with a lower number than the last one means nothing.
     */
    default void members(Members now) {
        throw new UnsupportedOperationException("members of this group stay the same");
    }

    /** Who can be reached, as last told to the listener. Cheap. */
    View view();

    /**
     * The newest version in which a message for all members may be written ({@link Versions#SPOKEN}): all of them are known to
     * read it. Cheap. A group in one process, where all are of one build, need not find out.
     */
    default int wireVersion() {
        return Versions.SPOKEN.newest();
    }

    /** To apply, of a row that changes, some columns only: what an engine may say of a row when all nodes can. */
    String COLUMNS = "columns";

    /** To read what is ordered with a trace context. */
    String TRACES = "traces";

    /** To place tables on some nodes only while the cluster serves. */
    String PLACEMENTS = "placements";

    /** To keep several databases: what may be ordered of others than the configured one when all nodes can. */
    String DATABASES = "databases";

    /** To apply changes of large objects: what may be told of a transaction when all nodes can. */
    String LARGE_OBJECTS = "large-objects";

    /**
     * Whether all members are known to be able to do something besides reading messages of that version; whoever has not been heard is
     * not. It may stop being so, when somebody joins. Cheap, from any thread.
     *
     * @param capability its name, such as {@link #COLUMNS}
     */
    default boolean allCan(String capability) {
        return true;
    }

    /**
     * Tells the others from now on that this node can do something besides what its build can. Called before {@link #join}, if at all. A group in
     * one process takes no notice.
     *
     * @param capabilities names that no build uses, of 64 bytes at most; {@value #OWN_CAPABILITIES_MAX} at most
     */
    default void can(Set<String> capabilities) {}

    /** Most capabilities that a node can have of its own. */
    int OWN_CAPABILITIES_MAX = 50;

    /**
     * Which other members are not known to be able to do something; of those that cannot be reached it may be forgotten. Cheap, from any thread.
     *
     * @param capability its name; members may have told names of their own
     */
    default Set<Integer> unable(String capability) {
        return Set.of();
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
     * The members of a cluster as of a position.
     *
     * @param number position of the message since which it is so; 0 for those with which the cluster began
     * @param addresses by number of the node: host and port at which the others reach its order
     * @param learners those that are delivered everything and decide nothing, until they have caught up
     * @param removed those that were members, by numbers that are never given to others, and where they were
     */
    record Members(long number, SortedMap<Integer, String> addresses, Set<Integer> learners,
            SortedMap<Integer, String> removed) {
        /** Host and port. */
        private static final Type<Map<Integer, String>> ADDRESSES = Types.map(Types.u8(0, 255), Types.text(300), 256);
        /** As parts of messages. */
        public static final Schema<Members> SCHEMA = Schema.part("members", Members.class).of(
                Field.of("number", Types.NATURAL, Members::number),
                Field.of("addresses", ADDRESSES, Members::addresses),
                Field.of("learners", Types.set(Types.u8(0, 255), 256), Members::learners),
                Field.of("removed", ADDRESSES, Members::removed),
                (number, addresses, learners, removed) -> new Members(number, new TreeMap<>(addresses), learners,
                        new TreeMap<>(removed)));

        /** Copies all. */
        public Members {
            addresses = Collections.unmodifiableSortedMap(new TreeMap<>(addresses));
            learners = Collections.unmodifiableSet(new TreeSet<>(learners));
            removed = Collections.unmodifiableSortedMap(new TreeMap<>(removed));
        }
    }

    /**
     * Who can be reached.
     *
     * @param members nodes believed alive, this one included; in ascending order
     * @param majority whether this node can have messages ordered now
     * @param leader the node that orders, or -1 if there is none
     * @param lost why nothing is ordered though enough nodes may be there, now or for good, and what is to be done about it, in words; null
     *            if that is not so
     */
    record View(Set<Integer> members, boolean majority, int leader, @Nullable String lost) {
        /** Before anything is known. */
        public static final View NONE = new View(Set.of(), false, -1);

        /** Copies the members. */
        public View {
            members = Collections.unmodifiableSet(new TreeSet<>(members));
            if (majority && lost != null) {
                throw new IllegalArgumentException(
                        "a node cannot have messages ordered in an order that is lost: " + lost);
            }
        }

        /** Of an order that is not lost. */
        public View(Set<Integer> members, boolean majority, int leader) {
            this(members, majority, leader, null);
        }
    }
}
