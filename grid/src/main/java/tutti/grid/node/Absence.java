package tutti.grid.node;

import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;

/** Without views: who was not heard for some time, and who was given up. One thread. */
final class Absence {
    /** After so many failure timeouts a node is given up for good. */
    private static final int GIVEN_UP_TIMEOUTS = 10;

    private final Set<Integer> gone = new TreeSet<>();
    private Set<Integer> silent = Set.of();

    /** Who is not heard now. */
    Set<Integer> silent() {
        return silent;
    }

    /** Who is given up. */
    Set<Integer> gone() {
        return gone;
    }

    /**
     * To be called often. Whether others than before are not heard.
     *
     * @param unheard for the failure timeout
     * @param giveUp told of each node that was not heard for very long, once
     */
    boolean notHeard(Set<Integer> unheard, Hearing hearing, long failureTimeoutNanos, IntConsumer giveUp) {
        boolean isNews = !unheard.equals(silent);
        silent = unheard;
        hearing.silent(unheard, GIVEN_UP_TIMEOUTS * failureTimeoutNanos).stream().filter(gone::add)
                .forEach(giveUp::accept);
        return isNews;
    }
}
