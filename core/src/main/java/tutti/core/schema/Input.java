package tutti.core.schema;

import java.nio.ByteBuffer;

/** Bytes that are being read, and the version in which they were written. */
final class Input {
    final ByteBuffer bytes;
    final int version;

    Input(ByteBuffer bytes, int version) {
        this.bytes = bytes;
        this.version = version;
    }

    /** So many bytes must follow. */
    void need(int count) {
        if (bytes.remaining() < count) {
            throw new DecodeException(count + " bytes should follow, " + bytes.remaining() + " are left");
        }
    }

    /**
     * Reads a count of things.
     *
     * @param max limit of the count
     * @param bytesEach what each takes at least
     */
    int count(int max, int bytesEach) {
        need(Integer.BYTES);
        int count = bytes.getInt();
        if (count < 0 || count > max) {
            throw new DecodeException("a count of " + count + ", which may be 0 to " + max);
        }
        if ((long) count * bytesEach > bytes.remaining()) {
            throw new DecodeException("a count of " + count + ", of at least " + bytesEach + " bytes each, where "
                    + bytes.remaining() + " bytes are left");
        }
        return count;
    }
}
