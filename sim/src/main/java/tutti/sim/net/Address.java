package tutti.sim.net;

/**
 * Where a datagram goes: a port of a host, or a port of all members of a multicast group of a segment.
 *
 * @param host name of a host, or {@code @} and the name of a group
 * @param port any number
 */
public record Address(String host, int port) {
    private static final String GROUP = "@";

    /** A port of a host. */
    public static Address of(String host, int port) {
        if (host.isEmpty() || host.startsWith(GROUP)) {
            throw new IllegalArgumentException("'" + host + "' is no name of a host");
        }
        return new Address(host, port);
    }

    /** A port of a group; who sends to it reaches the members on its own segment. */
    public static Address group(String group, int port) {
        return new Address(GROUP + group, port);
    }

    /** Whether it is that of a group. */
    public boolean isGroup() {
        return host.startsWith(GROUP);
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }
}
