package tutti.grid.commit;

import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.grid.store.Key;
import tutti.grid.store.Version;

/**
 * What a transaction asks its owners to commit.
 *
 * @param layout by which layout its owners were found; 0 as long as they were not
 * @param begin what its node's clock had seen when it began
 * @param writes what it writes, each key once
 * @param checks what must be as it has read it, each key once; if there is none, it cannot fail
 */
public record CommitRequest(long layout, long begin, List<Write> writes, List<Check> checks) implements Encoded {
    /** So many keys can be written, and so many checked. */
    public static final int KEYS_MAX = 1 << 20;

    static final Schema<CommitRequest> SCHEMA = Schema
            .message("commit request", 1, CommitRequest.class, "What a transaction asks its owners to commit.").of(
                    Field.of("layout", Types.NATURAL, CommitRequest::layout),
                    Field.of("begin", Types.NATURAL, CommitRequest::begin),
                    Field.of("writes", Types.list(Write.SCHEMA, KEYS_MAX), CommitRequest::writes),
                    Field.of("checks", Types.list(Check.SCHEMA, KEYS_MAX), CommitRequest::checks), CommitRequest::new);

    /** As the payload of a message. */
    public static final MessageSet<CommitRequest> SET = new MessageSet<>("grid payloads",
            "Inside of the messages data, query and prepare of grid messages.", List.of(SCHEMA));

    /**
     * A key is written.
     *
     * @param value null if it is removed
     * @param expiryMillis from when on it is absent again, by the time of who reads it; see {@link Version#expiryMillis}
     */
    public record Write(Key key, byte @Nullable [] value, long expiryMillis) {
        static final Schema<Write> SCHEMA = Schema.part("write", Write.class).of(
                Field.of("key", Key.SCHEMA, Write::key),
                Field.of("value", Types.optional(Types.bytes(Version.VALUE_BYTES_MAX)), Write::value),
                Field.of("expiry", Types.POSITIVE, Write::expiryMillis), Write::new);

        /** What is there when it has committed at a stamp. */
        Version version(long stamp) {
            return new Version(stamp, value, expiryMillis);
        }
    }

    /**
     * A key was read.
     *
     * @param stamp no version above it must be there
     */
    public record Check(Key key, long stamp) {
        static final Schema<Check> SCHEMA = Schema.part("check", Check.class).of(
                Field.of("key", Key.SCHEMA, Check::key), Field.of("stamp", Types.NATURAL, Check::stamp), Check::new);
    }

    /** Copies the lists. */
    public CommitRequest {
        writes = List.copyOf(writes);
        checks = List.copyOf(checks);
    }

    /** Whose owners are not found yet. */
    public CommitRequest(long begin, List<Write> writes, List<Check> checks) {
        this(0, begin, writes, checks);
    }

    /** The same, its owners found by a layout. */
    CommitRequest in(long number) {
        return new CommitRequest(number, begin, writes, checks);
    }

    /** All keys, each once. */
    public Set<Key> keys() {
        Set<Key> keys = new LinkedHashSet<>();
        writes.forEach(write -> keys.add(write.key()));
        checks.forEach(check -> keys.add(check.key()));
        return keys;
    }

    /** From what {@link #bytes} has made. */
    public static CommitRequest decode(byte[] payload) {
        return SET.decode(ByteBuffer.wrap(payload));
    }
}
