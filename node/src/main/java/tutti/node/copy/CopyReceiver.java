package tutti.node.copy;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Background;
import tutti.runtime.Directory;
import tutti.runtime.Frames;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;

/**
 * Gets a copy from another node: asks one after the other until one gives it, writes its files into a directory, and makes the
 * file {@link #COMPLETE} there when all are safe and are what was sent. Where a crash leaves a directory without that file, the copy
 * is of no use, and another is to be got in an empty directory.
 *
 * <p>
 * <b>Memory.</b> What has come and is not written is as much as a donor sends ahead ({@link CopyDonor}). One that sends more than twice that is no donor, and
 * the copy is given up. A connection that is gone is made again when all that has come is written, so that nothing is sent ahead twice.
 *
 * <p>
 * Of one loop, which it has opened, but for {@link #close} and {@link #bytes}.
 */
public final class CopyReceiver implements AutoCloseable {
    /** Name of the file that says that a copy is whole. */
    public static final String COMPLETE = "complete";
    private static final Logger LOG = LoggerFactory.getLogger(CopyReceiver.class);
    private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    /** So long after the first loss of a connection since a piece has come, its donor has forgotten the copy. */
    private static final long FORGOTTEN_NANOS = CopyDonor.DEAD_NANOS + CopyDonor.RESUME_NANOS;
    private static final long UNWRITTEN_BYTES_MAX = 2L * (CopyMessage.AHEAD_BYTES_MAX + CopyMessage.PIECE_BYTES_MAX);

    /**
     * What is wanted.
     *
     * @param node number of this node
     * @param directory number of its new order directory
     * @param state as {@link CopySource#state}
     * @param parts names of what the copy may consist of
     * @param cluster id of the cluster, to which a donor must prove to belong where it proves anything
     * @param opening what is sent first on a connection
     */
    public record Wanted(int node, long directory, String state, Set<String> parts, String cluster, long opening) {}

    /** Somebody who may give it. */
    public record Donor(int node, InetSocketAddress address) {}

    private final Wanted wanted;
    private final Machine machine;
    private final Network network;
    private final Loop loop;
    private final Completion<Void> done;
    private final PieceWriter writer;
    /** Whom to ask next; first those who do not lead. */
    private final Deque<Attempt> attempts = new ArrayDeque<>();
    private final List<String> refusals = new ArrayList<>();
    private boolean allLasting = true;

    private @Nullable Connection connection;
    /** From whom the copy comes, once it has been granted. */
    private @Nullable Attempt granted;
    private long copy;
    private long received;
    /** When the connection was lost first since a piece has come, if it was. */
    private @Nullable Long lostNanos;
    private final List<CopyMessage.Piece> unwritten = new ArrayList<>();
    /** Of these, and of what is being written. */
    private long unwrittenBytes;
    private CopyMessage.@Nullable End end;
    private boolean writes;
    private boolean over;
    private volatile long bytes;
    private volatile @Nullable Background writing;

    private record Attempt(Donor donor, boolean leader) {}

    /**
     * Begins.
     *
     * @param machine on whose networks this node proves who it is
     * @param into an empty directory
     * @param donors in the order in which they are asked
     * @param done told when the copy is complete, or why there is none: a failure that is not transient if all have refused for good.
     *            This is to be closed then, and not by whoever is told
     */
    public CopyReceiver(Wanted wanted, Machine machine, Directory into, List<Donor> donors, Completion<Void> done) {
        this.wanted = wanted;
        this.machine = machine;
        this.done = done;
        writer = new PieceWriter(into, wanted.parts());
        donors.forEach(donor -> attempts.add(new Attempt(donor, false)));
        donors.forEach(donor -> attempts.add(new Attempt(donor, true)));
        network = machine.network("tutti-copy-" + wanted.node(),
                broken -> failed("the copy broke: " + broken.getMessage(), true));
        loop = network.loop();
        loop.execute(this::next);
    }

    /** Bytes of files that have been written. Any thread. */
    public long bytes() {
        return bytes;
    }

    /**
     * Gives up what is not complete. Nothing is written any more when it returns: another copy may be put into the same directory then. Any
     * thread but that of {@code done}.
     */
    @Override
    public void close() {
        loop.execute(() -> over = true);
        network.close();
        Background last = writing;
        if (last != null) {
            last.join();
        }
    }

    private void next() {
        Attempt attempt = attempts.poll();
        if (attempt == null) {
            failed("no node gives a copy: " + String.join("; ", refusals), !allLasting);
            return;
        }
        connection = new Connection(attempt);
        connection.open();
    }

    private void failed(String why, boolean passing) {
        if (!over) {
            over = true;
            closeWriter();
            done.failed(new EngineFailure("57P03", why, passing));
        }
    }

    private void closeWriter() {
        if (!writes) {
            try {
                writer.close();
            } catch (IOException broken) {
                LOG.debug("a file of the copy is not closed", broken);
            }
        }
    }

    private void lost(Connection by, String why) {
        if (over || connection != by) {
            return;
        }
        connection = null;
        by.stream().close();
        Attempt from = granted;
        if (from == null) {
            refused(by.attempt, why, false);
            return;
        }
        long now = machine.clock().nanoTime();
        if (lostNanos == null) {
            lostNanos = now;
        }
        if (now - lostNanos > FORGOTTEN_NANOS) {
            failed("node " + from.donor.node() + " cannot be reached any more: " + why, true);
        } else {
            LOG.info("node {}: the connection on which node {} gives a copy is gone: {}", wanted.node(),
                    from.donor.node(), why);
            loop.schedule(RETRY_NANOS, () -> again(from));
        }
    }

    private void again(Attempt from) {
        if (over) {
            return;
        }
        if (writes) {
            loop.schedule(RETRY_NANOS, () -> again(from));
            return;
        }
        connection = new Connection(from);
        connection.open();
    }

    private void refused(Attempt by, String why, boolean lasting) {
        connection = null;
        if (granted != null) {
            failed("node " + by.donor.node() + ": " + why, true);
            return;
        }
        LOG.info("node {} gets no copy from node {}: {}", wanted.node(), by.donor.node(), why);
        if (by.leader) {
            refusals.add("node " + by.donor.node() + ": " + why);
        }
        allLasting &= lasting || !by.leader;
        next();
    }

    private void granted(Attempt by, long number) throws IOException {
        if (granted != null && copy != number) {
            throw new IOException("another copy than the one that was begun");
        }
        if (granted == null) {
            LOG.info("node {} gets a copy from node {}", wanted.node(), by.donor.node());
        }
        granted = by;
        copy = number;
    }

    private void piece(CopyMessage.Piece piece) throws IOException {
        if (granted == null || end != null || piece.number() != received + 1) {
            throw new IOException("piece " + piece.number() + " after " + received);
        }
        received++;
        lostNanos = null;
        unwritten.add(piece);
        unwrittenBytes += piece.weight();
        if (unwrittenBytes > UNWRITTEN_BYTES_MAX) {
            failed("node " + granted.donor.node() + " sends a copy further ahead than a node does: "
                    + unwrittenBytes + " bytes", true);
            return;
        }
        write();
    }

    private void ended(CopyMessage.End told) throws IOException {
        if (granted == null || told.pieces() != received) {
            throw new IOException("the end after " + told.pieces() + " pieces, of which " + received + " have come");
        }
        end = told;
        write();
    }

    /** Writes what has come, in the background, and then what has come meanwhile. */
    private void write() {
        if (writes || over || (unwritten.isEmpty() && end == null)) {
            return;
        }
        writes = true;
        List<CopyMessage.Piece> next = List.copyOf(unwritten);
        unwritten.clear();
        CopyMessage.End last = next.isEmpty() ? end : null;
        writing = machine.background("tutti-copy-" + wanted.node(), () -> {
            try {
                writer.write(next);
                if (last != null) {
                    writer.complete(last, COMPLETE);
                }
                loop.execute(() -> written(next, last != null));
            } catch (IOException | RuntimeException broken) {
                loop.execute(() -> {
                    writes = false;
                    if (over) {
                        closeWriter();
                    }
                    failed("the copy cannot be written: " + broken.getMessage(), true);
                });
            }
        });
    }

    private void written(List<CopyMessage.Piece> pieces, boolean complete) {
        writes = false;
        if (over) {
            closeWriter();
            return;
        }
        long writtenBytes = bytes;
        for (CopyMessage.Piece piece : pieces) {
            writtenBytes += piece.length();
            unwrittenBytes -= piece.weight();
        }
        bytes = writtenBytes;
        Connection to = connection;
        if (to != null && to.stands) {
            to.send(complete ? new CopyMessage.Complete() : new CopyMessage.Written(pieces.getLast().number()));
        }
        if (complete) {
            over = true;
            closeWriter();
            LOG.info("node {} has a copy, of {} bytes", wanted.node(), bytes);
            // Behind what was just sent.
            loop.schedule(RETRY_NANOS, () -> done.succeeded(null));
            return;
        }
        write();
    }

    /** A connection to one donor. */
    private final class Connection implements Network.StreamListener {
        private final Attempt attempt;
        private final Frames.Reader frames = new Frames.Reader(this::take);
        private Network.@Nullable Stream stream;
        private boolean stands;
        private long heardNanos = machine.clock().nanoTime();

        Connection(Attempt attempt) {
            this.attempt = attempt;
        }

        void open() {
            stream = network.connect(InetSocketAddress.createUnresolved(attempt.donor.address().getHostString(),
                    attempt.donor.address().getPort()), CONNECT_NANOS, this);
            watch();
        }

        private void watch() {
            if (over || connection != this) {
                return;
            }
            if (machine.clock().nanoTime() - heardNanos > CopyDonor.DEAD_NANOS) {
                lost(this, "nothing has come for long");
                return;
            }
            if (stands) {
                stream().send(Frames.alive());
            }
            loop.schedule(CopyDonor.ALIVE_NANOS, this::watch);
        }

        Network.Stream stream() {
            Network.Stream present = stream;
            if (present == null) {
                throw new IllegalStateException("there is no connection yet");
            }
            return present;
        }

        void send(CopyMessage message) {
            stream().send(Frames.of(message.bytes(CopyMessage.VERSION)));
        }

        @Override
        public void connected() {
            PeerIdentity proven = stream().peer();
            if (network.identity() != null
                    && !new PeerIdentity(wanted.cluster(), attempt.donor.node()).equals(proven)) {
                lost(this, "it is " + proven);
                return;
            }
            stands = true;
            stream().send(ByteBuffer.allocate(Long.BYTES).putLong(wanted.opening()).flip());
            send(granted == null
                    ? new CopyMessage.Ask(wanted.node(), wanted.directory(), wanted.state(), attempt.leader)
                    : new CopyMessage.Resume(copy, received));
        }

        @Override
        public void received(ByteBuffer come) {
            heardNanos = machine.clock().nanoTime();
            try {
                frames.read(come);
            } catch (IOException wrong) {
                lost(this, "it sent " + wrong.getMessage());
            }
        }

        private void take(ByteBuffer frame) throws IOException {
            if (over || connection != this) {
                return;
            }
            CopyMessage message;
            try {
                message = CopyMessage.SET.decode(frame);
            } catch (DecodeException wrong) {
                throw new IOException(wrong.getMessage(), wrong);
            }
            switch (message) {
                case CopyMessage.Granted(long number) -> granted(attempt, number);
                case CopyMessage.Refused(String why, boolean lasting) -> {
                    stream().close();
                    CopyReceiver.this.refused(attempt, why, lasting);
                }
                case CopyMessage.Piece piece -> piece(piece);
                case CopyMessage.End told -> ended(told);
                default -> throw new IOException("a message that is not expected");
            }
        }

        @Override
        public void distrusted(String why) {
            LOG.warn("node {} and what is at {} do not accept each other's proof of who they are: {}", wanted.node(),
                    attempt.donor.address(), why);
        }

        @Override
        public void closed(String why) {
            lost(this, why);
        }
    }
}
