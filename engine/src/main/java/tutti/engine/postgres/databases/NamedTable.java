package tutti.engine.postgres.databases;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A table as a person names it, who may say of which database it is: {@code shop.public.events}, each name as SQL has it.
 *
 * @param database null if none is said
 * @param table the rest, as it was written
 */
record NamedTable(@Nullable String database, String table) {
    private static final int PARTS_WITH_DATABASE = 3;

    static NamedTable of(String written) {
        List<String> parts = parts(written);
        return parts.size() == PARTS_WITH_DATABASE
                ? new NamedTable(identifier(parts.getFirst().strip()), parts.get(1) + '.' + parts.get(2))
                : new NamedTable(null, written);
    }

    /** What stands between the periods that are in no quotation marks. */
    private static List<String> parts(String written) {
        List<String> parts = new ArrayList<>();
        boolean quoted = false;
        int begin = 0;
        for (int i = 0; i < written.length(); i++) {
            char c = written.charAt(i);
            quoted ^= c == '"';
            if (c == '.' && !quoted) {
                parts.add(written.substring(begin, i));
                begin = i + 1;
            }
        }
        parts.add(written.substring(begin));
        return parts;
    }

    private static String identifier(String written) {
        return written.length() > 1 && written.startsWith("\"") && written.endsWith("\"")
                ? written.substring(1, written.length() - 1).replace("\"\"", "\"")
                : written.toLowerCase(Locale.ROOT);
    }
}
