package tutti.wire;

import org.jspecify.annotations.Nullable;

/**
 * Lets a session read what its transaction has changed from the engine when there is room for it: it is in the node's memory several
 * times over until the transaction has ended. Until then the engine is not read from, and the transaction keeps its locks; if it stands in the way of one
 * that was ordered first, it gives way, as any that has not been ordered. So nobody who has room ever waits for one who has none. Under protocols that
 * order first, whose transactions wait for each other in that order, nobody waits for room. On the session's event loop.
 */
final class ChangesIntake {
    /** What is smaller takes no place. */
    static final int SMALL_BYTES = 64 << 10;

    private final Session session;
    private final MemoryRoom room;
    private MemoryRoom.@Nullable Place place;

    ChangesIntake(Session session, MemoryRoom room) {
        this.session = session;
        this.room = room;
    }

    /**
     * The engine has begun to tell what was changed; without room the engine's reader is paused, and this is asked again when it goes on.
     *
     * @return how many bytes of it are wanted
     */
    int wanted(int bytes) {
        if (unwanted()) {
            leave();
            return 0;
        }
        if (bytes < SMALL_BYTES) {
            return bytes;
        }
        MemoryRoom.Place asked = place;
        if (asked == null) {
            asked = session.node().executesAtOnce()
                    ? room.ask(bytes, () -> session.onLoop(() -> {}))
                    : room.insist(bytes);
            place = asked;
        }
        if (!asked.given()) {
            session.pauseEngine();
        }
        return bytes;
    }

    /** Whether nobody wants to know any more, since the transaction is rolled back anyway. */
    boolean unwanted() {
        return session.transaction().rollbackWanted();
    }

    /** Whether it is being read, or waited for with that. */
    boolean underWay() {
        return place != null;
    }

    /** Whether there is room, or none is needed. */
    boolean goesOn() {
        MemoryRoom.Place asked = place;
        return asked == null || asked.given() || unwanted();
    }

    /** What was read is not needed any more, or was never. */
    void leave() {
        MemoryRoom.Place left = place;
        place = null;
        if (left != null) {
            left.leave();
        }
    }
}
