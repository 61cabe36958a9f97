package tutti.bookkeeper;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.bookkeeper.client.api.BKException;
import org.apache.bookkeeper.client.api.BookKeeper;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerEntry;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.client.api.WriteHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/**
 * BookKeeper's client, whose answers come on the loop of the order. It is made in the background, again and again until ZooKeeper answers.
 * All of the loop, but for {@link #close}.
 */
final class LedgerStore {
    private static final Logger LOG = LoggerFactory.getLogger(LedgerStore.class);
    private static final byte[] PASSWORD = {};
    /** What a person sees who looks for whose a ledger is. */
    private static final String APPLICATION = "application";
    private static final String LOG_PATH = "log";
    private static final long AGAIN_NANOS = 500_000_000;

    private final BookKeeperParameters parameters;
    private final int self;
    private final int timeoutSeconds;
    private final Machine machine;
    private final Loop loop;
    private final Runnable opened;
    /** Made in the background; whoever takes it out closes it. */
    private final AtomicReference<@Nullable BookKeeper> client = new AtomicReference<>();
    private volatile boolean closed;

    /**
     * Nothing is connected to before {@link #start}.
     *
     * @param timeoutSeconds how long a bookie may take to answer until another one is used in its place
     * @param opened told when it can be used
     */
    LedgerStore(BookKeeperParameters parameters, int self, int timeoutSeconds, Machine machine, Loop loop,
            Runnable opened) {
        this.parameters = parameters;
        this.self = self;
        this.timeoutSeconds = timeoutSeconds;
        this.machine = machine;
        this.loop = loop;
        this.opened = opened;
    }

    /** Whether it can be used. */
    boolean isOpen() {
        return client.get() != null;
    }

    /** Connects. */
    void start() {
        var _ = machine.background("order-" + self + "-opens-bookkeeper", () -> {
            try {
                BookKeeper made = BookKeeper.newBuilder(configuration()).build();
                client.set(made);
                if (closed) {
                    leave();
                } else {
                    loop.execute(opened);
                }
            } catch (BKException | IOException | RuntimeException cannot) {
                LOG.debug("node {} cannot use BookKeeper yet: {}", self, cannot.toString());
                loop.execute(() -> {
                    var _ = loop.schedule(AGAIN_NANOS, () -> {
                        if (!closed) {
                            start();
                        }
                    });
                });
            }
        });
    }

    private ClientConfiguration configuration() {
        ClientConfiguration made = new ClientConfiguration();
        made.setMetadataServiceUri(parameters.metadataService());
        // Nothing of ours waits for a permit on the loop: what is under way is bounded by the senders.
        made.setThrottleValue(0);
        made.setAddEntryTimeout(timeoutSeconds);
        made.setReadEntryTimeout(timeoutSeconds);
        made.setAddEntryQuorumTimeout(4 * timeoutSeconds);
        parameters.client().forEach(made::setProperty);
        return made;
    }

    /** Leaves. */
    void close() {
        closed = true;
        leave();
    }

    private void leave() {
        BookKeeper left = client.getAndSet(null);
        if (left != null) {
            var _ = machine.background("order-" + self + "-leaves-bookkeeper", left::close);
        }
    }

    private BookKeeper client() {
        BookKeeper present = client.get();
        if (present == null) {
            throw new IllegalStateException("BookKeeper cannot be used yet");
        }
        return present;
    }

    private <T> void told(CompletableFuture<T> of, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        var _ = of.whenComplete((value, failure) -> loop.execute(() -> then.accept(value, failure)));
    }

    /**
     * Makes a ledger. If there are not enough bookies, on fewer, as long as each entry is on as many as must have it anyway: what
     * counts is no less safe then, and another ledger comes soon.
     */
    void create(BiConsumer<@Nullable WriteHandle, @Nullable Throwable> then) {
        create(parameters.ensemble(), then);
    }

    private void create(int ensemble, BiConsumer<@Nullable WriteHandle, @Nullable Throwable> then) {
        create(ensemble, Math.min(parameters.writeQuorum(), ensemble), (made, failure) -> {
            if (failure != null && is(failure, BKException.Code.NotEnoughBookiesException)
                    && ensemble > parameters.ackQuorum() && isOpen()) {
                LOG.warn("node {}: there are no {} bookies for a ledger, {} are asked for", self, ensemble,
                        ensemble - 1);
                create(ensemble - 1, then);
            } else {
                then.accept(made, failure);
            }
        });
    }

    private void create(int ensemble, int writeQuorum, BiConsumer<@Nullable WriteHandle, @Nullable Throwable> then) {
        told(client().newCreateLedgerOp().withEnsembleSize(ensemble)
                .withWriteQuorumSize(writeQuorum).withAckQuorumSize(parameters.ackQuorum())
                .withDigestType(DigestType.CRC32C).withPassword(PASSWORD)
                .withCustomMetadata(Map.of(APPLICATION, "tutti".getBytes(StandardCharsets.UTF_8), LOG_PATH,
                        parameters.path().getBytes(StandardCharsets.UTF_8)))
                .execute(), then);
    }

    /**
     * Opens a ledger.
     *
     * @param fence whether its writer is kept from writing any more, and it is closed behind what it has been told is written
     */
    void open(long ledger, boolean fence, BiConsumer<@Nullable ReadHandle, @Nullable Throwable> then) {
        told(client().newOpenLedgerOp().withLedgerId(ledger).withRecovery(fence).withDigestType(DigestType.CRC32C)
                .withPassword(PASSWORD).execute(), then);
    }

    /** Removes a ledger. */
    void delete(long ledger, BiConsumer<@Nullable Void, @Nullable Throwable> then) {
        told(client().newDeleteLedgerOp().withLedgerId(ledger).execute(), then);
    }

    /** Writes an entry; told its number when enough bookies have it. */
    void append(WriteHandle to, byte[] entry, BiConsumer<@Nullable Long, @Nullable Throwable> then) {
        told(to.appendAsync(entry), then);
    }

    /** Reads entries that are known to be written. */
    void read(ReadHandle from, long first, long last,
            BiConsumer<@Nullable List<byte[]>, @Nullable Throwable> then) {
        CompletableFuture<LedgerEntries> read = from.readUnconfirmedAsync(first, last);
        told(read.thenApply(LedgerStore::bytes), then);
    }

    private static List<byte[]> bytes(LedgerEntries entries) {
        try (entries) {
            List<byte[]> all = new ArrayList<>();
            for (LedgerEntry entry : entries) {
                all.add(entry.getEntryBytes());
            }
            return all;
        }
    }

    /** Closes a ledger behind what is written. */
    void close(WriteHandle of, Consumer<@Nullable Throwable> then) {
        told(of.closeAsync(), (_, failure) -> then.accept(failure));
    }

    /** Closes a handle, and does not look what comes of it. */
    void release(@Nullable ReadHandle handle) {
        if (handle != null) {
            var _ = handle.closeAsync();
        }
    }

    /** The last entry of a ledger that is closed; -1 of another, and of one without entries. */
    static long end(ReadHandle of) {
        LedgerMetadata known = of.getLedgerMetadata();
        return known.isClosed() ? known.getLastEntryId() : -1;
    }

    /** Whether a failure says that there is no such ledger. */
    static boolean isGone(Throwable failure) {
        return is(failure, BKException.Code.NoSuchLedgerExistsException)
                || is(failure, BKException.Code.NoSuchLedgerExistsOnMetadataServerException);
    }

    private static boolean is(Throwable failure, int code) {
        Throwable cause = failure.getCause() != null && !(failure instanceof BKException)
                ? failure.getCause()
                : failure;
        return cause instanceof BKException known && known.getCode() == code;
    }
}
