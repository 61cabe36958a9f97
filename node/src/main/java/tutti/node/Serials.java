package tutti.node;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Numbers of the transactions of one life of a node, by which they are named: the life's own in the upper 32 bits, and so many in the lower. Behind the
 * last of them begin those of the next life, so a node that has used up nearly all of them begins that before. Any thread.
 */
final class Serials {
    private static final long ALL = 1L << 32;
    /** So many are left when that is told: more than a node names before it ends. */
    private static final long SPARE = 1L << 24;

    private final AtomicLong serial;
    private final long enough;
    private final Runnable usedUp;

    /**
     * @param incarnation of the life
     * @param used how many have been given
     * @param usedUp told once, by whoever takes it, when nearly all are
     */
    Serials(long incarnation, long used, Runnable usedUp) {
        this.serial = new AtomicLong((incarnation << 32) + used);
        this.enough = (incarnation << 32) + ALL - SPARE;
        this.usedUp = usedUp;
    }

    /** One that has not been given. */
    long next() {
        long next = serial.incrementAndGet();
        if (next == enough) {
            usedUp.run();
        }
        return next;
    }
}
