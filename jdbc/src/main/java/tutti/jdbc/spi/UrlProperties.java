package tutti.jdbc.spi;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Properties;

/** The part of a JDBC URL behind its question mark. */
public final class UrlProperties {
    private UrlProperties() {}

    /**
     * Reads {@code name=value&name=value}, both URL-encoded.
     *
     * @throws SQLException with 22023 if something is not
     */
    public static Properties parse(String text) throws SQLException {
        Properties properties = new Properties();
        for (String each : text.split("&", -1)) {
            if (each.isEmpty()) {
                continue;
            }
            int equals = each.indexOf('=');
            properties.setProperty(decode(equals < 0 ? each : each.substring(0, equals)),
                    equals < 0 ? "" : decode(each.substring(equals + 1)));
        }
        return properties;
    }

    /**
     * Reads one word that is URL-encoded.
     *
     * @throws SQLException with 22023 if it is not
     */
    public static String decode(String text) throws SQLException {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException malformed) {
            throw new SQLException("'" + text + "' in the URL is not URL-encoded", "22023", malformed);
        }
    }
}
