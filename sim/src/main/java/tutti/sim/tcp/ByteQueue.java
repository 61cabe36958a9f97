package tutti.sim.tcp;

import java.util.ArrayDeque;
import java.util.Deque;

/** Bytes in, bytes out, first in first out. */
final class ByteQueue {
    private final Deque<byte[]> chunks = new ArrayDeque<>();
    /** How much of the first chunk is gone. */
    private int gone;
    private int size;

    int size() {
        return size;
    }

    /** Takes an array over; it must not be modified any more. */
    void add(byte[] bytes) {
        if (bytes.length > 0) {
            chunks.add(bytes);
            size += bytes.length;
        }
    }

    /** Copies so many bytes from a distance behind the first; they must be there. */
    byte[] copy(int from, int length) {
        byte[] copy = new byte[length];
        int skip = from + gone;
        int done = 0;
        for (byte[] chunk : chunks) {
            if (done == length) {
                break;
            }
            if (skip >= chunk.length) {
                skip -= chunk.length;
            } else {
                int part = Math.min(chunk.length - skip, length - done);
                System.arraycopy(chunk, skip, copy, done, part);
                done += part;
                skip = 0;
            }
        }
        if (done < length) {
            throw new IllegalStateException(length + " bytes asked for from " + from + ", of " + size);
        }
        return copy;
    }

    /** Forgets the first so many bytes; they must be there. */
    void drop(int count) {
        size -= count;
        gone += count;
        while (!chunks.isEmpty() && gone >= chunks.getFirst().length) {
            gone -= chunks.removeFirst().length;
        }
    }

    /** Takes at most so many bytes out; returns how many. */
    int read(byte[] to, int offset, int length) {
        int part = Math.min(length, size);
        byte[] bytes = copy(0, part);
        System.arraycopy(bytes, 0, to, offset, part);
        drop(part);
        return part;
    }

    void clear() {
        chunks.clear();
        gone = 0;
        size = 0;
    }
}
