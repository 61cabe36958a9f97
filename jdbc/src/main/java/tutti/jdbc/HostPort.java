package tutti.jdbc;

/**
 * Where a node listens.
 *
 * @param host a name or an address; IPv6 without brackets
 * @param port 1 to 65535
 */
record HostPort(String host, int port) {
    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
