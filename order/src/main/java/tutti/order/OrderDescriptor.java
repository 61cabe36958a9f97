package tutti.order;

import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import tutti.core.spi.Order;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * A kind of order that nodes can have: how it is called, what it promises, and how it is opened. An implementation is named in
 * {@code META-INF/services/tutti.order.OrderDescriptor} of the jar that holds it, and needs to be named nowhere else.
 */
public interface OrderDescriptor {
    /** Its name in configurations. */
    String name();

    /** What becomes of what is ordered when nodes stop. */
    Durability durability();

    /** Longest message that it can take, in bytes. */
    int payloadBytesMax();

    /** Whether some of the nodes can decide without the others. */
    boolean hasVoters();

    /**
     * Looks whether it can be opened with these parameters, which it alone understands.
     *
     * @throws IllegalArgumentException naming the parameter, what is wrong with it, and what is valid
     */
    default void check(Map<String, String> parameters) {
        if (!parameters.isEmpty()) {
            throw new IllegalArgumentException("order " + name() + " has no parameters, but is given "
                    + String.join(", ", new TreeSet<>(parameters.keySet())) + "; leave them out");
        }
    }

    /** Whether nodes tell each other things by datagrams, which are authenticated by a secret that all share. */
    default boolean usesDatagrams() {
        return false;
    }

    /**
     * Opens a node's part.
     *
     * @param directory of this node's order alone
     * @throws IOException if directory or port cannot be used; it says why, and what to do
     */
    Order open(OrderSettings settings, Machine machine, Directory directory) throws IOException;

    /**
     * Makes a copy of another node's directory, which nobody uses, that of this node: with what was ordered, and without what the
     * other node has promised. This node must be forgotten by the others first, if they have known it. May be done again if it was
     * cut short.
     *
     * @param directory of this node's order alone
     * @param number of the directory from now on, which no other has
     * @throws IOException if it cannot be; it says why, and what to do
     */
    default void adopt(OrderSettings settings, Machine machine, Directory directory, long number) throws IOException {
        throw new IOException("an order of kind " + name() + " keeps nothing in " + directory.location()
                + " that could be adopted: remove that, and start the node");
    }

    /**
     * Makes a copy that ends with a position, for {@link #adopt}, from copies of the same order ({@link CopiedOrder#copy}).
     *
     * @param copies each but the first with what was ordered behind those before it, and perhaps something of that again
     * @param into an empty directory
     * @return the position that it ends with: an earlier one if the copies have no more
     * @throws IOException if something is missing between two of them, or cannot be read or written
     */
    default long join(OrderSettings settings, Machine machine, List<Directory> copies, long position, Directory into)
            throws IOException {
        throw new IOException("an order of kind " + name() + " has no copies");
    }

    /**
     * How far a node's log reaches.
     *
     * @param term of its last entry: of two logs the one with the higher term has more, whatever the number of entries
     * @param entry number of its last entry
     * @param position the last that it holds; perhaps not all up to there is known to be decided
     */
    record Reach(int term, long entry, long position) implements Comparable<Reach> {
        @Override
        public int compareTo(Reach other) {
            return term == other.term ? Long.compare(entry, other.entry) : Integer.compare(term, other.term);
        }
    }

    /**
     * How far the log in a directory reaches that nobody uses.
     *
     * @throws IOException if there is none, or it cannot be used any more
     */
    default Reach reach(OrderSettings settings, Machine machine, Directory directory) throws IOException {
        throw new IOException("an order of kind " + name() + " keeps nothing when its nodes stop");
    }

    /**
     * Begins another history with what one node has, after the majority was lost: a copy of its directory becomes that of this node, as by
     * {@link #adopt}, and of every other member only a directory that was made in the same way is welcome to it. May be done again if it was cut short.
     *
     * @param directory of this node's order alone
     * @param history name of the history: the same at all members, and never used before
     * @throws IOException if it cannot be; it says why, and what to do
     */
    default void beginAgain(OrderSettings settings, Machine machine, Directory directory, String history)
            throws IOException {
        throw new IOException("an order of kind " + name() + " keeps nothing when its nodes stop");
    }

    /** What becomes of what is ordered when nodes stop. */
    enum Durability {
        /** It is on the disks of a majority of nodes before it counts. */
        DISK,
        /** It is in the memory of a majority of nodes, and lost when a majority stops, whatever of it databases hold. */
        NONE;

        /** In configurations. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
