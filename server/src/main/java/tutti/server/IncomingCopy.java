package tutti.server;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.command.Trees;
import tutti.core.spi.Completion;
import tutti.core.spi.DurableLog;
import tutti.core.spi.EngineFailure;
import tutti.node.copy.CopyReceiver;
import tutti.order.CopiedOrder;
import tutti.runtime.LostDirectoryException;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.NodeConfig;

/**
 * A copy of another node's state, with which this node is to begin anew: how it is got, and how it takes the place of what is there.
 *
 * <p>
 * <b>What a crash leaves.</b> In the directory {@code incoming} of the node's data:
 * <ul>
 * <li>the file {@code wanted}, with the number of the new order directory, from before anybody is asked until all is in place. As long as
 * it is there, the node begins nothing with the data that it has: what it had promised may count no more
 * ({@code OrderCopy} in {@code tutti.order.raft}).
 * <li>the directory {@code files}, with the copy's. It is whole if the file {@code complete} is in there, which the receiver makes last.
 * If not, it is removed, and another copy is got.
 * </ul>
 * Of a whole one, the order directory is first made that of this node, and then each part takes the place of the one that is there. That can
 * be done again from wherever it was cut short, since a part that has been moved is not in {@code files} any more. The last is to
 * remove {@code wanted}, then the rest.
 *
 * <p>
 * Used by one thread, but for {@link #progress} and {@link #close}.
 */
final class IncomingCopy implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(IncomingCopy.class);
    private static final String WANTED = "wanted";
    /** A majority of so many is left when one has lost everything. */
    private static final int MEMBERS_MIN = 3;

    private final NodeConfig config;
    private final NodeKeys keys;
    private final Path incoming;
    private final Path files;
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private volatile @Nullable CopyReceiver receiver;

    IncomingCopy(NodeConfig config, NodeKeys keys) {
        this.config = config;
        this.keys = keys;
        incoming = directory(config);
        files = incoming.resolve("files");
    }

    private static Path directory(NodeConfig config) {
        return config.data().resolve("incoming");
    }

    /** Whether the node must not begin before it has a copy. */
    static boolean isWanted(NodeConfig config) {
        return Files.exists(directory(config).resolve(WANTED));
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
            if (each instanceof LostDirectoryException || each instanceof DurableLog.TruncatedException
                    || each instanceof ExcludedException) {
                return true;
            }
        }
        return false;
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
        if (isWanted(config)) {
            return;
        }
        Trees.delete(incoming);
        PathDirectory.of(incoming);
        Path aside = incoming.resolve(WANTED + ".new");
        PrivateFiles.write(aside, Long.toString(keys.machine().random("copied order directory").nextLong()));
        Trees.sync(incoming);
        Files.move(aside, incoming.resolve(WANTED), StandardCopyOption.ATOMIC_MOVE);
        Trees.sync(incoming);
        Trees.sync(config.data());
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
        long number = Long.parseLong(Files.readString(incoming.resolve(WANTED)).strip());
        if (!Files.exists(files.resolve(CopyReceiver.COMPLETE))) {
            Trees.delete(files);
            receive(number, from);
        }
        install(number);
    }

    private void receive(long number, int from) throws IOException, InterruptedException {
        List<NodeConfig.Member> others = new ArrayList<>(config.members());
        others.removeIf(member -> member.id() == config.node() || (from >= 0 && member.id() != from));
        // Nodes that need a copy at the same time do not all ask the same one first.
        others.sort((a, b) -> Boolean.compare(a.id() < config.node(), b.id() < config.node()));
        CompletableFuture<Void> done = new CompletableFuture<>();
        CopyReceiver.Wanted wanted = new CopyReceiver.Wanted(config.node(), number,
                NodeCopies.state(config, keys.cluster()), Set.copyOf(parts()), keys.cluster(), CopiedOrder.VISIT);
        try (CopyReceiver now = new CopyReceiver(wanted, keys.machine(), PathDirectory.of(files), others.stream()
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

    private List<String> parts() {
        return List.of(config.isInProcess() ? config.engine() : "postgres", NodeCopies.REPLICA, NodeCopies.ORDER);
    }

    private void install(long number) throws IOException {
        if (Files.exists(files.resolve(NodeCopies.ORDER))) {
            config.orderKind().adopt(NodeLife.orderSettings(config, keys), keys.machine(),
                    PathDirectory.of(files.resolve(NodeCopies.ORDER)), number);
        }
        for (String part : parts()) {
            if (Files.exists(files.resolve(part))) {
                Trees.delete(config.data().resolve(part));
                Files.move(files.resolve(part), config.data().resolve(part), StandardCopyOption.ATOMIC_MOVE);
                Trees.sync(config.data());
                Trees.sync(files);
            }
        }
        Files.delete(incoming.resolve(WANTED));
        Trees.sync(incoming);
        Trees.delete(incoming);
        LOG.info("node {} begins anew with a copy", config.self().name());
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
