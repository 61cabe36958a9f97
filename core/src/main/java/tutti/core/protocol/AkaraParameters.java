package tutti.core.protocol;

import java.util.Set;

/**
 * What {@link Akara} is told when it begins; the same at every replica except {@code node}.
 *
 * @param node this replica
 * @param replicas all replicas, alive or not, this one included
 * @param optimisticMax n: how many transactions are executed optimistically side by side at a replica; 0 makes it
 *            {@link Nodo}
 * @param serializable whether reads are certified too
 * @param activeIfPossible whether requests that may run {@linkplain TransactionRequest.Placement#EITHER either way} are active
 * @param whenEarly what becomes of who has executed before its turn
 * @param patienceNanos after how long, at least, a transaction that is first and has not been executed is given
 *            priority, in nanoseconds
 * @param resolveIntervalNanos how long a transaction whose replica is gone keeps its places before its release is
 *            asked for again, in nanoseconds
 * @param keysMax how many keys of those that committed are remembered at most, at least 1
 */
record AkaraParameters(int node, Set<Integer> replicas, int optimisticMax, boolean serializable,
        boolean activeIfPossible, WhenEarly whenEarly, long patienceNanos, long resolveIntervalNanos, int keysMax) {
    /** Line 57: what becomes of t, which has executed, while an earlier one of other classes still executes. */
    enum WhenEarly {
        /** It waits for its turn. */
        WAIT,
        /** It is rolled back: line 57 literally. */
        ABORT,
        /** It is rolled back if the earlier one waits for it in the engine: section 3.2. */
        ABORT_IF_BLOCKING
    }

    AkaraParameters {
        replicas = Checks.replicas(node, replicas);
        if (optimisticMax < 0) {
            throw new IllegalArgumentException("optimisticMax " + optimisticMax);
        }
        Checks.keys(keysMax);
        Checks.time("patienceNanos", patienceNanos);
        Checks.time("resolveIntervalNanos", resolveIntervalNanos);
    }
}
