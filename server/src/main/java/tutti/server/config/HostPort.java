package tutti.server.config;

import java.net.InetSocketAddress;
import java.util.regex.Pattern;

/**
 * Where something listens, as {@code host:port} or {@code [IPv6]:port}.
 *
 * @param host name or address, not empty
 * @param port 1 to 65535
 */
public record HostPort(String host, int port) {
    private static final Pattern LOOPBACK = Pattern.compile("127(\\.\\d{1,3}){3}");

    public HostPort {
        if (host.isBlank()) {
            throw new IllegalArgumentException("the host is empty");
        }
        if (port < 1 || port > 65535) {
            throw new IllegalArgumentException("the port must be 1 to 65535, was " + port);
        }
    }

    /**
     * Reads {@code host:port}.
     *
     * @throws IllegalArgumentException saying what is wrong with it
     */
    public static HostPort parse(String text) {
        int colon = text.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("must be host:port");
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.indexOf(':') >= 0) {
            throw new IllegalArgumentException("must be host:port; an IPv6 address goes in brackets, [::1]:5432");
        }
        try {
            return new HostPort(host, Integer.parseInt(text.substring(colon + 1)));
        } catch (NumberFormatException _) {
            throw new IllegalArgumentException("must be host:port; \"" + text.substring(colon + 1) + "\" is no port");
        }
    }

    /** Whether only this host reaches what listens there. */
    public boolean isLoopback() {
        return isLoopback(host);
    }

    static boolean isLoopback(String host) {
        return LOOPBACK.matcher(host).matches() || host.equals("localhost") || host.equals("::1");
    }

    /** The address to bind or connect to; resolves the name, which may ask the network. */
    public InetSocketAddress resolve() {
        return new InetSocketAddress(host, port);
    }

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
