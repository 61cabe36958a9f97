package tutti.node.copy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** What all pieces of a copy come down to (SHA-256): their paths, places and contents, in their order. Of one thread at a time. */
final class CopyDigest {
    /** Its length, in bytes. */
    static final int BYTES = 32;

    private final MessageDigest digest;

    CopyDigest() {
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The next piece. */
    void add(String path, long offset, ByteBuffer content) {
        byte[] name = path.getBytes(StandardCharsets.UTF_8);
        digest.update(ByteBuffer.allocate(2 * Integer.BYTES + Long.BYTES).putInt(name.length).putLong(offset)
                .putInt(content.remaining()).flip());
        digest.update(name);
        digest.update(content.duplicate());
    }

    /** Of all that were added. Called once, at last. */
    byte[] value() {
        return digest.digest();
    }
}
