package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Frontend;
import tutti.wire.RolePasswords.RefusedException;
import tutti.wire.sql.SqlTokens;

/**
 * Writes statements in the bodies of DO blocks in PL/pgSQL so that other nodes hear of them, before any other part of the node sees them: the
 * server tells nobody of them (docs/decisions/0046). {@code NOTIFY} becomes a call of {@code pg_notify()}, and what changes roles becomes a
 * call of {@code tutti.execute_shared()}, which records it. Their meaning is the same. On the session's event loop.
 */
final class DoBlocks {
    private static final long DO = SqlTokens.key("do");
    private static final long LANGUAGE = SqlTokens.key("language");
    private static final long PLPGSQL = SqlTokens.key("plpgsql");
    private static final long NOTIFY = SqlTokens.key("notify");
    private static final long END = SqlTokens.key("end");
    private static final long GRANT = SqlTokens.key("grant");
    private static final long REVOKE = SqlTokens.key("revoke");
    private static final long REASSIGN = SqlTokens.key("reassign");
    private static final long COMMENT = SqlTokens.key("comment");
    private static final long ON = SqlTokens.key("on");
    private static final long MAPPING = SqlTokens.key("mapping");
    private static final long[] BEFORE_STATEMENT = SqlCursor.keys("begin then else loop");
    private static final long[] CHANGES = SqlCursor.keys("create alter drop");
    private static final long[] ROLES = SqlCursor.keys("role user group");
    /** A string that is executed as NOTIFY, or a statement in a body that is not dollar-quoted. */
    private static final Pattern HIDDEN = Pattern.compile("(?:^[eE]?'\\s*|[;'\\s])notify\\s+[\\w\"%'|]",
            Pattern.CASE_INSENSITIVE);

    private final TextSettings texts;
    private final RolePasswords passwords;
    private final SqlTokens tokens = new SqlTokens();
    private final SqlTokens inner = new SqlTokens();

    DoBlocks(TextSettings texts, RolePasswords passwords) {
        this.texts = texts;
        this.passwords = passwords;
    }

    /**
     * A message with its DO blocks rewritten.
     *
     * @param type of the message, whose body begins at {@code start}
     * @return a message of its own, header included; null if there is nothing to rewrite
     * @throws RefusedException if it may say NOTIFY in a way that is not understood
     */
    @Nullable
    ByteBuf rewritten(byte type, ByteBuf buffer, int start, int bodyLength) throws RefusedException {
        if ((type != Frontend.QUERY && type != Frontend.PARSE) || !hasBlock(buffer, start, start + bodyLength)) {
            return null;
        }
        return RolePasswords.changed(type, buffer, start, bodyLength, this::rewritten);
    }

    /** Whether the word DO is there, not followed by what follows it in ON CONFLICT. */
    private static boolean hasBlock(ByteBuf buffer, int from, int to) {
        for (byte letter : new byte[]{'d', 'D'}) {
            int at = buffer.indexOf(from, to, letter);
            while (at >= 0) {
                if (at + 3 < to && (buffer.getByte(at + 1) | 0x20) == 'o' && blockFollows(buffer.getByte(at + 2))
                        && (at == from || blockFollows(buffer.getByte(at - 1)) || buffer.getByte(at - 1) <= ';')) {
                    return true;
                }
                at = at + 1 < to ? buffer.indexOf(at + 1, to, letter) : -1;
            }
        }
        return false;
    }

    private static boolean blockFollows(byte letter) {
        return (letter >= 0 && letter <= ' ') || letter == '$' || letter == '\'' || letter == '/' || letter == '-';
    }

    private byte @Nullable [] rewritten(byte[] text) throws RefusedException {
        ByteArrayOutputStream out = new ByteArrayOutputStream(text.length + 128);
        int copied = 0;
        boolean block = false;
        boolean first = true;
        boolean language = false;
        int bodyStart = 0;
        int bodyEnd = 0;
        tokens.reset(text, 0, text.length, texts.standardStrings());
        while (true) {
            int token = tokens.next();
            if (token == ';' || token == SqlTokens.END) {
                if (bodyEnd > 0) {
                    out.write(text, copied, bodyStart - copied);
                    body(text, bodyStart, bodyEnd, out);
                    copied = bodyEnd;
                }
                if (token == SqlTokens.END) {
                    break;
                }
                first = true;
                block = false;
                language = false;
                bodyEnd = 0;
                continue;
            }
            if (first) {
                block = token == SqlTokens.WORD && tokens.word() == DO;
            } else if (language) {
                block &= token == SqlTokens.WORD ? tokens.word() == PLPGSQL : tokens.content() == PLPGSQL;
                bodyEnd = block ? bodyEnd : 0;
            } else if (block && token == SqlTokens.STRING) {
                bodyStart = tokens.start();
                bodyEnd = tokens.position();
            }
            language = token == SqlTokens.WORD && tokens.word() == LANGUAGE;
            first = false;
        }
        if (copied == 0) {
            return null;
        }
        out.write(text, copied, text.length - copied);
        return out.size() == text.length ? null : out.toByteArray();
    }

    /** A block's body, with its quotes. */
    private void body(byte[] text, int start, int end, ByteArrayOutputStream out) throws RefusedException {
        if (text[start] != '$' || !texts.understood(text)) {
            if (HIDDEN.matcher(new String(text, start, end - start, StandardCharsets.UTF_8)).find()) {
                throw refused();
            }
            out.write(text, start, end - start);
            return;
        }
        int quote = 1;
        while (text[start + quote] != '$') {
            quote++;
        }
        quote++;
        if (end - start < 2 * quote) {
            out.write(text, start, end - start); // has no end, as the server will say
            return;
        }
        int copied = start;
        int stop = end - quote;
        boolean begins = true;
        char before = ' ';
        inner.reset(text, start + quote, stop, texts.standardStrings());
        for (int token = inner.next(); token != SqlTokens.END; token = inner.next()) {
            int from = inner.start();
            String made = begins && token == SqlTokens.WORD ? statement(text, from, stop) : null;
            if (made != null) {
                out.write(text, copied, from - copied);
                out.writeBytes(made.getBytes(StandardCharsets.UTF_8));
                copied = inner.position();
                token = ';';
            } else if (token == SqlTokens.STRING && HIDDEN
                    .matcher(new String(text, from, inner.position() - from, StandardCharsets.UTF_8)).lookingAt()) {
                throw refused();
            }
            begins = token == ';' || (token == '>' && before == '>')
                    || (token == SqlTokens.WORD && SqlCursor.among(BEFORE_STATEMENT, inner.word()));
            before = (char) token;
        }
        out.write(text, copied, end - copied);
    }

    /**
     * What takes the place of the statement whose first word has been read; null if it stays as it is. If it does not, it has been read to
     * its end.
     */
    private @Nullable String statement(byte[] text, int from, int stop) throws RefusedException {
        long word = inner.word();
        int after = inner.position();
        String made = null;
        if (word == NOTIFY) {
            made = notification(text);
        } else if (word == GRANT || word == REVOKE || word == REASSIGN || word == COMMENT
                || SqlCursor.among(CHANGES, word)) {
            made = shared(word, text, from);
        }
        if (made == null) {
            inner.reset(text, after, stop, texts.standardStrings());
        }
        return made;
    }

    private @Nullable String notification(byte[] text) {
        int token = inner.next();
        if ((token != SqlTokens.WORD && token != SqlTokens.QUOTED)
                || (token == SqlTokens.WORD && inner.word() == END)) {
            return null;
        }
        String name = piece(text, inner.start(), inner.position());
        String channel = token == SqlTokens.WORD
                ? name.toLowerCase(Locale.ROOT)
                : name.substring(1, name.length() - 1).replace("\"\"", "\"");
        String payload = "''";
        token = inner.next();
        if (token == ',') {
            if (inner.next() != SqlTokens.STRING) {
                return null;
            }
            payload = piece(text, inner.start(), inner.position());
            token = inner.next();
        }
        return token == ';'
                ? "PERFORM pg_catalog.pg_notify(" + literal(channel) + ", " + payload + ");"
                : null;
    }

    /** A statement that changes what is the server's, and of which no event trigger tells. */
    private @Nullable String shared(long first, byte[] text, int from) throws RefusedException {
        int place = 1;
        boolean roles = first == REASSIGN || first == GRANT || first == REVOKE;
        for (int token = inner.next(); token != ';'; token = inner.next()) {
            if (token == SqlTokens.END) {
                return null;
            }
            place++;
            long word = token == SqlTokens.WORD ? inner.word() : 0;
            if (place == 2 && SqlCursor.among(CHANGES, first)) {
                roles = SqlCursor.among(ROLES, word);
            } else if (place == 3 && (first == COMMENT || SqlCursor.among(CHANGES, first))) {
                roles = first == COMMENT ? SqlCursor.among(ROLES, word) : roles && word != MAPPING;
            } else if (word == ON && (first == GRANT || first == REVOKE)) {
                roles = false;
            }
        }
        if (!roles) {
            return null;
        }
        byte[] statement = piece(text, from, inner.start()).getBytes(StandardCharsets.UTF_8);
        byte[] hashed = passwords.hashed(statement);
        return "PERFORM tutti.execute_shared("
                + literal(new String(hashed == null ? statement : hashed, StandardCharsets.UTF_8)) + ");";
    }

    private static String piece(byte[] text, int from, int to) {
        return new String(text, from, to - from, StandardCharsets.UTF_8);
    }

    private static String literal(String value) {
        String quoted = "'" + value.replace("'", "''") + "'";
        return value.indexOf('\\') < 0 ? quoted : " E" + quoted.replace("\\", "\\\\");
    }

    private static RefusedException refused() {
        return new RefusedException(Errors.error("0A000", "NOTIFY in a DO block would not be heard at other nodes")
                .with('H', "PERFORM pg_notify(channel, payload) does the same."));
    }
}
