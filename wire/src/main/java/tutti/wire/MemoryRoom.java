package tutti.wire;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Bounds the bytes of something large that sessions of a front end have in memory at the same time. A session asks for a place before it
 * reads what it takes, and leaves it when that is gone. Places are given in the order in which they were asked for, so that a large one is not
 * kept waiting by small ones for ever; one that is larger than the whole room is alone in it. Any thread.
 */
final class MemoryRoom {
    private final long most;
    private final ArrayDeque<Place> waiting = new ArrayDeque<>();
    private long taken;

    /** @param most bytes of all places together, unless there is one only */
    MemoryRoom(long most) {
        this.most = most;
    }

    /** A part of the room, or what waits for it. */
    final class Place {
        private final long bytes;
        private final Runnable whenGiven;
        private boolean given;
        private boolean left;

        private Place(long bytes, Runnable whenGiven) {
            this.bytes = bytes;
            this.whenGiven = whenGiven;
        }

        /** Whether it is there. */
        boolean given() {
            synchronized (MemoryRoom.this) {
                return given;
            }
        }

        /** It is needed no more, and not waited for. Without effect the second time. */
        void leave() {
            List<Place> next;
            synchronized (MemoryRoom.this) {
                if (left) {
                    return;
                }
                left = true;
                if (given) {
                    taken -= bytes;
                } else {
                    waiting.remove(this);
                }
                next = give();
            }
            next.forEach(place -> place.whenGiven.run());
        }
    }

    /**
     * Asks for a place.
     *
     * @param whenGiven run, by whoever makes room, when the place is there; not if it is there at once
     */
    synchronized Place ask(long bytes, Runnable whenGiven) {
        Place place = new Place(bytes, whenGiven);
        waiting.add(place);
        give();
        return place;
    }

    /** Takes a place, whether there is room or not. */
    synchronized Place insist(long bytes) {
        Place place = new Place(bytes, () -> {});
        place.given = true;
        taken += bytes;
        return place;
    }

    /** Gives places to those who wait, as many as there is room for. Holding the lock. */
    private List<Place> give() {
        List<Place> given = new ArrayList<>();
        for (Place first = waiting.peek(); first != null
                && (taken == 0 || taken + first.bytes <= most); first = waiting.peek()) {
            first.given = true;
            taken += first.bytes;
            given.add(waiting.remove());
        }
        return given;
    }

    /** Bytes of all places that have been given. */
    synchronized long taken() {
        return taken;
    }

    /** How many places are waited for. */
    synchronized int waiting() {
        return waiting.size();
    }
}
