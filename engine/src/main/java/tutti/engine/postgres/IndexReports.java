package tutti.engine.postgres;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.TableCatalog;

/** What nodes tell each other, by way of the order, of the indexes that they build beside it. Shared by the engines of a server's databases. From any thread. */
public final class IndexReports {
    private static final Logger LOG = LoggerFactory.getLogger(IndexReports.class);
    /** What all that is ordered of such an index is taken to touch: nothing of a client's. */
    public static final KeySet KEYS = new KeySet.Builder()
            .add(TableCatalog.sequenceKey("tutti", "built"), KeyKind.EXCLUSIVE)
            .build();
    /** With what a report begins, before the build, the node and its state. */
    static final String REPORT = "report";
    private static final int PARTS = 4;

    /** How far a node is. */
    public enum State {
        /** It builds. */
        BUILDING,
        /** It has the index, which only has no name yet. */
        BUILT,
        /** It does not, or has not been able to. */
        FAILED,
        /** It cannot, for what is wrong with the statement, which will say so. */
        REFUSED
    }

    /** Hears of a build. */
    @FunctionalInterface
    public interface Listener {
        /** A node has told how far it is. */
        void heard(int node, State state);
    }

    private final Map<String, CopyOnWriteArraySet<Listener>> listeners = new ConcurrentHashMap<>();
    private volatile @Nullable Sender sender;

    private record Sender(int node, Consumer<byte[]> order) {}

    /**
     * Says how this node has something ordered; until then it tells nothing.
     *
     * @param node its number
     * @param order has a statement ordered for the configured database
     */
    public void sendBy(int node, Consumer<byte[]> order) {
        sender = new Sender(node, order);
    }

    /** Tells all how far this node is. */
    void tell(String build, State state) {
        Sender by = sender;
        if (by != null) {
            by.order().accept(Statement.build(new Statement("", "", Map.of()),
                    List.of(REPORT, build, Integer.toString(by.node()), state.name().toLowerCase(Locale.ROOT)))
                    .toBytes());
        }
    }

    /** A report has come to its position. */
    void reached(List<String> parts) {
        if (parts.size() != PARTS) {
            LOG.warn("a report of an index has {} parts", parts.size());
            return;
        }
        CopyOnWriteArraySet<Listener> those = listeners.get(parts.get(1));
        if (those != null) {
            try {
                int node = Integer.parseInt(parts.get(2));
                State state = State.valueOf(parts.get(3).toUpperCase(Locale.ROOT));
                those.forEach(each -> each.heard(node, state));
            } catch (IllegalArgumentException unknown) {
                LOG.warn("a report of an index is not understood: {}", unknown.getMessage());
            }
        }
    }

    /** Has somebody hear of a build from now on. */
    public void listen(String build, Listener listener) {
        listeners.compute(build, (_, before) -> {
            CopyOnWriteArraySet<Listener> those = before == null ? new CopyOnWriteArraySet<>() : before;
            those.add(listener);
            return those;
        });
    }

    /** He hears no more. */
    public void ignore(String build, Listener listener) {
        listeners.computeIfPresent(build, (_, those) -> {
            those.remove(listener);
            return those.isEmpty() ? null : those;
        });
    }
}
