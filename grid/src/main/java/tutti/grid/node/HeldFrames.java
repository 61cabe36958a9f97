package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** Frames that were sent in a later view than this node's, until it has that view; each sender's in their order. One thread. */
final class HeldFrames {
    private final Map<Integer, Deque<ByteBuffer>> frames = new HashMap<>();
    private long bytes;

    /** Takes frames. */
    interface Taker {
        /** A frame may be looked at, which is valid as long as anybody likes. */
        void take(int from, ByteBuffer frame) throws IOException;
    }

    /** Whether frames of a node wait. */
    boolean has(int from) {
        return frames.containsKey(from);
    }

    /** How many bytes wait. */
    long bytes() {
        return bytes;
    }

    /** A frame waits. */
    void add(int from, ByteBuffer frame) {
        bytes += frame.remaining();
        frames.computeIfAbsent(from, _ -> new ArrayDeque<>())
                .add(ByteBuffer.allocate(frame.remaining()).put(frame).flip());
    }

    /** Drops what is not from these. */
    void retain(Set<Integer> nodes) {
        frames.keySet().retainAll(nodes);
        bytes = frames.values().stream().flatMap(Deque::stream).mapToLong(ByteBuffer::remaining).sum();
    }

    /**
     * Hands on what was sent in the present view, or an earlier one.
     *
     * @param isOver whether there is nobody any more who looks
     * @param view the number of this node's view
     */
    void dispatch(Taker taker, BooleanSupplier isOver, LongSupplier view) {
        for (int from : List.copyOf(frames.keySet())) {
            Deque<ByteBuffer> all = frames.get(from);
            try {
                while (all != null && !all.isEmpty() && all.getFirst().getLong(0) <= view.getAsLong()
                        && !isOver.getAsBoolean()) {
                    ByteBuffer next = all.removeFirst();
                    bytes -= next.remaining();
                    taker.take(from, next);
                }
            } catch (IOException wrong) {
                throw new IllegalStateException(wrong);
            }
            if (all != null && all.isEmpty()) {
                frames.remove(from);
            }
        }
    }
}
