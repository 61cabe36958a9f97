package tutti.engine.postgres.output;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Positions in a server's write-ahead log as PostgreSQL writes them, such as {@code 0/15E4A38}. Unsigned numbers of bytes. */
public final class Lsn {
    private static final Pattern FORM = Pattern.compile("([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})");

    private Lsn() {}

    /** In that form. */
    public static String text(long position) {
        return String.format(Locale.ROOT, "%X/%X", position >>> 32, position & 0xffff_ffffL);
    }

    /** @throws IllegalArgumentException if it is none; says how one looks */
    public static long of(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException(
                    "'" + text + "' is no position in a server's log; one looks like 0/15E4A38");
        }
        return Long.parseLong(form.group(1), 16) << 32 | Long.parseLong(form.group(2), 16);
    }
}
