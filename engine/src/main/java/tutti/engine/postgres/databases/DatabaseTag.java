package tutti.engine.postgres.databases;

import java.nio.ByteBuffer;
import java.util.Arrays;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.catalog.KeyHash;

/**
 * Says of what travels which of the cluster's databases it is of. What is of the configured one has no tag: it is as if there were no others.
 * The others are named by the position at which they were made, which no other has, so that what was meant for a database that has been dropped
 * does not meet one that is called the same.
 *
 * <pre>
 * 'D' | database 8 | content
 * </pre>
 *
 * Neither {@linkplain tutti.engine.postgres.capture.Changes changes} nor {@linkplain tutti.engine.postgres.capture.Statement statements} begin with that letter.
 */
public final class DatabaseTag {
    /** The database that the node is configured with. */
    public static final long CONFIGURED = 0;
    private static final byte MARK = 'D';
    private static final int BYTES = 1 + Long.BYTES;

    private DatabaseTag() {}

    /** Tags changes, or a statement. */
    public static byte[] tag(long database, byte[] content) {
        return database == CONFIGURED || content.length == 0
                ? content
                : ByteBuffer.allocate(BYTES + content.length).put(MARK).putLong(database).put(content).array();
    }

    /** Tags what a transaction changed, and salts its keys. */
    public static WriteSet tag(long database, WriteSet writes) {
        return database == CONFIGURED
                ? writes
                : new WriteSet(writes.keys().salted(salt(database)), tag(database, writes.changes()));
    }

    /** Which database it is of. */
    public static long database(byte[] tagged) {
        return isTagged(tagged) ? ByteBuffer.wrap(tagged).getLong(1) : CONFIGURED;
    }

    /** What was tagged. */
    public static byte[] content(byte[] tagged) {
        return isTagged(tagged) ? Arrays.copyOfRange(tagged, BYTES, tagged.length) : tagged;
    }

    /** What was tagged; its keys stay salted, since nobody asks for them any more. */
    public static WriteSet content(WriteSet tagged) {
        return isTagged(tagged.changes()) ? new WriteSet(tagged.keys(), content(tagged.changes())) : tagged;
    }

    private static boolean isTagged(byte[] bytes) {
        return bytes.length >= BYTES && bytes[0] == MARK;
    }

    /** With what keys of a database are salted. */
    public static long salt(long database) {
        return database == CONFIGURED ? 0 : KeyHash.finish(database);
    }
}
