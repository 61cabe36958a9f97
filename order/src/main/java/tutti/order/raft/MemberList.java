package tutti.order.raft;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Group;
import tutti.runtime.Directory;

/**
 * The members of the cluster as this node knows them: those of its configuration, until a message in the order has changed them; from
 * then on what that said, in a file. Where they are is all that follows from this list alone. Who decides what is ordered is a matter
 * of {@link GroupChange}s in the log, for which the leader asks until they are as the list has it.
 *
 * @param now the newest list that is known of; of any two nodes one may know a newer one
 * @param words the members with which the cluster began, in words: the same at all nodes, for ever
 * @param founders the same as numbers
 */
record MemberList(Group.Members now, String words, Set<Integer> founders) {
    private static final Logger LOGGER = LoggerFactory.getLogger(MemberList.class);
    /** The file with them, where they have changed. */
    static final String FILE = "members";

    /** Reads what a directory has; if nothing was changed yet, the list is that of the configuration. */
    static MemberList read(Directory directory, RaftOrderConfig config) throws IOException {
        MemberList known = read(directory);
        if (known != null) {
            return known;
        }
        String words = config.membership();
        if (directory.exists(NodeDirectory.IDENTITY)) {
            String before = RaftFiles.read(directory, NodeDirectory.IDENTITY, RaftFiles.Identity.class).words();
            String began = before.substring(before.indexOf(" of ") + 4);
            words = elsewhere(began, config.self()).equals(elsewhere(words, config.self())) ? began : words;
        }
        return new MemberList(new Group.Members(0, addresses(config), Set.of(), new TreeMap<>()), words,
                config.members().keySet());
    }

    private static SortedMap<Integer, String> addresses(RaftOrderConfig config) {
        SortedMap<Integer, String> addresses = new TreeMap<>();
        config.members().forEach((id, address) -> addresses.put(id, address.getHostString() + ":" + address.getPort()));
        return addresses;
    }

    /** Members in words, wherever one of them is: it may have moved, and not have heard of that from the others. */
    private static String elsewhere(String words, int node) {
        return words.replaceFirst("(^|,)" + node + "=[^, ]*", "$1" + node + "=?");
    }

    /** Reads what a directory has; null if nothing was changed yet. */
    static @Nullable MemberList read(Directory directory) throws IOException {
        if (!directory.exists(FILE)) {
            return null;
        }
        RaftFiles.Members file = RaftFiles.read(directory, FILE, RaftFiles.Members.class);
        return new MemberList(file.now(), file.words(), file.founders());
    }

    /** Writes it into a directory; on disk when it returns. */
    void write(Directory into) throws IOException {
        RaftFiles.write(into, FILE, new RaftFiles.Members(now, words, founders));
    }

    MemberList with(Group.Members newer) {
        return new MemberList(newer, words, founders);
    }

    /** The same nodes, where a configuration has them. */
    MemberList at(RaftOrderConfig config) {
        return with(new Group.Members(now.number(), addresses(config), now.learners(), now.removed()));
    }

    /** Whether it is another one than that with which the cluster began. */
    boolean changed() {
        return now.number() > 0;
    }

    /** A node in words, as its directory has them. */
    String identity(int node) {
        return "node " + node + " of " + words;
    }

    /**
     * Where the others are, and those that were removed and still take part. Not one whose address is none: all nodes have the list, and go
     * on without that one until it is moved or removed.
     */
    SortedMap<Integer, InetSocketAddress> others(int self, VotingGroups.Group group) {
        SortedMap<Integer, String> texts = new TreeMap<>(now.removed());
        texts.keySet().retainAll(group.members());
        texts.putAll(now.addresses());
        texts.remove(self);
        SortedMap<Integer, InetSocketAddress> others = new TreeMap<>();
        texts.forEach((id, text) -> {
            try {
                others.put(id, address(text));
            } catch (IllegalArgumentException none) {
                LOGGER.error("node {}: nobody can connect to node {} at '{}', which is no address: move or remove it"
                        + " (`tutti nodes`)", self, id, text, none);
            }
        });
        return others;
    }

    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException(text + " is no host:port");
        }
        return InetSocketAddress.createUnresolved(text.substring(0, colon),
                Integer.parseInt(text, colon + 1, text.length(), 10));
    }

    /** What MicroRaft's leader has to ask for next, so that who takes part becomes what this list says; null for nothing. */
    GroupChange.@Nullable Step next(VotingGroups.Group group, int node) {
        boolean member = now.addresses().containsKey(node);
        if (member && !group.members().contains(node)) {
            return GroupChange.Step.COMES;
        }
        if (member && !now.learners().contains(node) && !group.voters().contains(node)) {
            return GroupChange.Step.VOTES;
        }
        return !member && group.members().contains(node) ? GroupChange.Step.GOES : null;
    }

    /**
     * For whom it is to be asked first, if for anybody. Whoever goes and is not there goes before all others, since a majority is fewer without it;
     * then come those who come; and whoever is there goes last. So a majority is never more than it must be, and never fewer of those who are there.
     *
     * @param present who is there
     */
    Optional<Integer> first(VotingGroups.Group group, Set<Integer> present) {
        return concerned(group).stream().filter(node -> next(group, node) != null)
                .min(Comparator.comparingInt(node -> turn(group, node, present)));
    }

    private int turn(VotingGroups.Group group, int node, Set<Integer> present) {
        if (next(group, node) != GroupChange.Step.GOES) {
            return 1;
        }
        return present.contains(node) ? 2 : 0;
    }

    /** All that are on this list or take part. */
    Set<Integer> concerned(VotingGroups.Group group) {
        Set<Integer> all = new TreeSet<>(now.addresses().keySet());
        all.addAll(group.members());
        return all;
    }
}
