package tutti.server.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.stream.Stream;

/**
 * Address of a running PostgreSQL server, as {@code postgresql://host:port}, with {@code ?sslmode=...} behind it. Role,
 * password and database have keys of their own, where they can be checked and left out of logs.
 *
 * @param address where it listens
 * @param encryption what is asked of connections to it
 */
public record PostgresUrl(HostPort address, Encryption encryption) {
    private static final int DEFAULT_PORT = 5432;
    private static final String MODE = "sslmode=";

    /** What is asked of connections, in words of libpq. Those that leave it to the server do not exist. */
    public enum Encryption {
        /** Nothing: all goes in clear. */
        DISABLE("disable"),
        /** TLS with whoever is there. */
        REQUIRE("require"),
        /** TLS with the server that an authority has given a certificate of that host's name. */
        VERIFY_FULL("verify-full");

        private final String word;

        Encryption(String word) {
            this.word = word;
        }

        private static Encryption of(String query) {
            List<String> valid = Stream.of(values()).map(each -> MODE + each.word).toList();
            return Stream.of(values()).filter(each -> query.equals(MODE + each.word)).findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("must carry nothing after '?' but one of "
                            + String.join(", ", valid)));
        }
    }

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException saying what is wrong with it
     */
    public static PostgresUrl parse(String text) {
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("must be postgresql://host:port: " + e.getMessage(), e);
        }
        String scheme = uri.getScheme();
        if ((!"postgresql".equals(scheme) && !"postgres".equals(scheme)) || uri.getHost() == null) {
            throw new IllegalArgumentException("must be postgresql://host:port");
        }
        if (uri.getUserInfo() != null) {
            throw new IllegalArgumentException("must not name a role: that is what postgres.user and password are for");
        }
        String path = uri.getPath();
        if (path != null && !path.isEmpty() && !path.equals("/")) {
            throw new IllegalArgumentException("must not name a database: that is what postgres.database is for");
        }
        String host = uri.getHost();
        if (host.startsWith("[")) {
            host = host.substring(1, host.length() - 1);
        }
        return new PostgresUrl(new HostPort(host, uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort()),
                uri.getQuery() == null ? Encryption.DISABLE : Encryption.of(uri.getQuery()));
    }

    @Override
    public String toString() {
        return "postgresql://" + address + (encryption == Encryption.DISABLE ? "" : "?" + MODE + encryption.word);
    }
}
