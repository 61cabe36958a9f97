package tutti.cli.torture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import tutti.command.Failure;

/**
 * A network of the nodes' own: a namespace for each, and a pair of veth devices from there to a bridge, at which this process is, too. This
 * process must be in a network namespace that was made for it; the kernel removes everything with its last process.
 *
 * <p>
 * A direction is lost by a wrong entry in the sender's table of neighbours: what is sent goes to an address that nobody has, as
 * on a network that loses everything, and no sender is told. One thread.
 */
final class Links {
    private static final String BRIDGE = "tutti";
    private static final String NOBODY = "02:54:ff:ff:ff:ff";
    private static final int HUB = 254;

    private final Path directory;
    private final int nodes;

    private Links(Path directory, int nodes) {
        this.directory = directory;
        this.nodes = nodes;
    }

    /**
     * Makes it.
     *
     * @param directory for the names of the namespaces
     */
    static Links create(Path directory, int nodes) {
        Links made = new Links(directory, nodes);
        Tools.run("ip", "link", "set", "lo", "up");
        Tools.run("ip", "link", "add", BRIDGE, "address", mac(HUB), "type", "bridge");
        Tools.run("ip", "addr", "add", address(HUB) + "/24", "dev", BRIDGE);
        Tools.run("ip", "link", "set", BRIDGE, "up");
        for (int id = 0; id < nodes; id++) {
            made.add(id);
        }
        return made;
    }

    private void add(int id) {
        Path name = name(id);
        try {
            Files.createDirectories(directory);
            Files.createFile(name);
        } catch (IOException e) {
            throw new Failure("cannot write " + name + ": " + e.getMessage(), "", e);
        }
        Tools.run("unshare", "--net=" + name, "true");
        Tools.run("ip", "link", "add", device(id), "type", "veth", "peer", "name", "eth0", "netns", name.toString());
        Tools.run("ip", "link", "set", device(id), "master", BRIDGE, "up");
        within(id, "ip", "link", "set", "lo", "up");
        within(id, "ip", "link", "set", "eth0", "address", mac(id + 1), "up");
        within(id, "ip", "addr", "add", address(id + 1) + "/24", "dev", "eth0");
        neighbour(id, HUB, mac(HUB));
        Tools.run("ip", "neigh", "replace", address(id + 1), "lladdr", mac(id + 1), "dev", BRIDGE, "nud", "permanent");
        IntStream.range(0, nodes).filter(other -> other != id).forEach(other -> pass(id, other));
    }

    private Path name(int id) {
        return directory.resolve("network-" + id);
    }

    private static String device(int id) {
        return BRIDGE + id;
    }

    private static String mac(int number) {
        return String.format(Locale.ROOT, "02:54:00:00:00:%02x", number);
    }

    private static String address(int number) {
        return "10.84.0." + number;
    }

    private void within(int id, String... command) {
        Tools.run(java.util.stream.Stream.concat(prefix(String.valueOf(id)).stream(), List.of(command).stream())
                .toList());
    }

    private List<String> prefix(String id) {
        return List.of("nsenter", "--net=" + directory.resolve("network-") + id, "--");
    }

    /** What has a node run in its network; {@code {node}} in it stands for the node's id. */
    List<String> prefix() {
        return prefix("{node}");
    }

    /** Where this process is, which all nodes reach. */
    String hub() {
        return address(HUB);
    }

    /** The nodes' addresses. */
    List<String> hosts() {
        return IntStream.range(0, nodes).mapToObj(id -> address(id + 1)).toList();
    }

    private void neighbour(int at, int number, String mac) {
        within(at, "ip", "neigh", "replace", address(number), "lladdr", mac, "dev", "eth0", "nud", "permanent");
    }

    /** From now on, nothing that a node sends arrives at another. */
    void lose(int from, int to) {
        neighbour(from, to + 1, NOBODY);
    }

    /** It arrives again. */
    void pass(int from, int to) {
        neighbour(from, to + 1, mac(to + 1));
    }

    /** Pulls a node's cable. */
    void unplug(int id) {
        Tools.run("ip", "link", "set", device(id), "down");
    }

    /** Puts it in again. */
    void plug(int id) {
        Tools.run("ip", "link", "set", device(id), "up");
    }
}
