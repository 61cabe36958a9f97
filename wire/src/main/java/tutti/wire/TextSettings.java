package tutti.wire;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.SqlTokens;

/**
 * How a session's texts are read, as its engine reports it: whether backslashes in plain strings are characters like any other, and the encoding. The engine
 * reports a change when the client's cycle is over; what follows in the same cycle is read by it already. So from whatever may change something by itself on,
 * texts are taken that mean the same either way, and others are refused. On the session's event loop.
 */
final class TextSettings {
    /**
     * How a text is read at a moment.
     *
     * @param doubt 0 if the other two are known; otherwise a number of the moments at which they are the same, whatever they are
     */
    record Reading(boolean standardStrings, String encoding, long doubt) {}

    /** Encodings in which the second byte of a character may be one of ASCII. */
    private static final Set<String> UNSAFE = Set.of("SJIS", "SHIFTJIS", "SHIFTJIS2004", "MSKANJI", "WIN932",
            "WINDOWS932",
            "BIG5", "WIN950", "WINDOWS950", "GBK", "WIN936", "WINDOWS936", "GB18030", "UHC", "WIN949", "WINDOWS949",
            "JOHAB");
    private static final String UTF8 = "UTF8";
    /** Why a statement is refused that the node sends in a message of its own. */
    static final String NOT_UTF8 = "this statement is sent to other nodes, and its text is neither in UTF-8 nor nothing but ASCII: SET client_encoding = 'UTF8'";
    /** What may be the second byte of a character, and means something by itself. */
    private static final String SECOND_BYTES = "@[\\]^`{|}~";
    private boolean standardStrings;
    private String encoding;
    private boolean doubtful;
    private long doubts;

    /** As the engine reported when the session began. */
    TextSettings(Map<String, String> parameters) {
        standardStrings = !"off".equals(parameters.get("standard_conforming_strings"));
        encoding = parameters.getOrDefault("client_encoding", "");
    }

    /** The engine reports a parameter. */
    void reported(String name, String value) {
        if (name.equals("standard_conforming_strings")) {
            standardStrings = !value.equals("off");
        } else if (name.equals("client_encoding")) {
            encoding = value;
        }
    }

    /** Something is about to be executed that may change the settings. */
    void mayChange() {
        doubtful = true;
        doubts++;
    }

    /** The engine has reported all changes. */
    void known() {
        doubtful = false;
    }

    /** Whether an encoding, by one of its names, has characters of which a byte may be one of ASCII. */
    static boolean isUnsafe(String name) {
        return UNSAFE.contains(name.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", ""));
    }

    /** Whether texts are in UTF-8, both ways, as was reported last. */
    boolean utf8() {
        return encoding.equals(UTF8);
    }

    /** Whether texts are in UTF-8 for certain; then every text is taken. */
    boolean certainlyUtf8() {
        return !doubtful && utf8();
    }

    boolean standardStrings() {
        return standardStrings;
    }

    /** Whether names in a text can be told: it is in UTF-8, or nothing but ASCII. */
    boolean understood(byte[] text) {
        return understood(text, text.length);
    }

    /** Likewise of so many bytes. */
    boolean understood(byte[] text, int length) {
        return certainlyUtf8() || isAscii(text, length);
    }

    /** Whether a text can be sent in a message of the node's own, which is in UTF-8. */
    boolean canBeSentOn(byte[] text, int length) {
        return utf8() || isAscii(text, length);
    }

    private static boolean isAscii(byte[] text, int length) {
        for (int i = 0; i < length; i++) {
            if (text[i] < 0) {
                return false;
            }
        }
        return true;
    }

    /** How a text is read now; null if it means the same however it is read. */
    @Nullable
    Reading reading(byte[] text, int length) {
        for (int i = 0; i < length; i++) {
            if (text[i] < 0 || text[i] == '\\') {
                return now();
            }
        }
        return null;
    }

    private Reading now() {
        return new Reading(standardStrings, encoding, doubtful ? doubts : 0);
    }

    /** Whether a text would be read now as it was at that moment. */
    boolean isNow(@Nullable Reading reading) {
        return reading == null || reading.equals(now());
    }

    /** Why a text is not taken, since the engine may read another one in it than the node; or null. */
    @Nullable
    ErrorFields refusal(byte[] text) {
        boolean ascii = isAscii(text, text.length);
        if (!ascii && isUnsafe(encoding)) {
            return Errors.notSupported("a text in the client encoding " + encoding
                    + " is taken in ASCII only, because characters of it may contain ASCII bytes")
                    .with('H', "SET client_encoding = 'UTF8', or pass what is not ASCII as values of parameters.");
        }
        if (doubtful && mayEndElsewhere(text)) {
            return unclear("standard_conforming_strings",
                    "Write strings with a backslash before a quotation mark as E'...'");
        }
        return !ascii && mayBeDivided(text)
                ? unclear("client_encoding", "Pass what is not ASCII as values of parameters")
                : null;
    }

    private static ErrorFields unclear(String setting, String remedy) {
        return Errors.notSupported("the text may be read in two ways, depending on " + setting
                + ", which may have been changed by what was sent before it without waiting for the answer")
                .with('H', remedy + ", or wait for the answer (Sync) before this statement.");
    }

    /** Whether it depends on the meaning of backslashes in plain strings where these end. */
    private static boolean mayEndElsewhere(byte[] text) {
        if (indexOf(text, '\\') < 0) {
            return false;
        }
        SqlTokens one = new SqlTokens();
        SqlTokens other = new SqlTokens();
        one.reset(text, 0, text.length, true);
        other.reset(text, 0, text.length, false);
        int token;
        do {
            token = one.next();
            if (token != other.next() || one.position() != other.position()) {
                return true;
            }
        } while (token != SqlTokens.END);
        return false;
    }

    private static int indexOf(byte[] text, char letter) {
        for (int i = 0; i < text.length; i++) {
            if (text[i] == letter) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Whether it depends on the encoding where tokens begin and end: what looks like a sign may be the second byte of a character, and the letters of two dollar
     * quotes may be the same though their bytes are not.
     */
    private boolean mayBeDivided(byte[] text) {
        SqlTokens tokens = new SqlTokens();
        tokens.reset(text, 0, text.length, standardStrings);
        for (int token = tokens.next(); token != SqlTokens.END; token = tokens.next()) {
            int start = tokens.start();
            boolean divided = token == SqlTokens.STRING
                    ? text[start] == '$'
                            ? letterBeyondAscii(text, start + 1)
                            : doubtful && escapesLetter(text, start, tokens.position())
                    : doubtful && start > 0 && text[start - 1] < 0 && SECOND_BYTES.indexOf(text[start]) >= 0;
            if (divided) {
                return true;
            }
        }
        return false;
    }

    private static boolean letterBeyondAscii(byte[] text, int from) {
        for (int i = from; text[i] != '$'; i++) {
            if (text[i] < 0) {
                return true;
            }
        }
        return false;
    }

    private static boolean escapesLetter(byte[] text, int start, int end) {
        for (int i = start + 1; i < end; i++) {
            if (text[i] == '\\' && text[i - 1] < 0) {
                return true;
            }
        }
        return false;
    }

    /** Why a name of a prepared statement or portal is not taken, since the engine may know it by other bytes, too. */
    static ErrorFields nameRefusal() {
        return Errors.notSupported(
                "names of prepared statements and portals are taken in ASCII only, unless client_encoding is UTF8"
                        + " and nothing was sent before in the same cycle that may have changed it");
    }
}
