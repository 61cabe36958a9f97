package tutti.node;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;
import tutti.core.txn.WriteSet;

/** A run of positions that one applier makes visible in one engine transaction: remote ones, and skipped ones between. */
final class ApplyGroup {
    private final List<Slot> slots = new ArrayList<>();
    private Engine.@Nullable Applier applier;
    private long bytes;
    private long startedNanos;
    private boolean lastResort;

    void add(Slot slot) {
        slot.group(this);
        slots.add(slot);
        bytes += slot.bytes();
    }

    /** It begins and ends with a remote one. */
    void trim() {
        while (last().kind() == Slot.Kind.SKIP) {
            slots.removeLast().group(null);
        }
    }

    Slot first() {
        return slots.getFirst();
    }

    Slot last() {
        return slots.getLast();
    }

    List<Slot> slots() {
        return slots;
    }

    List<WriteSet> writes() {
        return slots.stream().filter(slot -> slot.kind() == Slot.Kind.REMOTE).map(Slot::writes).toList();
    }

    /** Whether it may take this one, too. One that is tried again is alone. */
    boolean hasRoomFor(Slot slot, int positionsMax, long bytesMax) {
        return slots.size() < positionsMax && bytes + slot.bytes() <= bytesMax && slot.attempts() == 0
                && first().attempts() == 0;
    }

    void become(Slot.State next) {
        slots.forEach(slot -> slot.become(next));
    }

    /** @param head whether it is what comes next */
    void begin(Engine.Applier by, long nowNanos, boolean head) {
        applier = by;
        startedNanos = nowNanos;
        lastResort = head && slots.size() == 1 && first().attempts() > 0;
    }

    /** Whether it is one position that has been tried before, and nothing before it was under way when this attempt began. */
    boolean isLastResort() {
        return lastResort;
    }

    long startedNanos() {
        return startedNanos;
    }

    /** Who applies it. */
    Engine.Applier applier() {
        Engine.Applier present = applier;
        if (present == null) {
            throw new Defect("the group of " + first() + " is applied by nobody");
        }
        return present;
    }

    /** It needs its applier no more. */
    Engine.Applier release() {
        Engine.Applier released = applier();
        applier = null;
        return released;
    }

    /** Its positions are tried again, each alone. */
    void disband() {
        for (Slot slot : slots) {
            slot.group(null);
            slot.become(Slot.State.WAITING);
            if (slot.attempts() == 0) {
                slot.attempted();
            }
        }
    }
}
