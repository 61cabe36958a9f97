package tutti.core.protocol;

import java.util.Set;
import tutti.core.certify.CertificationIndex;

/** Checks of parameters that several protocols have. */
final class Checks {
    private Checks() {}

    /** All replicas, of which {@code node} must be one. */
    static Set<Integer> replicas(int node, Set<Integer> replicas) {
        if (!replicas.contains(node)) {
            throw new IllegalArgumentException("node " + node + " is not among the replicas " + replicas);
        }
        return Set.copyOf(replicas);
    }

    /** The replicas with which the order began, where others may come and go: a replica need not be one of them. */
    static Set<Integer> founders(Set<Integer> replicas) {
        if (replicas.isEmpty()) {
            throw new IllegalArgumentException("no replicas");
        }
        return Set.copyOf(replicas);
    }

    /** How far back a transaction may have executed, in positions, and how many keys are remembered at most. */
    static void window(long windowPositions, int keysMax) {
        keys(keysMax);
        if (windowPositions < 1 || windowPositions > CertificationIndex.SPAN_MAX / 2) {
            throw new IllegalArgumentException("windowPositions " + windowPositions);
        }
    }

    /** How many keys are remembered at most. */
    static void keys(int keysMax) {
        if (keysMax < 1) {
            throw new IllegalArgumentException("keysMax " + keysMax);
        }
    }

    /** A time in nanoseconds, which must be positive. */
    static void time(String name, long nanos) {
        if (nanos < 1) {
            throw new IllegalArgumentException(name + " " + nanos);
        }
    }
}
