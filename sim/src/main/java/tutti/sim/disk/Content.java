package tutti.sim.disk;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Bytes of a file: they grow, with zeros between what is written. Pages that nothing was written to take no memory, and a
 * page of which only zeros were written neither, so that a file that is filled with zeros beforehand costs nothing.
 */
final class Content {
    /** Largest file. */
    static final int SIZE_MAX = 1 << 30;
    private static final int PAGE = 4096;
    private static final byte[] ZEROS = new byte[PAGE];

    private byte[] @Nullable [] pages = new byte[4][];
    private int size;

    int size() {
        return size;
    }

    /** Writes bytes; grows if need be. */
    void write(int at, byte[] from, int start, int length) {
        resize(Math.max(size, at + length));
        int done = 0;
        while (done < length) {
            int page = (at + done) / PAGE;
            int offset = (at + done) % PAGE;
            int part = Math.min(PAGE - offset, length - done);
            byte[] bytes = pages[page];
            if (bytes == null && part == PAGE && from[start + done] != 0) {
                pages[page] = Arrays.copyOfRange(from, start + done, start + done + PAGE);
                done += part;
                continue;
            }
            if (bytes == null && !Arrays.equals(from, start + done, start + done + part, ZEROS, 0, part)) {
                bytes = new byte[PAGE];
                pages[page] = bytes;
            }
            if (bytes != null) {
                System.arraycopy(from, start + done, bytes, offset, part);
            }
            done += part;
        }
    }

    /** Copies bytes that are there. */
    void read(int at, byte[] to, int start, int length) {
        int done = 0;
        while (done < length) {
            int offset = (at + done) % PAGE;
            int part = Math.min(PAGE - offset, length - done);
            System.arraycopy(page(at + done), offset, to, start + done, part);
            done += part;
        }
    }

    /** Copies bytes that are there. */
    void read(int at, ByteBuffer to, int length) {
        int done = 0;
        while (done < length) {
            int offset = (at + done) % PAGE;
            int part = Math.min(PAGE - offset, length - done);
            to.put(page(at + done), offset, part);
            done += part;
        }
    }

    private byte[] page(int at) {
        byte[] bytes = pages[at / PAGE];
        return bytes == null ? ZEROS : bytes;
    }

    /** Copies the bytes from one place to another, as far as they are there. */
    byte[] copy(int from, int to) {
        byte[] copy = new byte[Math.max(0, Math.min(to, size) - from)];
        read(from, copy, 0, copy.length);
        return copy;
    }

    /** Copies the bytes behind a place, up to the last that may not be zero. */
    byte[] tail(int from) {
        int page = (size + PAGE - 1) / PAGE - 1;
        while (page >= from / PAGE && pages[page] == null) {
            page--;
        }
        return copy(from, Math.max(from, (page + 1) * PAGE));
    }

    /** Cuts off, or fills up with zeros. */
    void resize(int to) {
        int count = (to + PAGE - 1) / PAGE;
        if (count > pages.length) {
            pages = Arrays.copyOf(pages, Math.max(count, 2 * pages.length));
        }
        for (int page = count; page < (size + PAGE - 1) / PAGE; page++) {
            pages[page] = null;
        }
        if (to < size && to % PAGE > 0) {
            byte[] last = pages[to / PAGE];
            if (last != null) {
                Arrays.fill(last, to % PAGE, PAGE, (byte) 0);
            }
        }
        size = to;
    }

    /** A digest of all bytes and the size. */
    long digest() {
        long digest = size;
        for (int page = 0; page < (size + PAGE - 1) / PAGE; page++) {
            byte[] bytes = pages[page];
            if (bytes != null) {
                digest = 31 * (31 * digest + page) + Arrays.hashCode(bytes);
            }
        }
        return digest;
    }
}
