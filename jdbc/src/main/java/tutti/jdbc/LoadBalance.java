package tutti.jdbc;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** The order in which nodes are tried for a new connection. */
enum LoadBalance {
    /** As the URL lists them. */
    LISTED,
    /** In any. */
    RANDOM,
    /** Each connection begins behind the last one. */
    ROUND_ROBIN,
    /** Those first to which this virtual machine has the fewest connections; among equals as with RANDOM. */
    LEAST_CONNECTIONS;

    static LoadBalance of(String value) {
        return switch (value) {
            case "true", "random" ->
                RANDOM;
            case "round-robin" ->
                ROUND_ROBIN;
            case "least-connections" ->
                LEAST_CONNECTIONS;
            default ->
                LISTED;
        };
    }

    /** The nodes in the order in which to try them. Those that could not be reached lately come last. */
    List<Node> arrange(List<Node> nodes, int turn, long nowNanos) {
        List<Node> arranged = new ArrayList<>(nodes);
        switch (this) {
            case LISTED -> {
            }
            case RANDOM ->
                Collections.shuffle(arranged, ThreadLocalRandom.current());
            case ROUND_ROBIN ->
                Collections.rotate(arranged, -Math.floorMod(turn, arranged.size()));
            case LEAST_CONNECTIONS -> {
                Collections.shuffle(arranged, ThreadLocalRandom.current());
                arranged.sort(Comparator.comparingInt(Node::connections));
            }
        }
        arranged.sort(Comparator.comparing(node -> node.avoided(nowNanos)));
        return arranged;
    }
}
