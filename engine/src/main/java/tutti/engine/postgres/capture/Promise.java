package tutti.engine.postgres.capture;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.catalog.KeyHash;

/**
 * What is promised to a transaction that its client has prepared (docs/decisions/0036): that nobody else commits what meets its keys
 * before it has ended. Immutable.
 *
 * @param identifier by which its client knows it
 * @param token which no other preparation has
 * @param keys of what it changes, and one that stands for the identifier
 */
public record Promise(String identifier, String token, KeySet keys) {
    private static final long SEED = KeyHash.seed("prepared transaction");
    private static final int KEY_BYTES = Long.BYTES + 1;

    /**
     * What is ordered when a transaction is prepared: its keys are compared as if it committed, and its changes are kept.
     *
     * @param writes what it has changed; may be empty
     */
    public static WriteSet prepare(String identifier, String owner, String since, String token, WriteSet writes) {
        KeySet keys = withIdentifier(writes.keys(), identifier);
        return new WriteSet(keys, new Changes.Writer(writes.changes().length + 256)
                .add(new Changes.Change.Prepare(identifier, owner, since, token, bytes(keys), writes.changes()))
                .toBytes());
    }

    /**
     * Reads what a {@link Changes.Change.Prepare} has of the keys.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    public static Promise of(String identifier, String token, byte[] keys) {
        if (keys.length % KEY_BYTES != 0) {
            throw new IllegalArgumentException("keys of " + keys.length + " bytes");
        }
        KeySet.Builder read = new KeySet.Builder();
        ByteBuffer from = ByteBuffer.wrap(keys);
        while (from.hasRemaining()) {
            read.add(from.getLong(), KeyKind.of(from.get()));
        }
        return new Promise(identifier, token, read.build());
    }

    private static byte[] bytes(KeySet keys) {
        ByteBuffer to = ByteBuffer.allocate(keys.size() * KEY_BYTES);
        for (int i = 0; i < keys.size(); i++) {
            to.putLong(keys.hash(i)).put((byte) keys.kind(i).ordinal());
        }
        return to.array();
    }

    private static KeySet withIdentifier(KeySet keys, String identifier) {
        KeySet.Builder all = new KeySet.Builder();
        for (int i = 0; i < keys.size(); i++) {
            all.add(keys.hash(i), keys.kind(i));
        }
        byte[] name = identifier.getBytes(StandardCharsets.UTF_8);
        return all.add(KeyHash.finish(KeyHash.part(SEED, name, 0, name.length)), KeyKind.EXCLUSIVE).build();
    }
}
