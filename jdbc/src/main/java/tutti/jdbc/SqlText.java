package tutti.jdbc;

import java.sql.SQLException;
import java.util.List;
import org.postgresql.core.Parser;

/** The statements of a text that is executed. */
final class SqlText {
    private SqlText() {}

    /** Each from its first word on, without the comments before it; none if the text cannot be read. */
    static List<String> statements(String sql) {
        if (sql.indexOf(';') < 0) {
            return List.of(fromFirstWord(sql));
        }
        try {
            return Parser.parseJdbcSql(sql, true, false, true, false, false).stream()
                    .map(each -> fromFirstWord(each.nativeSql)).toList();
        } catch (SQLException unreadable) {
            return List.of();
        }
    }

    private static String fromFirstWord(String sql) {
        int at = 0;
        while (at < sql.length()) {
            if (Character.isWhitespace(sql.charAt(at))) {
                at++;
            } else if (sql.startsWith("--", at)) {
                at = Parser.parseLineComment(sql.toCharArray(), at) + 1;
            } else if (sql.startsWith("/*", at)) {
                at = Parser.parseBlockComment(sql.toCharArray(), at) + 1;
            } else {
                break;
            }
        }
        return sql.substring(Math.min(at, sql.length()));
    }
}
