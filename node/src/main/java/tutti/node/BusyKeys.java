package tutti.node;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/** Keys of positions that are on their way and not visible: how often each is touched in each way. Of the replica's loop. */
final class BusyKeys {
    private static final KeyKind[] KINDS = KeyKind.values();

    private final Map<Long, int[]> counts = new HashMap<>();
    /** Positions whose keys are counted. */
    private final Set<Long> counted = new HashSet<>();

    /** A position is on its way; without effect if it was. */
    void enter(Slot slot) {
        if (counted.add(slot.position())) {
            count(slot.writes().keys(), 1);
        }
    }

    /** A position is visible, or waits again; without effect if it was not on its way. */
    void leave(Slot slot) {
        if (counted.remove(slot.position())) {
            count(slot.writes().keys(), -1);
        }
    }

    private void count(KeySet keys, int by) {
        for (int i = 0; i < keys.size(); i++) {
            int[] of = counts.computeIfAbsent(keys.hash(i), _ -> new int[KINDS.length]);
            of[keys.kind(i).ordinal()] += by;
            if (by < 0 && isZero(of)) {
                counts.remove(keys.hash(i));
            }
        }
    }

    private static boolean isZero(int[] of) {
        for (int count : of) {
            if (count != 0) {
                return false;
            }
        }
        return true;
    }

    /** Whoever takes a parent away does so behind those who have released it: it is refused if they are left out ({@link LostReleases}). */
    private static boolean waitsFor(KeyKind later, KeyKind kind) {
        return later.conflictsWith(kind) || (later == KeyKind.GONE && kind == KeyKind.RELEASED);
    }

    /** Whether one of these conflicts with one that is on its way, or must come behind it. */
    boolean meet(KeySet keys) {
        if (counts.isEmpty()) {
            return false;
        }
        for (int i = 0; i < keys.size(); i++) {
            int[] of = counts.get(keys.hash(i));
            if (of == null) {
                continue;
            }
            for (KeyKind kind : KINDS) {
                if (of[kind.ordinal()] > 0 && waitsFor(keys.kind(i), kind)) {
                    return true;
                }
            }
        }
        return false;
    }
}
