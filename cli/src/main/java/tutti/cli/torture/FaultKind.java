package tutti.cli.torture;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import tutti.command.Failure;

/** What is done to a cluster. */
public enum FaultKind {
    /** A node and its database are killed, and started again. */
    KILL(Need.NOTHING),
    /** All nodes and their databases are killed at a time, and started again. */
    POWER(Need.NOTHING),
    /** A node and its database stand still. */
    PAUSE(Need.NOTHING),
    /** A node and the other nodes do not hear each other; clients reach all of them. */
    PARTITION(Need.NETWORK),
    /** Only one direction between a node and the others is lost. */
    ONE_WAY(Need.NETWORK),
    /** A node is cut off from everything, clients included. */
    ISOLATION(Need.NETWORK),
    /** The database server beneath a node is killed. */
    ENGINE_KILL(Need.SERVER),
    /** The database server beneath a node stands still. */
    ENGINE_HANG(Need.SERVER),
    /** A node's disk has no space left. */
    DISK_FULL(Need.FILE_SYSTEM),
    /** Somebody else keeps a node's disk busy: what it forces to disk takes long. */
    DISK_SLOW(Need.DISK),
    /** A node's directory is lost; it gets a copy of another's by itself. */
    LOST_DIRECTORY(Need.NOTHING),
    /** All nodes are stopped and started, one after the other. */
    ROLLING_RESTART(Need.NOTHING),
    /** A node's clock is set minutes or up to an hour forward or back, and later right again; its databases' as well. */
    CLOCK(Need.CLOCK),
    /** A further node joins, stays for a while, and is removed. */
    MEMBER_ADD(Need.MEMBERS),
    /** A further node joins, another takes its place, and that is removed. */
    MEMBER_REPLACE(Need.MEMBERS),
    /** A node is stopped, and started where the others find it at another address. */
    MEMBER_MOVE(Need.MEMBERS);

    /** What a fault takes. */
    enum Need {
        /** Any machine. */
        NOTHING,
        /** Networks of the nodes' own. */
        NETWORK,
        /** A database server as a process of its own. */
        SERVER,
        /** A small file system for each node. */
        FILE_SYSTEM,
        /** One that is on a disk. */
        DISK,
        /** Clocks of the nodes' own. */
        CLOCK,
        /** A protocol under which members change. */
        MEMBERS
    }

    private final Need need;

    FaultKind(Need need) {
        this.need = need;
    }

    /** What it takes. */
    Need need() {
        return need;
    }

    /** As options and reports call it. */
    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Whether the node that it is done to may end, although nobody has ended it. */
    boolean mayEndTheNode() {
        return this == DISK_FULL;
    }

    /** Labels of all. */
    public static String labels() {
        return Arrays.stream(values()).map(FaultKind::label).collect(Collectors.joining(", "));
    }

    /**
     * Kinds by their labels.
     *
     * @param list separated by commas; {@code all} for all
     * @throws Failure if there is no such kind
     */
    public static Set<FaultKind> parse(String list) {
        Set<FaultKind> kinds = new LinkedHashSet<>();
        for (String word : List.of(list.strip().split("\\s*,\\s*"))) {
            if (word.equals("all")) {
                kinds.addAll(List.of(values()));
                continue;
            }
            kinds.add(Arrays.stream(values()).filter(kind -> kind.label().equals(word)).findFirst()
                    .orElseThrow(() -> Failure.usage("there is no fault " + word, "choose of all, " + labels())));
        }
        return kinds;
    }
}
