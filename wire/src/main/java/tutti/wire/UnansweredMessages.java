package tutti.wire;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The messages that have been sent to the engine and will be answered, first in first out, in a ring that grows to a bound.
 * On the session's event loop.
 */
final class UnansweredMessages {
    /** Most messages that may be unanswered; the session stops reading from its client before that. */
    static final int LIMIT = 1 << 16;

    private @Nullable SentMessage[] ring = new SentMessage[64];
    private int head;
    private int size;

    /** A message has been sent. */
    void add(SentMessage message) {
        if (size == ring.length) {
            grow();
        }
        ring[(head + size++) & (ring.length - 1)] = message;
    }

    private void grow() {
        if (size >= LIMIT) {
            throw new IllegalStateException(LIMIT + " answers are outstanding");
        }
        @Nullable
        SentMessage[] larger = new SentMessage[size * 2];
        for (int i = 0; i < size; i++) {
            larger[i] = ring[(head + i) & (ring.length - 1)];
        }
        ring = larger;
        head = 0;
    }

    /** The message that is answered next, or null if all are answered. */
    @Nullable
    SentMessage first() {
        return size == 0 ? null : ring[head];
    }

    /** The message that is answered next has been. */
    SentMessage poll() {
        SentMessage first = Objects.requireNonNull(first(), "an answer to nothing");
        head = (head + 1) & (ring.length - 1);
        size--;
        return first;
    }

    /** How many of them execute a statement of the client's. */
    int statements() {
        int statements = 0;
        for (int i = 0; i < size; i++) {
            SentMessage message = ring[(head + i) & (ring.length - 1)];
            statements += message != null && message.executes() ? 1 : 0;
        }
        return statements;
    }

    int size() {
        return size;
    }

    /** After an error: the engine answers nothing before the next Sync. */
    void dropToSync() {
        for (SentMessage first = first(); first != null && !first.synchronizes(); first = first()) {
            poll();
        }
    }
}
