package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.util.ArrayDeque;

/**
 * What the client is not to see before its transaction's outcome is known: from the first CommandComplete of a statement
 * that commits by itself on. Bounded: beyond the limit it is let through, as PostgreSQL itself does with the extended
 * protocol, where an error of the commit may come after CommandComplete and before ReadyForQuery.
 */
final class Held {
    private final Channel client;
    private final int limit;
    private final ArrayDeque<ByteBuf> messages = new ArrayDeque<>();
    private int bytes;
    private boolean holding;
    private boolean overflowed;

    Held(Channel client, int limit) {
        this.client = client;
        this.limit = limit;
    }

    /** From now on nothing goes to the client. */
    void hold() {
        holding = true;
    }

    /** From now on nothing goes to the client, and {@link #overflowed} says if that was too much to hold. */
    void holdAll() {
        holding = true;
        overflowed = false;
    }

    /** Whether something held has been let through because it was too much, since {@link #holdAll}. */
    boolean overflowed() {
        return overflowed;
    }

    void write(ByteBuf message) {
        if (!holding) {
            client.write(message, client.voidPromise());
            return;
        }
        messages.add(message);
        bytes += message.readableBytes();
        if (bytes > limit) {
            overflowed = true;
            release();
        }
    }

    /** Lets everything through. */
    void release() {
        holding = false;
        bytes = 0;
        ByteBuf message = messages.poll();
        while (message != null) {
            client.write(message, client.voidPromise());
            message = messages.poll();
        }
    }

    /** Forgets what was held. */
    void drop() {
        holding = false;
        bytes = 0;
        ByteBuf message = messages.poll();
        while (message != null) {
            message.release();
            message = messages.poll();
        }
    }
}
