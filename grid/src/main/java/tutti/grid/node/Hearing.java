package tutti.grid.node;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** When others were heard last. One thread. */
final class Hearing {
    private final Map<Integer, Long> heardNanos = new HashMap<>();
    private long tickedNanos;

    /** From now on; nodes that were never heard get some time besides, since they may not have been started yet. */
    void start(Set<Integer> nodes, long nowNanos, long startNanos) {
        tickedNanos = nowNanos;
        nodes.forEach(node -> heardNanos.put(node, nowNanos + startNanos));
    }

    void heard(int node, long nowNanos) {
        heardNanos.put(node, nowNanos);
    }

    /**
     * To be called often. If this has not run for as long as this, what has come meanwhile was not read yet, so that time does not count; what others were silent for before does, or a node
     * whose machine is always late would never notice that another one has crashed.
     */
    void tick(long nowNanos, long lateNanos) {
        long pause = nowNanos - tickedNanos;
        if (pause > lateNanos) {
            heardNanos.replaceAll((_, heard) -> Math.max(heard, Math.min(nowNanos, heard + pause)));
        }
        tickedNanos = nowNanos;
    }

    /** Those of some nodes that were not heard for so long. */
    Set<Integer> silent(Set<Integer> of, long timeoutNanos) {
        Set<Integer> silent = new TreeSet<>();
        for (int node : of) {
            if (tickedNanos - heardNanos.getOrDefault(node, tickedNanos) > timeoutNanos) {
                silent.add(node);
            }
        }
        return silent;
    }

    /** Whether nothing is known of a node. */
    boolean isNew(int node) {
        return !heardNanos.containsKey(node);
    }

    /** Forgets all others. */
    void retain(Set<Integer> nodes) {
        heardNanos.keySet().retainAll(nodes);
    }
}
