package tutti.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import tutti.jdbc.spi.UrlProperties;

/**
 * A URL {@code jdbc:tutti://host1:port1,host2:port2/database?name=value&...}, taken apart. Ports may be left out (5432), the
 * database too (the user's name, as with PostgreSQL). Database, names and values are URL-encoded.
 *
 * @param hosts at least one, each once, in the order of the URL
 * @param database empty if the URL names none
 * @param properties of the URL
 */
record JdbcUrl(List<HostPort> hosts, String database, Properties properties) {
    /** How all URLs of the driver begin. */
    static final String PREFIX = "jdbc:tutti:";
    /** How URLs of nodes in the application's own virtual machine begin. */
    static final String EMBEDDED = PREFIX + "embedded:";
    private static final int DEFAULT_PORT = 5432;

    static JdbcUrl parse(String url) throws SQLException {
        if (!url.startsWith(PREFIX + "//")) {
            throw Failures.invalid("the URL " + withoutProperties(url) + " is neither " + PREFIX
                    + "//host:port,host:port/database nor " + EMBEDDED + "...");
        }
        String rest = url.substring(PREFIX.length() + 2);
        int question = rest.indexOf('?');
        Properties properties = question < 0 ? new Properties() : UrlProperties.parse(rest.substring(question + 1));
        String address = question < 0 ? rest : rest.substring(0, question);
        int slash = address.indexOf('/');
        String hosts = slash < 0 ? address : address.substring(0, slash);
        String database = slash < 0 ? "" : UrlProperties.decode(address.substring(slash + 1));
        List<HostPort> found = new ArrayList<>();
        for (String each : hosts.split(",", -1)) {
            HostPort host = host(each.strip());
            if (!found.contains(host)) {
                found.add(host);
            }
        }
        return new JdbcUrl(List.copyOf(found), database, properties);
    }

    private static String withoutProperties(String url) {
        int question = url.indexOf('?');
        return question < 0 ? url : url.substring(0, question);
    }

    private static HostPort host(String text) throws SQLException {
        if (text.chars().anyMatch(each -> Character.isWhitespace(each) || each == '@')) {
            throw Failures
                    .invalid("'" + text + "' in the URL is not host:port; user and password are properties, or given"
                            + " beside the URL");
        }
        if (text.startsWith("[") ? !text.contains("]") : text.indexOf(':') != text.lastIndexOf(':')) {
            throw Failures.invalid("'" + text + "' in the URL is not host:port; an IPv6 address stands in brackets");
        }
        int bracket = text.indexOf(']');
        int colon = text.indexOf(':', Math.max(bracket, 0));
        String host = colon < 0 ? text : text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        if (host.isEmpty()) {
            throw Failures.invalid("a host of the URL is empty: write jdbc:tutti://host:port,host:port/database");
        }
        try {
            int port = colon < 0 ? DEFAULT_PORT : Integer.parseInt(text.substring(colon + 1));
            if (port > 0 && port < 65_536) {
                return new HostPort(host, port);
            }
        } catch (NumberFormatException notANumber) {
            throw Failures.invalid("the port in '" + text + "' is not a number", notANumber);
        }
        throw Failures.invalid("the port in '" + text + "' is not between 1 and 65535");
    }
}
