package tutti.grid.node;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.GridException;
import tutti.grid.commit.CommitRequest;
import tutti.grid.store.Key;

/** What a {@link Witness} is told as lines of text, for another process. */
final class WitnessLines implements Witness {
    private static final HexFormat HEX = HexFormat.of();

    private final Consumer<String> lines;

    WitnessLines(Consumer<String> lines) {
        this.lines = lines;
    }

    private void line(String kind, TransactionId id, Object... more) {
        StringBuilder line = new StringBuilder(kind).append(' ').append(id.node()).append(' ').append(id.serial());
        for (Object one : more) {
            line.append(' ').append(one);
        }
        lines.accept(line.toString());
    }

    private static String hex(Encoded message) {
        ByteBuffer bytes = ByteBuffer.allocate(message.encodedSize());
        message.encode(bytes);
        return HEX.formatHex(bytes.array());
    }

    private static String hex(Key key) {
        return HEX.formatHex(key.bytes());
    }

    private static Key key(String hex) {
        return new Key(0, HEX.parseHex(hex));
    }

    @Override
    public void applied(TransactionId id, long stamp, CommitRequest request) {
        line("applied", id, stamp, hex(request));
    }

    @Override
    public void begun(TransactionId id, int session, long nanos, long begin, long timeMillis, boolean readOnly) {
        line("begun", id, session, nanos, begin, timeMillis, readOnly);
    }

    @Override
    public void read(TransactionId id, Key key, long stamp, boolean isThere) {
        line("read", id, hex(key), stamp, isThere);
    }

    @Override
    public void wrote(TransactionId id, Key key) {
        line("wrote", id, hex(key));
    }

    @Override
    public void found(TransactionId id, List<Key> keys) {
        line("found", id, keys.stream().map(WitnessLines::hex).toArray());
    }

    @Override
    public void ended(TransactionId id, long nanos, long stamp, GridException.@Nullable Reason failed) {
        line("ended", id, nanos, stamp, failed == null ? "" : failed);
    }

    /** Whether it is one of {@link #applied}. */
    static boolean isApplied(String line) {
        return line.startsWith("applied ");
    }

    /** Tells a line to a witness. */
    static void tell(String line, Witness to) {
        String[] parts = line.split(" ");
        TransactionId id = new TransactionId(Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
        switch (parts[0]) {
            case "applied" -> to.applied(id, Long.parseLong(parts[3]),
                    CommitRequest.SET.decode(ByteBuffer.wrap(HEX.parseHex(parts[4]))));
            case "begun" -> to.begun(id, Integer.parseInt(parts[3]), Long.parseLong(parts[4]),
                    Long.parseLong(parts[5]), Long.parseLong(parts[6]), Boolean.parseBoolean(parts[7]));
            case "read" -> to.read(id, key(parts[3]), Long.parseLong(parts[4]), Boolean.parseBoolean(parts[5]));
            case "wrote" -> to.wrote(id, key(parts[3]));
            case "found" -> to.found(id, Arrays.stream(parts).skip(3).map(WitnessLines::key).toList());
            case "ended" -> to.ended(id, Long.parseLong(parts[3]), Long.parseLong(parts[4]), parts.length == 5
                    ? null
                    : GridException.Reason.valueOf(parts[5].toUpperCase(Locale.ROOT)));
            default -> throw new IllegalArgumentException(line);
        }
    }
}
