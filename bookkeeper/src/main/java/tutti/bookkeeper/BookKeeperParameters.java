package tutti.bookkeeper;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import tutti.core.text.NearestWord;

/**
 * What an operator says of a log in BookKeeper, under {@code order.parameters}.
 *
 * @param zookeeper hosts and ports of ZooKeeper, with commas between them
 * @param path where in ZooKeeper the log of this cluster is kept
 * @param ledgersPath where in ZooKeeper the bookies are
 * @param ensemble over how many bookies the entries of a ledger are spread
 * @param writeQuorum how many of them each entry is sent to
 * @param ackQuorum how many of these must have it on their disks before it counts
 * @param client properties of BookKeeper's client, as its manual names them
 * @param zookeeperClient properties of ZooKeeper's client, likewise
 */
record BookKeeperParameters(String zookeeper, String path, String ledgersPath, int ensemble, int writeQuorum,
        int ackQuorum, SortedMap<String, String> client, SortedMap<String, String> zookeeperClient) {
    private static final String ZOOKEEPER = "zookeeper";
    private static final String PATH = "path";
    private static final String LEDGERS_PATH = "ledgers-path";
    private static final String ENSEMBLE = "ensemble";
    private static final String WRITE_QUORUM = "write-quorum";
    private static final String ACK_QUORUM = "ack-quorum";
    private static final String CLIENT = "client.";
    private static final String ZOOKEEPER_CLIENT = "zookeeper-client.";
    private static final List<String> NAMES = List.of(ZOOKEEPER, PATH, LEDGERS_PATH, ENSEMBLE, WRITE_QUORUM,
            ACK_QUORUM);
    private static final Pattern HOSTS = Pattern.compile("[^\\s,/:]+:\\d{1,5}(,[^\\s,/:]+:\\d{1,5})*");
    private static final Pattern PATHS = Pattern.compile("(/[A-Za-z0-9._-]+)+");
    private static final int BOOKIES_MAX = 99;

    /**
     * Reads them.
     *
     * @param cluster name of the cluster, from which the path is made if none is given
     * @throws IllegalArgumentException naming the parameter, what is wrong with it, and what is valid
     */
    static BookKeeperParameters of(Map<String, String> given, String cluster) {
        SortedMap<String, String> client = new TreeMap<>();
        SortedMap<String, String> zookeeperClient = new TreeMap<>();
        given.forEach((name, value) -> {
            if (name.startsWith(CLIENT) && name.length() > CLIENT.length()) {
                client.put(name.substring(CLIENT.length()), value);
            } else if (name.startsWith(ZOOKEEPER_CLIENT) && name.length() > ZOOKEEPER_CLIENT.length()) {
                zookeeperClient.put(name.substring(ZOOKEEPER_CLIENT.length()), value);
            } else if (!NAMES.contains(name)) {
                throw new IllegalArgumentException("order bookkeeper has no parameter '" + name + "'; it has: "
                        + String.join(", ", NAMES) + ", " + CLIENT + "PROPERTY, " + ZOOKEEPER_CLIENT
                        + "PROPERTY; nearest: " + NearestWord.of(name, NAMES));
            }
        });
        String zookeeper = given.getOrDefault(ZOOKEEPER, "");
        if (!HOSTS.matcher(zookeeper).matches()) {
            throw wrong(ZOOKEEPER, zookeeper, "host:port of each server of ZooKeeper, with commas between them, such as"
                    + " \"10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181\"");
        }
        int ensemble = count(given, ENSEMBLE, 3, BOOKIES_MAX, "how many bookies a ledger is spread over, 1 to 99");
        int write = count(given, WRITE_QUORUM, Math.min(3, ensemble), ensemble, "1 to " + ENSEMBLE + ", which is "
                + ensemble);
        int ack = count(given, ACK_QUORUM, write / 2 + 1, write, "1 to " + WRITE_QUORUM + ", which is " + write);
        return new BookKeeperParameters(zookeeper, path(given, PATH, "/tutti/" + cluster),
                path(given, LEDGERS_PATH, "/ledgers"), ensemble, write, ack, client, zookeeperClient);
    }

    private static String path(Map<String, String> given, String name, String byDefault) {
        String path = given.getOrDefault(name, byDefault);
        if (!PATHS.matcher(path).matches()) {
            throw wrong(name, path, "a path in ZooKeeper of letters, digits, '.', '_' and '-', such as /tutti/orders");
        }
        return path;
    }

    private static int count(Map<String, String> given, String name, int byDefault, int most, String valid) {
        String text = given.getOrDefault(name, Integer.toString(byDefault));
        try {
            int count = Integer.parseInt(text.strip());
            if (count >= 1 && count <= most) {
                return count;
            }
        } catch (NumberFormatException _) {
            throw wrong(name, text, valid);
        }
        throw wrong(name, text, valid);
    }

    private static IllegalArgumentException wrong(String name, String value, String valid) {
        return new IllegalArgumentException(
                "order bookkeeper: " + name + " is '" + value + "'; valid: " + valid);
    }

    /** Where BookKeeper finds its metadata. */
    String metadataService() {
        return "zk+hierarchical://" + zookeeper.replace(',', ';') + ledgersPath;
    }
}
