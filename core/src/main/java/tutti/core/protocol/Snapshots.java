package tutti.core.protocol;

import java.nio.ByteBuffer;

/** How snapshots of protocols begin. */
final class Snapshots {
    private Snapshots() {}

    /**
     * Reads the version in front.
     *
     * @return what is behind it
     * @throws IllegalArgumentException if it is another one
     */
    static ByteBuffer open(byte[] snapshot, byte version) {
        ByteBuffer from = ByteBuffer.wrap(snapshot);
        byte found = from.get();
        if (found != version) {
            throw new IllegalArgumentException("snapshot of version " + found + ", expected " + version);
        }
        return from;
    }
}
