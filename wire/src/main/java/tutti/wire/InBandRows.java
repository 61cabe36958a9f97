package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.LockedRows;
import tutti.engine.postgres.catalog.InBandTables.Setting;
import tutti.wire.sql.LockingQuery;

/**
 * The rows that a transaction has changed, as its statements' results have told them: complete as long as every statement that could
 * change something was {@linkplain InBandStatement proven}, and its rows were seen. As soon as that is not so, they are forgotten, and the
 * transaction is captured by triggers, which have their events up to the commit. Bounded: a transaction with more than
 * {@link #BYTES_MAX} is captured by triggers. On the session's event loop.
 */
final class InBandRows {
    /** Most bytes that are kept. */
    static final int BYTES_MAX = 1 << 20;
    private static final int FIRST_BYTES = 256;
    private static final byte YES = 't';
    /** The letter of the schema of the session's temporary objects: if there is none, a row can only be one of the table's. */
    static final char TEMPORARIES = 'S';
    private static final byte NONE = '0';
    private static final Setting[] SETTINGS = Setting.values();

    private final Set<Long> targets = new HashSet<>();
    private final Set<InBandParse> used = new HashSet<>();
    private @Nullable Object version;
    private boolean complete = true;
    private boolean harmless = true;
    private boolean proven;
    private boolean temporaries;
    private byte[] entries = new byte[0];
    private int size;
    private long count;
    private long limitBytes = BYTES_MAX;

    /** Something has been sent that may change rows, and does not tell them. */
    void lose() {
        harmless = false;
        forget();
    }

    private void forget() {
        complete = false;
        entries = new byte[0];
        size = 0;
    }

    /** A statement has been sent that tells its rows, or changes none. */
    void expect(InBandParse parse) {
        InBandStatement statement = parse.statement();
        used.add(parse);
        if (version != null && !version.equals(statement.version())) {
            lose();
        }
        version = statement.version();
        proven = true;
        if (statement.keepsRows()) {
            forget();
        } else if (statement.tellsChanges()) {
            targets.add(statement.target());
            limitBytes = Math.min(limitBytes, statement.limitBytes());
        }
    }

    /** Whether, if all rows come that are to come, it is known what the transaction has changed. */
    boolean complete() {
        return complete;
    }

    /** Whether nothing has been executed of which nothing is proven, whether rows have been told or not. */
    boolean harmless() {
        return harmless && used.stream().allMatch(InBandParse::confirmed);
    }

    /** Whether there was a statement that {@link #expect} was told of. */
    boolean proven() {
        return proven;
    }

    /** Whether all of it holds under this version of the schema, of statements that the engine has parsed. */
    boolean holdsFor(Object schemaVersion) {
        return complete && (version == null || version.equals(schemaVersion))
                && used.stream().allMatch(InBandParse::confirmed);
    }

    /** How many rows have been changed, a row that was changed twice counted twice. */
    long count() {
        return count;
    }

    /** Whether a row has told that its session has temporary objects: which rows are the table's own has to be asked otherwise. */
    boolean temporaries() {
        return temporaries;
    }

    /** What the triggers would have gathered; null if nothing was changed. */
    byte @Nullable [] entries() {
        return size == 0 ? null : Arrays.copyOf(entries, size);
    }

    /** A row has come: the text of the column, which lies here. */
    void row(ByteBuf buffer, int start, int length) {
        if (!complete) {
            return;
        }
        int entry = entry(buffer, start, start + length);
        int bytes = start + length - entry;
        if (entry < 0 || size + bytes > limitBytes) {
            temporaries |= tellsOfTemporaries(buffer, start, start + length);
            lose();
            return;
        }
        if (size + bytes > entries.length) {
            entries = Arrays.copyOf(entries, Math.max(Math.max(FIRST_BYTES, 2 * entries.length), size + bytes));
        }
        buffer.getBytes(entry, entries, size, bytes);
        size += bytes;
        count++;
    }

    private static boolean tellsOfTemporaries(ByteBuf buffer, int start, int end) {
        int at = start + InBandStatement.MARK.length;
        if (!marked(buffer, start, end) || buffer.getByte(at) != TEMPORARIES) {
            return false;
        }
        int semicolon = buffer.indexOf(at, end, (byte) ';');
        return semicolon > 0 && !none(buffer, at, semicolon);
    }

    private static boolean marked(ByteBuf buffer, int start, int end) {
        for (int i = 0; i < InBandStatement.MARK.length; i++) {
            if (start + i >= end || buffer.getByte(start + i) != InBandStatement.MARK[i]) {
                return false;
            }
        }
        return start + InBandStatement.MARK.length < end;
    }

    /** Whether what lies here tells of rows that are locked. */
    static boolean locks(ByteBuf buffer, int start, int length) {
        return marked(buffer, start, start + length)
                && buffer.getByte(start + InBandStatement.MARK.length) == LockingQuery.MARK;
    }

    /** Adds what it tells, unless that is nothing of the tables that the statement has been taken to name. */
    static void locked(ByteBuf buffer, int start, int length, Capture capture, LockedRows into) {
        int at = start + InBandStatement.MARK.length + 1;
        int end = start + length;
        boolean exact = true;
        while (at < end && buffer.getByte(at) >= 'A' && buffer.getByte(at) <= 'Z') {
            int semicolon = buffer.indexOf(at, end, (byte) ';');
            boolean asItHasToBe = exact(buffer, at, semicolon);
            if (buffer.getByte(at) == LockingQuery.OF_TABLE && !asItHasToBe) {
                return; // of something else that has a table's name
            }
            exact &= asItHasToBe;
            at = semicolon + 1;
        }
        byte[] told = new byte[end - at];
        buffer.getBytes(at, told);
        capture.locked(told, exact, into);
    }

    /** Where the entry begins behind what it begins with; -1 if that, or the table, is not what it has to be. */
    private int entry(ByteBuf buffer, int start, int end) {
        int at = start + InBandStatement.MARK.length;
        if (!marked(buffer, start, end)) {
            return -1;
        }
        while (at < end && buffer.getByte(at) >= 'A' && buffer.getByte(at) <= 'Z') {
            int semicolon = buffer.indexOf(at, end, (byte) ';');
            if (semicolon < 0 || !exact(buffer, at, semicolon)) {
                return -1;
            }
            at = semicolon + 1;
        }
        long table = 0;
        for (int i = at + 1; i < end && buffer.getByte(i) >= '0' && buffer.getByte(i) <= '9'; i++) {
            table = table * 10 + buffer.getByte(i) - '0';
        }
        return targets.contains(table) ? at : -1;
    }

    private static boolean none(ByteBuf buffer, int letterAt, int semicolon) {
        return semicolon == letterAt + 2 && buffer.getByte(letterAt + 1) == NONE;
    }

    /** Whether what a letter says, which lies here with its value up to a semicolon, is as it has to be. */
    private static boolean exact(ByteBuf buffer, int letterAt, int semicolon) {
        char letter = (char) buffer.getByte(letterAt);
        if (letter == TEMPORARIES) {
            return none(buffer, letterAt, semicolon);
        }
        if (letter == LockingQuery.OF_TABLE) {
            return semicolon == letterAt + 2 && buffer.getByte(letterAt + 1) == YES;
        }
        for (Setting setting : SETTINGS) {
            if (setting.letter() == letter) {
                return setting.exact(
                        buffer.toString(letterAt + 1, semicolon - letterAt - 1, StandardCharsets.US_ASCII));
            }
        }
        return false;
    }
}
