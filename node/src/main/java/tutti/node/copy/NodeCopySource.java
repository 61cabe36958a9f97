package tutti.node.copy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.ReplicaNode;
import tutti.node.StateCopy;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * What a node gives copies of: its replica's state, then its part of the order from there on, then its database; in this order, since each
 * must hold at least what the one before it needs ({@code Copies} in {@code tutti.node}). Any thread.
 */
public final class NodeCopySource implements CopySource {
    private static final Logger LOG = LoggerFactory.getLogger(NodeCopySource.class);

    /** Copies of the order. */
    @FunctionalInterface
    public interface Log {
        /**
         * Takes what a node needs to begin behind a position, as of now.
         *
         * @param taken told, when nothing behind that position is forgotten any more before it has been written
         */
        void copy(long after, Consumer<LogCopy> taken);
    }

    /** A copy of the order that has been taken. */
    @FunctionalInterface
    public interface LogCopy {
        /** Writes it into an empty directory. Blocks. */
        void write(Directory into) throws IOException;
    }

    /** Copies of the database. */
    @FunctionalInterface
    public interface Rows {
        /**
         * Begins one, of what the database holds by now or later. Blocks.
         *
         * @param into an empty directory, for what is written down for that; removed when the copy is over
         */
        Copy copy(int receiver, Directory into) throws IOException;
    }

    private final String state;
    private final int self;
    private final ReplicaNode node;
    private final Machine machine;
    private final Directory staging;
    private final Log log;
    private final Rows rows;
    private final String orderPart;
    private final String replicaPart;
    private final AtomicLong count = new AtomicLong();

    /**
     * Of a node whose parts run.
     *
     * @param state as {@link CopySource#state}
     * @param staging for what is written down for a copy; nobody else's
     * @param orderPart how the order's part is called in a copy
     * @param replicaPart how the replica's part is called
     * @throws IOException if what an earlier life has left cannot be removed
     */
    public NodeCopySource(String state, int self, ReplicaNode node, Machine machine, Directory staging, Log log,
            Rows rows, String orderPart, String replicaPart) throws IOException {
        this.state = state;
        this.self = self;
        this.node = node;
        this.machine = machine;
        this.staging = staging;
        this.log = log;
        this.rows = rows;
        this.orderPart = orderPart;
        this.replicaPart = replicaPart;
        for (String left : staging.directories()) {
            staging.deleteAll(left);
        }
    }

    @Override
    public String state() {
        return state;
    }

    @Override
    public boolean leads() {
        return node.view().leader() == self;
    }

    @Override
    public void begin(int receiver, long directory, Completion<Copy> done) {
        node.copy(receiver, directory, new Completion<>() {
            @Override
            public void succeeded(StateCopy taken) {
                log.copy(Math.max(0, taken.position() - 1),
                        logCopy -> machine.background("tutti-copy-begin", () -> {
                            try {
                                done.succeeded(staged(receiver, taken, logCopy));
                            } catch (IOException | RuntimeException broken) {
                                LOG.warn("no copy for node {}", receiver, broken);
                                node.copied(taken, false);
                                done.failed(new EngineFailure("58030", String.valueOf(broken.getMessage()), true));
                            }
                        }));
            }

            @Override
            public void failed(EngineFailure failure) {
                done.failed(failure);
            }
        });
    }

    private Copy staged(int receiver, StateCopy taken, LogCopy logCopy) throws IOException {
        String name = Long.toString(count.incrementAndGet());
        boolean begun = false;
        try {
            Directory into = staging.directory(name);
            logCopy.write(into.directory(orderPart));
            taken.write(into.directory(replicaPart));
            List<Entry> entries = new ArrayList<>(below(into.directory(orderPart), orderPart));
            entries.addAll(below(into.directory(replicaPart), replicaPart));
            Copy database = rows.copy(receiver, into.directory("database"));
            entries.addAll(database.first());
            begun = true;
            return new Copy() {
                @Override
                public List<Entry> first() {
                    return entries;
                }

                @Override
                public List<Entry> last() throws IOException {
                    return database.last();
                }

                @Override
                public void end(boolean complete) {
                    node.copied(taken, complete);
                    machine.background("tutti-copy-end", () -> {
                        database.end(complete);
                        staging.deleteAll(name);
                    });
                }
            };
        } finally {
            if (!begun) {
                staging.deleteAll(name);
            }
        }
    }

    /** All that is in a directory, as a part of a copy; files may be gone when they are opened. */
    public static List<Entry> below(Directory directory, String part) throws IOException {
        List<Entry> entries = new ArrayList<>();
        entries.add(new Entry(part, null));
        for (String name : directory.list()) {
            entries.add(new Entry(part + "/" + name, () -> open(directory, name)));
        }
        for (String name : directory.directories()) {
            entries.addAll(below(directory.directory(name), part + "/" + name));
        }
        return entries;
    }

    private static @Nullable DataFile open(Directory directory, String name) throws IOException {
        try {
            return directory.open(name, Directory.Open.EXISTING);
        } catch (IOException failed) {
            if (directory.exists(name)) {
                throw failed;
            }
            return null;
        }
    }
}
