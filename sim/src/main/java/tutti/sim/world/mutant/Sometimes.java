package tutti.sim.world.mutant;

/**
 * When what is broken goes wrong, by counting: called by the code that {@link Edit} puts into classes. A class loader of a mutant has
 * its own, and a run begins with {@link #begin}.
 */
public final class Sometimes {
    private static int count;

    private Sometimes() {}

    /** A run begins. */
    static void begin() {
        count = 0;
    }

    /** Whether it goes wrong now: once in so many times, at least 1. */
    public static boolean now(int every) {
        return ++count % every == 0;
    }
}
