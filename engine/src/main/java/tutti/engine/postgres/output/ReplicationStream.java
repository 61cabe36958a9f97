package tutti.engine.postgres.output;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameSink;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.ProtocolViolation;
import tutti.pgwire.QueryResult;

/**
 * The subscriber's side of PostgreSQL's replication protocol: reads what a logical replication slot sends. What has come and was not taken
 * is bounded ({@link #PIECES_MAX}, {@link #BYTES_MAX}): beyond that nothing is read from the server, which waits. The server ends a stream
 * whose reader is silent for {@code wal_sender_timeout}; so it is told every few seconds how far the reader is, also while nothing is taken.
 *
 * <p>
 * {@link #next} for one thread at a time; {@link #confirm} and {@link #close} from any.
 */
public final class ReplicationStream implements AutoCloseable {
    /** Messages that may wait. */
    static final int PIECES_MAX = 4096;
    /** Bytes that may wait, but for the last message. */
    static final int BYTES_MAX = 8 << 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final long STATUS_SECONDS = 5;

    private final BackendConnection connection;
    private final LinkedBlockingQueue<Piece> pieces = new LinkedBlockingQueue<>();
    private final AtomicInteger bytes = new AtomicInteger();
    private volatile long confirmed;
    private volatile boolean paused;
    private @Nullable ScheduledFuture<?> status;

    /** Something that has come. */
    public sealed interface Piece {
        /**
         * A message of the plugin.
         *
         * @param start where it is in the log
         * @param content not copied, must not be modified
         */
        record Message(long start, byte[] content) implements Piece {}

        /** There is nothing more before {@code position}. */
        record Reached(long position) implements Piece {}

        /** The stream is over. */
        record Over(IOException cause) implements Piece {}
    }

    private ReplicationStream(BackendConnection connection, long from) {
        this.connection = connection;
        confirmed = from;
    }

    /**
     * Connects for replication.
     *
     * @param settings of a role that may replicate
     * @throws IOException if that cannot be
     */
    static BackendConnection connect(EventLoopGroup loops, BackendSettings settings)
            throws IOException, InterruptedException {
        try {
            return BackendConnection.connect(loops.next(), settings.withParameters(Map.of("replication", "database")))
                    .get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof PostgresException refused) {
                throw refused;
            }
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + ": " + failed.getMessage(),
                    failed);
        } catch (TimeoutException late) {
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + " within " + TIMEOUT, late);
        }
    }

    /**
     * Begins to read from a slot.
     *
     * @param settings of a role that may replicate
     * @param slot its name; one of {@code pgoutput}
     * @param from transactions that committed before are left out; what is less than what was confirmed last counts as that
     * @param options of the plugin, as START_REPLICATION has them
     * @throws PostgresException if the server refuses: there is no such slot (42704), another one reads it (55006), or what it would
     *             have to tell is gone (55000)
     * @throws IOException if it cannot be reached
     */
    public static ReplicationStream open(EventLoopGroup loops, BackendSettings settings, String slot, long from,
            String options) throws IOException, InterruptedException {
        BackendConnection connection = connect(loops, settings);
        ReplicationStream stream = new ReplicationStream(connection, from);
        boolean opened = false;
        try {
            // The answer to the query would be the copy; a first question tells a connection that is of no use.
            QueryResult _ = connection.execute("IDENTIFY_SYSTEM", TIMEOUT);
            stream.begin("START_REPLICATION SLOT \"" + slot + "\" LOGICAL " + Lsn.text(from) + " (" + options + ")");
            opened = true;
            return stream;
        } finally {
            if (!opened) {
                stream.close();
            }
        }
    }

    private void begin(String command) throws IOException, InterruptedException {
        var begun = new CompletableFuture<Void>();
        connection.eventLoop().execute(() -> {
            connection.takeOver(new Sink(begun));
            ByteBuf out = connection.buffer();
            Frontend.query(out, command);
            connection.channel().writeAndFlush(out, connection.channel().voidPromise());
        });
        try {
            begun.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof PostgresException refused) {
                throw refused;
            }
            throw new IOException("the stream of the replication slot was not begun: " + failed.getCause().getMessage(),
                    failed.getCause());
        } catch (TimeoutException late) {
            throw new IOException("the server did not begin the stream of its replication slot within " + TIMEOUT,
                    late);
        }
        status = connection.eventLoop().scheduleAtFixedRate(this::tell, STATUS_SECONDS, STATUS_SECONDS,
                TimeUnit.SECONDS);
    }

    /**
     * What has come next.
     *
     * @param patience how long to wait for it
     * @return null if nothing has come
     * @throws IOException if the stream is over, and all that has come of it was taken
     */
    public @Nullable Piece next(Duration patience) throws IOException, InterruptedException {
        Piece piece = pieces.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
        if (piece instanceof Piece.Over(IOException cause)) {
            pieces.add(piece);
            throw new IOException(cause.getMessage(), cause);
        }
        if (piece instanceof Piece.Message(long _, byte[] content)) {
            bytes.addAndGet(-content.length);
        }
        if (paused && !full()) {
            connection.eventLoop().execute(() -> {
                paused = false;
                connection.reader().resume();
            });
        }
        return piece;
    }

    private boolean full() {
        return pieces.size() >= PIECES_MAX || bytes.get() >= BYTES_MAX;
    }

    /**
     * What ends before this position is never asked for again, and the server may forget it. Told at once.
     */
    public void confirm(long position) {
        confirmed = position;
        connection.eventLoop().execute(this::tell);
    }

    /** On the event loop. The time that it tells is of no use to anybody. */
    private void tell() {
        if (connection.channel().isActive()) {
            ByteBuf data = connection.buffer();
            new StreamMessage.Status(confirmed, confirmed, confirmed, false).write(data, 0);
            ByteBuf out = connection.buffer();
            Frontend.copyData(out, data);
            data.release();
            connection.channel().writeAndFlush(out, connection.channel().voidPromise());
        }
    }

    /** Ends the stream; the slot stays. What was confirmed is told before. */
    @Override
    public void close() {
        ScheduledFuture<?> telling = status;
        if (telling != null) {
            telling.cancel(false);
        }
        connection.close();
    }

    /** What the server says. */
    private final class Sink implements FrameSink {
        private final CompletableFuture<Void> begun;
        private @Nullable ErrorFields refusal;

        Sink(CompletableFuture<Void> begun) {
            this.begun = begun;
        }

        @Override
        public int wanted(byte type, int bodyLength) {
            if (full()) {
                paused = true;
                connection.reader().pause();
                if (!full()) {
                    // Taken meanwhile, perhaps by somebody who has not seen that there was a pause.
                    paused = false;
                    connection.reader().resume();
                }
            }
            return Backend.wanted(type, bodyLength);
        }

        @Override
        public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
            ByteBuf body = buffer.slice(start, bodyLength);
            switch (type) {
                case Backend.COPY_BOTH_RESPONSE -> begun.complete(null);
                case Backend.COPY_DATA -> data(body);
                case Backend.ERROR_RESPONSE -> {
                    ErrorFields fields = ErrorFields.read(body);
                    refusal = fields;
                    if (!begun.completeExceptionally(new PostgresException(fields))) {
                        over(new IOException("the server has ended the stream of its replication slot: " + fields));
                    }
                }
                case Backend.COPY_DONE ->
                    over(new IOException("the server has ended the stream of its replication slot"));
                default -> {
                    // notices, parameters, and what ends the command after an error
                }
            }
            return false;
        }

        private void data(ByteBuf body) {
            switch (StreamMessage.read(body)) {
                case StreamMessage.Data(long start, ByteBuf content) -> {
                    byte[] copy = new byte[content.readableBytes()];
                    content.readBytes(copy);
                    bytes.addAndGet(copy.length);
                    pieces.add(new Piece.Message(start, copy));
                }
                case StreamMessage.KeepAlive(long end, boolean reply) -> {
                    pieces.add(new Piece.Reached(end));
                    if (reply) {
                        tell();
                    }
                }
                case StreamMessage.Status _,StreamMessage.Other _ ->
                    throw new ProtocolViolation("a subscriber's message from the publisher");
            }
        }

        private void over(IOException cause) {
            pieces.add(new Piece.Over(cause));
        }

        @Override
        public void failed(Throwable cause) {
            over(new IOException("the stream of the replication slot fails: " + cause.getMessage(), cause));
            begun.completeExceptionally(cause);
            connection.abort();
        }

        @Override
        public void inactive() {
            ErrorFields said = refusal;
            IOException lost = new IOException(
                    "the connection to PostgreSQL is lost" + (said == null ? "" : ": " + said));
            begun.completeExceptionally(lost);
            over(lost);
        }
    }
}
