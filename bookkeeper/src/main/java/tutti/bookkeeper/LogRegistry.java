package tutti.bookkeeper;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/**
 * What ZooKeeper keeps of a log: {@code ledgers}, of which ledgers it consists, and {@code owner}, which node writes it; the latter goes
 * with the session of that node. Connects, and connects anew with another session, for as long as the node runs.
 *
 * <p>
 * <b>Who owns.</b> Being the owner keeps others from trying, and nothing more: that one at a time writes is held by BookKeeper's fences and
 * by the list's version ({@link LogWriter}). So a node that takes itself for the owner a while too long does no harm.
 *
 * <p>
 * All of the loop; what ZooKeeper's threads tell is told there.
 */
final class LogRegistry {
    private static final Logger LOG = LoggerFactory.getLogger(LogRegistry.class);
    private static final String OWNER = "/owner";
    private static final String LEDGERS = "/ledgers";
    private static final long AGAIN_NANOS = 250_000_000;
    /** After it has given up, a node leaves it to others for so long. */
    private static final long RESIGNED_NANOS = 1_000_000_000;

    /** Hears of it. */
    interface Listener {
        /** Whether ZooKeeper can be reached now. */
        void reachable(boolean now);

        /** The list is this now, or was a moment ago. */
        void listed(LedgerList list);

        /** This node is the owner. */
        void owns();

        /** It is no more, or perhaps not. */
        void ownsNot();

        /** It cannot go on. */
        void failed(IOException cause);
    }

    /** What came of a change of the list. */
    enum Changed {
        DONE,
        /** Somebody else has changed it before. */
        OVERTAKEN,
        /** ZooKeeper did not answer: it may have been done, or may yet be. */
        UNKNOWN
    }

    /**
     * A list with its version.
     *
     * @param version in ZooKeeper; -1 if there is none yet
     */
    record Versioned(LedgerList list, int version) {}

    private final BookKeeperParameters parameters;
    private final int self;
    private final String identity;
    private final int sessionMillis;
    private final Loop loop;
    private final Machine machine;
    private final Listener listener;
    private @Nullable ZooKeeper session;
    private boolean connected;
    private boolean owner;
    private boolean closed;

    /**
     * Connects to nothing before {@link #start}.
     *
     * @param identity whose log it is, in words that people can compare
     * @param sessionMillis how long this node may be silent until ZooKeeper takes it for dead; it has bounds of its own
     */
    LogRegistry(BookKeeperParameters parameters, int self, String identity, int sessionMillis, Loop loop,
            Machine machine, Listener listener) {
        this.parameters = parameters;
        this.self = self;
        this.identity = identity;
        this.sessionMillis = sessionMillis;
        this.loop = loop;
        this.machine = machine;
        this.listener = listener;
    }

    /** Whether ZooKeeper can be reached now. */
    boolean isConnected() {
        return connected;
    }

    /** Connects. */
    void start() {
        if (closed) {
            return;
        }
        ZKClientConfig config = new ZKClientConfig();
        parameters.zookeeperClient().forEach(config::setProperty);
        Events events = new Events();
        try {
            ZooKeeper opened = new ZooKeeper(parameters.zookeeper(), sessionMillis, events, config);
            session = opened;
            events.of = opened;
        } catch (IOException | IllegalArgumentException cannot) {
            LOG.warn("node {} cannot connect to ZooKeeper at {}: {}; it tries again", self, parameters.zookeeper(),
                    cannot.getMessage());
            var _ = loop.schedule(AGAIN_NANOS, this::start);
        }
    }

    /** Leaves. What belongs to the session goes with it, a moment later. */
    void close() {
        closed = true;
        leave();
    }

    private void leave() {
        ZooKeeper left = session;
        session = null;
        if (left != null) {
            var _ = machine.background("order-" + self + "-leaves-zookeeper", left::close);
        }
    }

    private boolean isCurrent(@Nullable ZooKeeper of) {
        return !closed && of != null && of.equals(session);
    }

    /** What happens to one session. Told by a thread of ZooKeeper's. */
    private final class Events implements Watcher {
        private volatile @Nullable ZooKeeper of;

        @Override
        public void process(WatchedEvent event) {
            loop.execute(() -> {
                if (isCurrent(of)) {
                    happened(event);
                }
            });
        }
    }

    private void happened(WatchedEvent event) {
        if (event.getType() == Watcher.Event.EventType.None) {
            switch (event.getState()) {
                case SyncConnected, SaslAuthenticated -> reached();
                case Expired -> {
                    lost();
                    LOG.info("node {}: its session with ZooKeeper has ended, it begins another", self);
                    leave();
                    start();
                }
                case AuthFailed -> listener.failed(new IOException("ZooKeeper at " + parameters.zookeeper()
                        + " does not accept who node " + self + " says it is: look at order.parameters,"
                        + " zookeeper-client.PROPERTY, and at the login configuration of the JVM"));
                default -> lostSight();
            }
        } else if (event.getPath() != null && event.getPath().endsWith(LEDGERS)) {
            read();
        } else if (event.getPath() != null && event.getPath().endsWith(OWNER)) {
            compete();
        }
    }

    private void lostSight() {
        if (connected) {
            connected = false;
            LOG.warn("node {} cannot reach ZooKeeper at {}", self, parameters.zookeeper());
            listener.reachable(false);
        }
    }

    private void lost() {
        lostSight();
        if (owner) {
            owner = false;
            listener.ownsNot();
        }
    }

    private void reached() {
        if (!connected) {
            connected = true;
            listener.reachable(true);
            make(1);
        }
    }

    /** Makes the path, from its beginning to the part of this number, and what follows; then reads and competes. */
    private void make(int part) {
        String[] parts = parameters.path().substring(1).split("/", -1);
        if (part > parts.length) {
            read();
            compete();
            return;
        }
        String path = "/" + String.join("/", java.util.Arrays.asList(parts).subList(0, part));
        ZooKeeper of = session;
        if (of != null) {
            of.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                    (int code, String _, Object _, String _) -> later(of, () -> {
                        KeeperException.Code result = KeeperException.Code.get(code);
                        if (result == KeeperException.Code.OK || result == KeeperException.Code.NODEEXISTS) {
                            make(part + 1);
                        } else {
                            again("make " + path, result, () -> make(part));
                        }
                    }), null);
        }
    }

    private void later(ZooKeeper of, Runnable task) {
        loop.execute(() -> {
            if (isCurrent(of)) {
                task.run();
            }
        });
    }

    /** Something did not work: again in a moment, unless it begins anew with the next connection anyway. */
    private void again(String what, KeeperException.Code why, Runnable task) {
        if (why == KeeperException.Code.NOAUTH) {
            listener.failed(new IOException("node " + self + " may not " + what + " in ZooKeeper at "
                    + parameters.zookeeper() + ": let it, or choose another order.parameters.path"));
            return;
        }
        LOG.debug("node {} could not {} in ZooKeeper: {}", self, what, why);
        ZooKeeper of = session;
        var _ = loop.schedule(AGAIN_NANOS, () -> {
            if (isCurrent(of)) {
                task.run();
            }
        });
    }

    // ------------------------------------------------------------------------------------------ the list

    private void read() {
        read(read -> {
            if (read != null) {
                listener.listed(read.list());
            }
        });
    }

    /** Reads the list, with what is known to be in ZooKeeper by now; told null if that cannot be. Watches it. */
    void read(Consumer<@Nullable Versioned> told) {
        ZooKeeper of = session;
        if (of == null) {
            told.accept(null);
            return;
        }
        String path = parameters.path() + LEDGERS;
        // Whoever asks gets no older list than anybody had when it asked.
        of.sync(path, (int _, String _, Object _) -> {
            // What has not been synced is found out by the version.
        }, null);
        of.getData(path, true, (int code, String _, Object _, byte[] data, Stat stat) -> loop.execute(() -> {
            KeeperException.Code result = KeeperException.Code.get(code);
            if (result == KeeperException.Code.OK) {
                decode(data, stat.getVersion(), told);
            } else if (result == KeeperException.Code.NONODE) {
                // Watched until there is one, which may be by now.
                of.exists(path, true, (int found, String _, Object _, Stat _) -> later(of, () -> {
                    if (found == KeeperException.Code.OK.intValue()) {
                        read();
                    }
                }), null);
                told.accept(new Versioned(LedgerList.empty(identity), -1));
            } else {
                LOG.debug("node {} cannot read {}: {}", self, path, result);
                told.accept(null);
                if (isCurrent(of)) {
                    again("read " + path, result, this::read);
                }
            }
        }), null);
    }

    private void decode(byte[] data, int version, Consumer<@Nullable Versioned> told) {
        LedgerList list;
        try {
            list = LedgerList.SET.decode(ByteBuffer.wrap(data), LedgerList.class);
        } catch (DecodeException wrong) {
            listener.failed(new IOException(parameters.path() + LEDGERS + " in ZooKeeper at " + parameters.zookeeper()
                    + " is no list of ledgers that this release can read: " + wrong.getMessage(), wrong));
            return;
        }
        if (!list.identity().equals(identity)) {
            listener.failed(new IOException("the log at " + parameters.path() + " in ZooKeeper at "
                    + parameters.zookeeper() + " belongs to " + list.identity() + ", but this node is of " + identity
                    + ": give each cluster an order.parameters.path of its own, and all its nodes the same members"));
            return;
        }
        told.accept(new Versioned(list, version));
    }

    /**
     * Changes the list, if it still has a version.
     *
     * @param told what came of it; on the loop
     */
    void change(LedgerList to, int version, int wireVersion, Consumer<Changed> told) {
        ZooKeeper of = session;
        if (of == null) {
            told.accept(Changed.UNKNOWN);
            return;
        }
        String path = parameters.path() + LEDGERS;
        if (version < 0) {
            of.create(path, to.bytes(wireVersion), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                    (int code, String _, Object _, String _) -> changed(code, told), null);
        } else {
            of.setData(path, to.bytes(wireVersion), version,
                    (int code, String _, Object _, Stat _) -> changed(code, told), null);
        }
    }

    private void changed(int code, Consumer<Changed> told) {
        KeeperException.Code result = KeeperException.Code.get(code);
        loop.execute(() -> told.accept(switch (result) {
            case OK -> Changed.DONE;
            case BADVERSION, NODEEXISTS, NONODE -> Changed.OVERTAKEN;
            default -> Changed.UNKNOWN;
        }));
    }

    // ------------------------------------------------------------------------------------------ the owner

    private void compete() {
        ZooKeeper of = session;
        if (of == null || owner) {
            return;
        }
        of.create(parameters.path() + OWNER, Integer.toString(self).getBytes(StandardCharsets.US_ASCII),
                ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL,
                (int code, String _, Object _, String _) -> later(of, () -> competed(KeeperException.Code.get(code))),
                null);
    }

    private void competed(KeeperException.Code result) {
        if (result == KeeperException.Code.OK) {
            if (!owner) {
                owner = true;
                listener.owns();
            }
        } else if (result == KeeperException.Code.NODEEXISTS) {
            watchOwner();
        } else {
            again("become the owner of " + parameters.path(), result, this::compete);
        }
    }

    /** Until another one has gone. What a former life of this node has left goes at once. */
    private void watchOwner() {
        ZooKeeper of = session;
        if (of == null) {
            return;
        }
        String path = parameters.path() + OWNER;
        of.getData(path, true, (int code, String _, Object _, byte[] data, Stat stat) -> later(of, () -> {
            KeeperException.Code result = KeeperException.Code.get(code);
            if (result == KeeperException.Code.NONODE) {
                compete();
            } else if (result != KeeperException.Code.OK) {
                again("see the owner of " + parameters.path(), result, this::compete);
            } else if (stat.getEphemeralOwner() == of.getSessionId()) {
                // A request whose answer was lost.
                competed(KeeperException.Code.OK);
            } else if (new String(data, StandardCharsets.US_ASCII).equals(Integer.toString(self))) {
                // The watch tells when it is gone.
                of.delete(path, stat.getVersion(), (int _, String _, Object _) -> {
                    // Whatever comes of it.
                }, null);
            }
        }), null);
    }

    /** Leaves it to others to own the log, for a while. */
    void resign() {
        if (!owner) {
            return;
        }
        owner = false;
        listener.ownsNot();
        ZooKeeper of = session;
        if (of == null) {
            return;
        }
        String path = parameters.path() + OWNER;
        of.exists(path, false, (int code, String _, Object _, Stat stat) -> later(of, () -> {
            // Not what another one has made, which took the log over.
            if (code == KeeperException.Code.OK.intValue() && stat.getEphemeralOwner() == of.getSessionId()) {
                of.delete(path, stat.getVersion(), (int _, String _, Object _) -> {
                    // Whatever comes of it.
                }, null);
            }
        }), null);
        var _ = loop.schedule(RESIGNED_NANOS, () -> {
            if (isCurrent(of)) {
                compete();
            }
        });
    }
}
