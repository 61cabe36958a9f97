package tutti.bookkeeper;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.bookkeeper.client.BookKeeperAdmin;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.server.EmbeddedServer;
import org.apache.bookkeeper.server.conf.BookieConfiguration;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.jspecify.annotations.Nullable;
import tutti.runtime.real.FreePorts;

/** A real ZooKeeper server and real bookies in this process, which can be stopped and started again one by one. */
final class LocalStore implements AutoCloseable {
    private static final int TICK_MILLIS = 100;

    private final Path directory;
    private final InetSocketAddress zookeeper;
    private final List<InetSocketAddress> addresses;
    private final List<@Nullable EmbeddedServer> bookies = new ArrayList<>();
    private @Nullable NIOServerCnxnFactory connections;
    private @Nullable ZooKeeperServer server;

    /** All of them run. */
    LocalStore(Path directory, int bookies) throws Exception {
        this.directory = directory;
        List<InetSocketAddress> free = FreePorts.addresses(bookies + 1);
        zookeeper = free.getFirst();
        addresses = free.subList(1, bookies + 1);
        startZooKeeper();
        BookKeeperAdmin.initNewCluster(configuration(0));
        for (int bookie = 0; bookie < bookies; bookie++) {
            this.bookies.add(null);
            startBookie(bookie);
        }
    }

    /** Where ZooKeeper is. */
    String zookeeper() {
        return zookeeper.getAddress().getHostAddress() + ":" + zookeeper.getPort();
    }

    void startZooKeeper() throws Exception {
        Path files = Files.createDirectories(directory.resolve("zookeeper"));
        ZooKeeperServer made = new ZooKeeperServer(files.toFile(), files.toFile(), TICK_MILLIS);
        // Bookies that a busy machine holds up are not taken for gone.
        made.setMaxSessionTimeout(60_000);
        NIOServerCnxnFactory listening = new NIOServerCnxnFactory();
        listening.configure(zookeeper, 1000, -1, false);
        listening.startup(made);
        server = made;
        connections = listening;
    }

    void stopZooKeeper() {
        if (connections != null && server != null) {
            connections.shutdown();
            server.shutdown(true);
            connections = null;
            server = null;
        }
    }

    private ServerConfiguration configuration(int bookie) {
        Path files = directory.resolve("bookie" + bookie);
        ServerConfiguration made = new ServerConfiguration();
        made.setMetadataServiceUri("zk+hierarchical://" + zookeeper() + "/ledgers");
        made.setBookiePort(addresses.get(bookie).getPort());
        made.setAdvertisedAddress(zookeeper.getAddress().getHostAddress());
        made.setAllowLoopback(true);
        made.setJournalDirName(files.resolve("journal").toString());
        made.setLedgerDirNames(new String[]{files.resolve("ledgers").toString()});
        made.setDiskUsageThreshold(0.999f);
        made.setDiskUsageWarnThreshold(0.998f);
        made.setZkTimeout(30_000);
        return made;
    }

    void startBookie(int bookie) throws Exception {
        for (String each : List.of("journal", "ledgers")) {
            Files.createDirectories(directory.resolve("bookie" + bookie).resolve(each));
        }
        EmbeddedServer made = EmbeddedServer.builder(new BookieConfiguration(configuration(bookie))).build();
        made.getLifecycleComponentStack().start();
        bookies.set(bookie, made);
    }

    void stopBookie(int bookie) {
        EmbeddedServer running = bookies.get(bookie);
        if (running != null) {
            running.getLifecycleComponentStack().close();
            bookies.set(bookie, null);
        }
    }

    @Override
    public void close() {
        for (int bookie = 0; bookie < bookies.size(); bookie++) {
            stopBookie(bookie);
        }
        stopZooKeeper();
    }
}
