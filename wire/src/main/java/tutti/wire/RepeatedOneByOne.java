package tutti.wire;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Lets transactions of a node that have lost more than once run one after the other, in the order in which they asked, so that they do
 * not go on losing to each other. Those that have not lost run beside them. Safe for use from any thread; what it runs, it runs in the
 * call of whoever lets it.
 */
final class RepeatedOneByOne {
    /** A transaction's place. */
    final class Place {
        private final Runnable then;

        private Place(Runnable then) {
            this.then = then;
        }

        /** It is over, or does not want to wait any longer. More than once does nothing. */
        void leave() {
            Place next = null;
            synchronized (waiting) {
                if (first == this) {
                    next = waiting.poll();
                    first = next;
                } else {
                    waiting.remove(this);
                }
            }
            if (next != null) {
                next.then.run();
            }
        }
    }

    private final Deque<Place> waiting = new ArrayDeque<>();
    private @Nullable Place first;

    /**
     * Asks for a turn.
     *
     * @param then run when its turn has come, perhaps at once; quick, and on any thread
     */
    Place enter(Runnable then) {
        Place entered = new Place(then);
        synchronized (waiting) {
            if (first != null) {
                waiting.add(entered);
                return entered;
            }
            first = entered;
        }
        then.run();
        return entered;
    }
}
