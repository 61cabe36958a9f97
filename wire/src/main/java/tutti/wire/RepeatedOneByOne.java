package tutti.wire;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Lets transactions of a node that have lost run one after the other, in the order in which they asked, so that they do not go on losing
 * to each other. Those that have not lost run beside them. Safe for use from any thread; what it runs, it runs in the call of whoever
 * lets it.
 */
final class RepeatedOneByOne {
    /** A transaction's place. */
    final class Place {
        private @Nullable Runnable then;

        /** Runs this when the turn has come, perhaps at once and more than once; quick, and on any thread. In place of what was to be run. */
        void whenItsTurn(Runnable run) {
            boolean now;
            synchronized (waiting) {
                then = run;
                now = first == this;
            }
            if (now) {
                run.run();
            }
        }

        /** It is over, or does not want to wait any longer. More than once does nothing. */
        void leave() {
            Runnable next = null;
            synchronized (waiting) {
                if (first == this) {
                    first = waiting.poll();
                    next = first == null ? null : first.then;
                } else {
                    waiting.remove(this);
                }
            }
            if (next != null) {
                next.run();
            }
        }
    }

    private final Deque<Place> waiting = new ArrayDeque<>();
    private @Nullable Place first;

    /** Asks for a turn. */
    Place enter() {
        Place entered = new Place();
        synchronized (waiting) {
            if (first == null) {
                first = entered;
            } else {
                waiting.add(entered);
            }
        }
        return entered;
    }
}
