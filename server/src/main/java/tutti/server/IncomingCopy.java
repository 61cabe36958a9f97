package tutti.server;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.copy.CopyReceiver;
import tutti.node.copy.IncomingFiles;
import tutti.order.CopiedOrder;
import tutti.runtime.Directory;
import tutti.runtime.real.PathDirectory;
import tutti.server.config.NodeConfig;

/**
 * How a node gets a copy of another one's state, with which it is to begin anew. What a crash leaves of one, and how it takes the place of
 * what is there, is a matter of {@link IncomingFiles}.
 *
 * <p>
 * Used by one thread, but for {@link #progress} and {@link #close}.
 */
final class IncomingCopy implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(IncomingCopy.class);
    /** A majority of so many is left when one has lost everything. */
    private static final int MEMBERS_MIN = 3;

    private final NodeConfig config;
    private final NodeKeys keys;
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private volatile @Nullable CopyReceiver receiver;

    IncomingCopy(NodeConfig config, NodeKeys keys) {
        this.config = config;
        this.keys = keys;
    }

    private static List<String> parts(NodeConfig config) {
        return List.of(config.isInProcess() ? config.engine() : "postgres", NodeCopies.REPLICA, NodeCopies.ORDER);
    }

    private static IncomingFiles files(NodeConfig config) throws IOException {
        return new IncomingFiles(PathDirectory.of(config.data()), parts(config), NodeCopies.ORDER);
    }

    /** Whether the node must not begin before it has a copy. */
    static boolean isWanted(NodeConfig config) throws IOException {
        return files(config).isWanted();
    }

    /**
     * Whether a node that has ended for this reason gets a copy by itself. Not if a file is damaged: there may be something wrong with the
     * disk, which somebody should look at. Nor if there is no majority without it, since nobody could give one.
     */
    static boolean helps(NodeConfig config, Throwable cause) {
        if (!config.copies().automatic() || config.members().size() < MEMBERS_MIN
                || DatabaseCopies.impossible(config) != null) {
            return false;
        }
        for (Throwable each = cause; each != null; each = each.getCause()) {
            if (each instanceof ExcludedException) {
                return true;
            }
        }
        return IncomingFiles.helps(cause);
    }

    /** Why a life ends of a node that holds what the others do not. */
    static final class ExcludedException extends Exception {
        private static final long serialVersionUID = 1;

        ExcludedException(Throwable cause) {
            super(cause.getMessage(), cause);
        }
    }

    /** There is no copy. */
    static final class NoCopyException extends IOException {
        private static final long serialVersionUID = 1;
        private final transient boolean passing;

        NoCopyException(String message, boolean passing) {
            super(message);
            this.passing = passing;
        }

        /** Whether there may be one later. */
        boolean isPassing() {
            return passing;
        }
    }

    /** From now on the node does not begin before it has a copy. */
    void want() throws IOException {
        files(config).want(keys.machine().random("copied order directory").nextLong());
    }

    /**
     * Gets the copy if it is not there yet, and puts it in place. Blocks. The node's own parts do not run, and {@link #want} was called
     * since they have.
     *
     * @param from number of the node to ask; -1 for any
     * @throws NoCopyException if none gives one
     * @throws IOException if it cannot be written
     */
    void get(int from) throws IOException, InterruptedException {
        IncomingFiles files = files(config);
        if (!files.isWhole()) {
            receive(files.number(), from, files.emptied());
        }
        files.install((directory, number) -> config.orderKind().adopt(NodeLife.orderSettings(config, keys),
                keys.machine(), directory, number));
        LOG.info("node {} begins anew with a copy", config.self().name());
    }

    private void receive(long number, int from, Directory into) throws IOException, InterruptedException {
        List<NodeConfig.Member> others = new ArrayList<>(config.members());
        others.removeIf(member -> member.id() == config.node() || (from >= 0 && member.id() != from));
        // Nodes that need a copy at the same time do not all ask the same one first.
        others.sort((a, b) -> Boolean.compare(a.id() < config.node(), b.id() < config.node()));
        CompletableFuture<Void> done = new CompletableFuture<>();
        CopyReceiver.Wanted wanted = new CopyReceiver.Wanted(config.node(), number,
                NodeCopies.state(config, keys.cluster()), Set.copyOf(parts(config)), keys.cluster(), CopiedOrder.VISIT);
        try (CopyReceiver now = new CopyReceiver(wanted, keys.machine(), into, others.stream()
                .map(member -> new CopyReceiver.Donor(member.id(), InetSocketAddress
                        .createUnresolved(member.order().host(), member.order().port())))
                .toList(), new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        done.complete(null);
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        done.completeExceptionally(
                                new NoCopyException(failure.message(), failure.transientFailure()));
                    }
                })) {
            receiver = now;
            CompletableFuture.anyOf(done, closed).get();
            if (!done.isDone()) {
                throw new NoCopyException("the node is stopping", true);
            }
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof NoCopyException none) {
                throw none;
            }
            throw new IOException(failed.getCause());
        } finally {
            receiver = null;
        }
    }

    /** How many bytes have come. Any thread. */
    long bytes() {
        CopyReceiver present = receiver;
        return present == null ? 0 : present.bytes();
    }

    /** How far it has come, for people. Any thread. */
    String progress() {
        CopyReceiver present = receiver;
        return "the node gets a copy of another node's state"
                + (present == null ? "" : ": " + (present.bytes() >> 20) + " MiB so far");
    }

    /** Has {@link #get} fail soon. Any thread. */
    @Override
    public void close() {
        closed.complete(null);
    }
}
