package tutti.server.config;

import java.net.URI;
import java.net.URISyntaxException;

/**
 * Address of a running PostgreSQL server, as {@code postgresql://host:port}. Role, password and database have keys of
 * their own, where they can be checked and left out of logs.
 *
 * @param address where it listens
 */
public record PostgresUrl(HostPort address) {
    private static final int DEFAULT_PORT = 5432;

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
        if (uri.getQuery() != null) {
            throw new IllegalArgumentException("must not carry parameters after '?'");
        }
        String host = uri.getHost();
        if (host.startsWith("[")) {
            host = host.substring(1, host.length() - 1);
        }
        return new PostgresUrl(new HostPort(host, uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort()));
    }

    @Override
    public String toString() {
        return "postgresql://" + address;
    }
}
