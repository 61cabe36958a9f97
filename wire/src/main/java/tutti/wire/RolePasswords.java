package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.Scram;
import tutti.wire.sql.SqlTokens;

/**
 * Takes the passwords of roles out of what clients send, before any other part of the node sees it: in place of the password in
 * {@code CREATE} or {@code ALTER ROLE}, {@code USER} or {@code GROUP} comes a SCRAM-SHA-256 verifier, which PostgreSQL stores as it is,
 * as it does with what psql's {@code \password} sends. So no password is in the order's log, in other nodes' statements or in
 * anybody's log, and all nodes store the same. What is a verifier or an MD5 hash already is left alone. On the session's event
 * loop.
 *
 * <p>
 * Not seen are passwords in the body of a function, and in strings that are put together.
 */
final class RolePasswords {
    private static final long ALTER = SqlTokens.key("alter");
    private static final long CREATE = SqlTokens.key("create");
    private static final long ROLE = SqlTokens.key("role");
    private static final long USER = SqlTokens.key("user");
    private static final long GROUP = SqlTokens.key("group");
    private static final long MAPPING = SqlTokens.key("mapping");
    private static final long PASSWORD = SqlTokens.key("password");
    private static final byte[] WORD = "password".getBytes(StandardCharsets.US_ASCII);
    /** Where in the word its rarest letter stands. */
    private static final int RAREST = 4;
    /** As PostgreSQL's scram_iterations. */
    private static final int ITERATIONS = 4096;
    private static final int SALT_BYTES = 16;
    /** Making a verifier takes milliseconds. */
    private static final int PER_TEXT_MAX = 64;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final TextSettings texts;
    private final SqlTokens tokens = new SqlTokens();

    RolePasswords(TextSettings texts) {
        this.texts = texts;
    }

    /** Why a text is not taken. */
    static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1;
        @SuppressWarnings("serial")
        private final ErrorFields fields;

        RefusedException(ErrorFields fields) {
            super("a password that cannot be hashed", null, false, false);
            this.fields = fields;
        }

        ErrorFields fields() {
            return fields;
        }
    }

    /**
     * A message with its passwords hashed.
     *
     * @param type of the message, whose body begins at {@code start}
     * @return a message of its own, header included; null if there is nothing to hash
     * @throws RefusedException if a password is written in a way that is not understood
     */
    @Nullable
    ByteBuf hashed(byte type, ByteBuf buffer, int start, int bodyLength) throws RefusedException {
        if ((type != Frontend.QUERY && type != Frontend.PARSE) || !names(buffer, start, start + bodyLength)) {
            return null;
        }
        return changed(type, buffer, start, bodyLength, this::hashed);
    }

    /** Another text in place of one, or null. */
    interface Change {
        byte @Nullable [] of(byte[] text) throws RefusedException;
    }

    /** A Query or Parse with another text, header included; null if it stays as it is. */
    static @Nullable ByteBuf changed(byte type, ByteBuf buffer, int start, int bodyLength, Change change)
            throws RefusedException {
        int limit = start + bodyLength;
        int textStart = type == Frontend.QUERY ? start : Messages.end(buffer, start, limit) + 1;
        int textEnd = Messages.end(buffer, textStart, limit);
        byte[] text = new byte[textEnd - textStart];
        buffer.getBytes(textStart, text);
        byte[] other = change.of(text);
        if (other == null) {
            return null;
        }
        int whole = bodyLength - text.length + other.length;
        return Unpooled.buffer(Messages.HEADER + whole).writeByte(type).writeInt(Integer.BYTES + whole)
                .writeBytes(buffer, start, textStart - start).writeBytes(other)
                .writeBytes(buffer, textEnd, limit - textEnd);
    }

    /** Whether the word is there at all, which it hardly ever is. */
    private static boolean names(ByteBuf buffer, int from, int to) {
        for (byte letter : new byte[]{'w', 'W'}) {
            int at = buffer.indexOf(from, to, letter);
            while (at >= 0) {
                if (at - RAREST >= from && at - RAREST + WORD.length <= to && isWord(buffer, at - RAREST)) {
                    return true;
                }
                at = at + 1 < to ? buffer.indexOf(at + 1, to, letter) : -1;
            }
        }
        return false;
    }

    private static boolean isWord(ByteBuf buffer, int at) {
        for (int i = 0; i < WORD.length; i++) {
            if ((buffer.getByte(at + i) | 0x20) != WORD[i]) {
                return false;
            }
        }
        return true;
    }

    /** A text with its passwords hashed; null if there are none. */
    byte @Nullable [] hashed(byte[] text) throws RefusedException {
        ByteArrayOutputStream out = new ByteArrayOutputStream(text.length + 128);
        int copied = 0;
        int count = 0;
        boolean ofRole = false;
        int place = 0;
        long previous = 0;
        tokens.reset(text, 0, text.length, texts.standardStrings());
        for (int token = tokens.next(); token != SqlTokens.END; token = tokens.next()) {
            long word = token == SqlTokens.WORD ? tokens.word() : 0;
            if (token == ';') {
                place = 0;
                ofRole = false;
            } else {
                place++;
                if (place == 1) {
                    ofRole = word == ALTER || word == CREATE;
                } else if (place == 2) {
                    ofRole &= word == ROLE || word == USER || word == GROUP;
                } else if (place == 3) {
                    ofRole &= word != MAPPING;
                }
                if (ofRole && previous == PASSWORD && token == SqlTokens.STRING) {
                    String password = password(text, tokens.start(), tokens.position());
                    if (!password.isEmpty() && !isHash(password)) {
                        if (++count > PER_TEXT_MAX) {
                            throw refused("54000", "more than " + PER_TEXT_MAX + " passwords in one query",
                                    "Send them in several.");
                        }
                        out.write(text, copied, tokens.start() - copied);
                        out.writeBytes(("'" + verifier(password) + "'").getBytes(StandardCharsets.US_ASCII));
                        copied = tokens.position();
                    }
                }
            }
            previous = word;
        }
        out.write(text, copied, text.length - copied);
        return count == 0 ? null : out.toByteArray();
    }

    private static Scram.Verifier verifier(String password) {
        byte[] salt = new byte[SALT_BYTES];
        RANDOM.nextBytes(salt);
        return Scram.Verifier.of(password, salt, ITERATIONS);
    }

    private static boolean isHash(String password) {
        return Scram.Verifier.parse(password) != null || password.matches("md5[0-9a-f]{32}");
    }

    /** What a string stands for. */
    private String password(byte[] text, int start, int end) throws RefusedException {
        boolean dollar = text[start] == '$';
        boolean escapes = (text[start] | 0x20) == 'e';
        boolean plain = text[start] == '\'';
        if ((!dollar && !escapes && !plain) || !texts.understood(text)) {
            throw refused();
        }
        if (dollar) {
            int tag = start + 1;
            while (text[tag] != '$') {
                tag++;
            }
            int length = tag + 1 - start;
            if (end - start < 2 * length) {
                throw refused();
            }
            return new String(text, start + length, end - start - 2 * length, StandardCharsets.UTF_8);
        }
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        int from = escapes ? start + 2 : start + 1;
        for (int i = from; i < end - 1; i++) {
            byte next = text[i];
            if (next == '\'') {
                // Doubled, or the string goes on on another line.
                if (text[++i] != '\'' || i >= end - 1) {
                    throw refused();
                }
            } else if (next == '\\' && (escapes || !texts.standardStrings())) {
                next = text[++i];
                if (i >= end - 1 || (next != '\\' && next != '\'')) {
                    throw refused();
                }
            }
            content.write(next);
        }
        if (end - 1 < from || text[end - 1] != '\'') {
            throw refused();
        }
        return content.toString(StandardCharsets.UTF_8);
    }

    private static RefusedException refused() {
        return refused("0A000",
                "a password must not be ordered in clear, and this one is written in a way that the node"
                        + " does not understand",
                "Write it as a plain string, 'word', in UTF-8, or use psql's \\password.");
    }

    private static RefusedException refused(String sqlState, String message, String hint) {
        return new RefusedException(Errors.error(sqlState, message).with('H', hint));
    }
}
