package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;

/**
 * What a client has heard since its transaction began, to be compared with what the engine answers when the transaction is run
 * again: byte for byte the first {@value #KEPT_MAX}, which is all that most transactions hear and costs a copy, and by a
 * SHA-256 what comes behind them. For one thread at a time.
 */
public final class ResultFingerprint {
    static final int KEPT_MAX = 16 << 10;
    private static final int FIRST_BYTES = 1 << 10;

    private byte[] kept = new byte[FIRST_BYTES];
    private long length;
    /** Of these, so many have been answered again; all of them if nothing is being compared. */
    private long answered;
    /** Where something else was answered; as long as all of it if nothing was, or that is not known. */
    private int differsAt;
    /** Of what lies behind those that are kept, as far as it has been heard, or answered again. */
    private @Nullable MessageDigest rest;
    /** What it has to be when all has been answered again. */
    private byte[] expected = {};

    /** Nothing. */
    public void clear() {
        if (kept.length > FIRST_BYTES) {
            kept = new byte[FIRST_BYTES];
        }
        length = 0;
        answered = 0;
        rest = null;
    }

    /** How many bytes. */
    long length() {
        return length;
    }

    /** How many bytes have not been answered again. */
    public long owed() {
        return length - answered;
    }

    /** It goes without being answered again. */
    public void forgive() {
        answered = length;
    }

    /** From here on all of it has to be answered again. */
    public void again() {
        MessageDigest digest = rest;
        if (digest != null) {
            // A run that was lost before it had answered all of it has only a part to compare with.
            expected = owed() == 0 ? digest.digest() : expected;
            digest.reset();
        }
        answered = 0;
        differsAt = KEPT_MAX;
    }

    /** The client hears more; nothing is owed. */
    public void add(ByteBuf bytes, int start, int count) {
        int room = (int) Math.max(0, Math.min(count, KEPT_MAX - length));
        if (room > 0) {
            int size = (int) length;
            if (size + room > kept.length) {
                kept = Arrays.copyOf(kept, Math.min(KEPT_MAX, Math.max(2 * kept.length, size + room)));
            }
            bytes.getBytes(start, kept, size, room);
        }
        digest(bytes, start + room, count - room);
        length += count;
        answered = length;
    }

    private void digest(ByteBuf bytes, int start, int count) {
        if (count > 0) {
            MessageDigest digest = rest;
            if (digest == null) {
                digest = sha256();
                rest = digest;
            }
            digest.update(bytes.nioBuffer(start, count));
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Compares what is answered again.
     *
     * @param count at most as many as are {@link #owed}
     * @return false if it is something else; then there is nothing more to compare until it is {@linkplain #clear cleared}
     */
    public boolean same(ByteBuf bytes, int start, int count) {
        int known = (int) Math.max(0, Math.min(count, Math.min(length, KEPT_MAX) - answered));
        for (int i = 0; i < known; i++) {
            if (bytes.getByte(start + i) != kept[(int) answered + i]) {
                differsAt = (int) answered + i;
                return false;
            }
        }
        digest(bytes, start + known, count - known);
        answered += count;
        MessageDigest digest = rest;
        return owed() > 0 || digest == null || MessageDigest.isEqual(expected, copy(digest).digest());
    }

    /**
     * Of how many statements all that was heard has been answered again, before something else was; -1 if that is not known. The messages
     * that were heard are walked through: one of them ends each statement.
     */
    int statementsAlike() {
        int size = (int) Math.min(length, KEPT_MAX);
        int statements = 0;
        int at = 0;
        while (at + Messages.HEADER <= size) {
            byte type = kept[at];
            at += 1 + ByteBuffer.wrap(kept).getInt(at + 1);
            if (at > differsAt) {
                return statements;
            }
            statements += type == Backend.COMMAND_COMPLETE || type == Backend.EMPTY_QUERY
                    || type == Backend.PORTAL_SUSPENDED ? 1 : 0;
        }
        return -1;
    }

    /** What is heard from here on is added to it. */
    private static MessageDigest copy(MessageDigest digest) {
        try {
            return (MessageDigest) digest.clone();
        } catch (CloneNotSupportedException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
