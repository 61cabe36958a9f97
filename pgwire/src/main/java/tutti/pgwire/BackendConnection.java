package tutti.pgwire;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection to a PostgreSQL server: many batches of messages may be under way at once, and each has a handler
 * that sees the responses. Or a proxy {@linkplain #takeOver takes it over} and sees the bytes itself.
 *
 * <p>
 * Thread rules: {@link #send}, {@link #query}, {@link #execute}, {@link #cancel} and {@link #close} from any thread; all
 * else on {@link #eventLoop()}, where handlers are called too. Responses arrive in the order of the batches.
 */
public final class BackendConnection {
    /** Most batches that may be under way; more are refused. */
    public static final int IN_FLIGHT_LIMIT = 65_536;
    private static final int START_NOTICES_MAX = 100;
    private static final Logger LOG = LoggerFactory.getLogger(BackendConnection.class);

    private final BackendSettings settings;
    private final Channel channel;
    private final FrameReader reader;
    private final Responses responses = new Responses();
    private final ArrayDeque<ResponseHandler> handlers = new ArrayDeque<>();
    private final Map<String, String> parameters = new LinkedHashMap<>();
    private final List<ErrorFields> startNotices = new ArrayList<>();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private volatile int processId;
    private volatile byte[] secretKey = new byte[0];
    private byte status = Backend.IDLE;
    private boolean lost;
    private @Nullable ErrorFields lastFatal;
    private @Nullable Consumer<ErrorFields> heardNotices;

    BackendConnection(BackendSettings settings, Channel channel) {
        this.settings = settings;
        this.channel = channel;
        this.reader = new FrameReader(responses, false, settings.gatherLimit());
        channel.closeFuture().addListener(_ -> closed.complete(null));
    }

    /**
     * Connects and starts a session on that event loop.
     *
     * @return completed on the event loop when the server is ready for queries; fails with {@link PostgresException} if
     *         the server refuses, with {@link IOException} if it cannot be reached
     */
    public static CompletableFuture<BackendConnection> connect(EventLoop loop, BackendSettings settings) {
        CompletableFuture<BackendConnection> result = new CompletableFuture<>();
        bootstrap(loop, settings).handler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                BackendConnection connection = new BackendConnection(settings, channel);
                new BackendStartup(connection, settings, result).install();
            }
        }).connect(settings.address()).addListener(connected -> {
            if (!connected.isSuccess()) {
                result.completeExceptionally(new IOException("cannot reach PostgreSQL at " + settings.address() + ": "
                        + connected.cause().getMessage(), connected.cause()));
            }
        });
        return result;
    }

    private static Bootstrap bootstrap(EventLoop loop, BackendSettings settings) {
        Bootstrap bootstrap = new Bootstrap().group(loop).channel(Transport.channel(settings.address()))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) settings.timeout().toMillis())
                .option(ChannelOption.RECVBUF_ALLOCATOR, Transport.reading());
        if (settings.address() instanceof java.net.InetSocketAddress) {
            bootstrap.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true);
        }
        return bootstrap;
    }

    /** The connection's channel, for a proxy that has taken it over. */
    public Channel channel() {
        return channel;
    }

    /** The loop on which everything about this connection happens. */
    public EventLoop eventLoop() {
        return channel.eventLoop();
    }

    /** The reader of the server's messages, which can be paused. */
    public FrameReader reader() {
        return reader;
    }

    /** The server process's id. Any thread. */
    public int processId() {
        return processId;
    }

    /** The key for cancel requests. Any thread; must not be modified. */
    public byte[] secretKey() {
        return secretKey;
    }

    /** The parameters that the server reported, as they are now (until the connection is taken over). */
    public Map<String, String> parameters() {
        return Collections.unmodifiableMap(parameters);
    }

    /** The first notices that the server has sent before it was ready, at most {@value #START_NOTICES_MAX}; must not be modified. */
    public List<ErrorFields> startNotices() {
        return Collections.unmodifiableList(startNotices);
    }

    /** The server has sent a notice before it was ready. */
    void startNotice(ErrorFields notice) {
        if (startNotices.size() < START_NOTICES_MAX) {
            startNotices.add(notice);
        }
    }

    /** Who hears of the server's notices, besides the handlers of the batches that they come with, on the event loop; until the connection is taken over. On the event loop. */
    public void onNotice(Consumer<ErrorFields> heard) {
        heardNotices = heard;
    }

    /** Batches under way. */
    public int inFlight() {
        return handlers.size();
    }

    /** Completed on the event loop when the connection is gone. */
    public CompletableFuture<Void> closed() {
        return closed.copy();
    }

    /** An empty buffer to write a batch into. Any thread. */
    public ByteBuf buffer() {
        return channel.alloc().buffer();
    }

    /** Sends a batch at once. Any thread. */
    public void send(ByteBuf batch, ResponseHandler handler) {
        send(batch, 1, handler);
    }

    /**
     * Sends several batches as one, at once. Any thread.
     *
     * @param batches messages, among which are that many of the kinds that ReadyForQuery answers: Sync, queries, function calls
     * @param handler of all of them, told of the last ReadyForQuery only
     */
    public void send(ByteBuf batches, int count, ResponseHandler handler) {
        if (channel.eventLoop().inEventLoop()) {
            write(batches, count, handler);
            channel.flush();
        } else {
            try {
                channel.eventLoop().execute(() -> send(batches, count, handler));
            } catch (java.util.concurrent.RejectedExecutionException stopped) {
                batches.release();
                handler.lost(new IOException("the event loop of the connection is shut down", stopped));
            }
        }
    }

    private void write(ByteBuf batches, int count, ResponseHandler handler) {
        if (lost || handlers.size() + count > IN_FLIGHT_LIMIT) {
            batches.release();
            handler.lost(lost ? lossCause() : new IOException(IN_FLIGHT_LIMIT + " batches are under way already"));
            return;
        }
        for (int i = 1; i < count; i++) {
            handlers.add(new Part(handler));
        }
        handlers.add(handler);
        channel.write(batches, channel.voidPromise());
    }

    /** Hears of a batch that others follow, whose common handler hears of the last one how it ended. */
    private record Part(ResponseHandler whole) implements ResponseHandler {
        @Override
        public void message(byte type, ByteBuf body) {
            whole.message(type, body);
        }

        @Override
        public void ready(byte status) {
            // the last one counts
        }

        @Override
        public void lost(Throwable cause) {
            // told with the last one
        }
    }

    /** Runs a simple query, for administration. Any thread; completed on the event loop. */
    public CompletableFuture<QueryResult> query(String sql) {
        CompletableFuture<QueryResult> result = new CompletableFuture<>();
        ByteBuf batch = buffer();
        Frontend.query(batch, sql);
        send(batch, new QueryCollector(result));
        return result;
    }

    /** Runs one statement with parameters in text form, whose types the server chooses. Any thread; completed on the event loop. */
    public CompletableFuture<QueryResult> statement(String sql, @Nullable String... parameters) {
        CompletableFuture<QueryResult> result = new CompletableFuture<>();
        ByteBuf batch = buffer();
        Frontend.parse(batch, "", sql);
        Frontend.bind(batch, "", "", parameters);
        Frontend.describePortal(batch, "");
        Frontend.execute(batch, "", 0);
        Frontend.sync(batch);
        send(batch, new QueryCollector(result));
        return result;
    }

    /**
     * Runs a simple query and waits for its result. Not on an event loop.
     *
     * @throws PostgresException if the server refuses
     * @throws IOException if the connection is lost, or the time is over, in which case it is closed
     */
    public QueryResult execute(String sql, Duration timeout) throws IOException, InterruptedException {
        if (channel.eventLoop().inEventLoop()) {
            throw new IllegalStateException("waiting on the event loop that would bring the answer");
        }
        try {
            return query(sql).get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof PostgresException refused) {
                throw refused;
            }
            throw new IOException("the connection to " + settings.address() + " was lost", failed.getCause());
        } catch (TimeoutException late) {
            close();
            throw new IOException("no answer within " + timeout + " to: " + sql, late);
        }
    }

    /**
     * Asks the server, on a connection of its own, to cancel what this one is running. The server ignores that if it runs nothing at the moment;
     * {@link Cancellation} deals with it. Any thread.
     *
     * @return completed on the event loop when the server has passed the request on to the process, which takes notice a
     *         little later, or will never; also completed if the server could not be reached within the settings'
     *         timeout
     */
    public CompletableFuture<Void> cancel() {
        return cancel(settings.timeout()).thenAccept(_ -> {});
    }

    /**
     * Like {@link #cancel()}, within a time.
     *
     * @return true, if the request has been passed on or will never be; false if that is not known when the time is over
     */
    CompletableFuture<Boolean> cancel(Duration limit) {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        int process = processId;
        byte[] key = secretKey;
        BackendSettings within = settings.within(limit);
        ChannelFuture connecting = bootstrap(eventLoop(), within).handler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                BackendStartup.installCancel(channel, within, process, key);
            }
        }).connect(settings.address());
        var timeout = eventLoop().schedule(() -> {
            done.complete(!connecting.isSuccess());
            connecting.channel().close();
        }, limit.toNanos(), TimeUnit.NANOSECONDS);
        connecting.addListener((ChannelFutureListener) connected -> {
            if (connected.isSuccess()) {
                connected.channel().closeFuture().addListener(_ -> {
                    timeout.cancel(false);
                    done.complete(true);
                });
            } else {
                timeout.cancel(false);
                LOG.warn("cancel request not delivered to {}", settings.address(), connected.cause());
                done.complete(true);
            }
        });
        return done;
    }

    /**
     * Hands the connection to a proxy: from now on the sink sees the server's messages, and the proxy writes to the
     * channel. On the event loop, with nothing under way.
     */
    public void takeOver(FrameSink sink) {
        if (!handlers.isEmpty()) {
            throw new IllegalStateException(handlers.size() + " batches are under way");
        }
        reader.sink(sink);
    }

    /** Ends the session. Batches under way are lost. Any thread. */
    public void close() {
        if (channel.isActive()) {
            ByteBuf farewell = channel.alloc().buffer(5);
            Frontend.terminate(farewell);
            channel.writeAndFlush(farewell).addListener(ChannelFutureListener.CLOSE);
        } else {
            channel.close();
        }
    }

    /** Closes without farewell. Any thread. */
    public void abort() {
        channel.close();
    }

    /** The session has begun: batches can be sent. */
    void started() {
        reader.sink(responses);
    }

    void key(int id, byte[] key) {
        processId = id;
        secretKey = key;
    }

    void parameter(ByteBuf body) {
        String name = Fields.cString(body);
        parameters.put(name, Fields.cString(body));
    }

    void inactive() {
        lost = true;
        IOException cause = lossCause();
        ResponseHandler handler = handlers.poll();
        while (handler != null) {
            handler.lost(cause);
            handler = handlers.poll();
        }
    }

    private IOException lossCause() {
        return new IOException("the connection to PostgreSQL at " + settings.address() + " is lost"
                + (lastFatal == null ? "" : ": " + lastFatal));
    }

    /** Hands responses to the batches' handlers. */
    private final class Responses implements FrameSink {
        @Override
        public int wanted(byte type, int bodyLength) {
            return Backend.wanted(type, bodyLength);
        }

        @Override
        public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
            ByteBuf body = buffer.slice(start, bodyLength);
            switch (type) {
                case Backend.PARAMETER_STATUS -> parameter(body);
                case Backend.NOTIFICATION_RESPONSE -> LOG.debug("notification ignored");
                case Backend.READY_FOR_QUERY -> {
                    if (bodyLength != 1) {
                        throw new ProtocolViolation("ReadyForQuery of " + bodyLength + " bytes");
                    }
                    status = body.readByte();
                    ResponseHandler done = handlers.poll();
                    if (done == null) {
                        throw new ProtocolViolation("ReadyForQuery without a batch under way");
                    }
                    done.ready(status);
                }
                default -> {
                    if (type == Backend.NOTICE_RESPONSE && heardNotices != null) {
                        heardNotices.accept(ErrorFields.read(body.duplicate()));
                    }
                    ResponseHandler handler = handlers.peek();
                    if (handler != null) {
                        if (type == Backend.ERROR_RESPONSE) {
                            rememberFatal(ErrorFields.read(body.duplicate()));
                        }
                        handler.message(type, body);
                    } else if (type == Backend.ERROR_RESPONSE) {
                        rememberFatal(ErrorFields.read(body));
                    } else if (type != Backend.NOTICE_RESPONSE) {
                        throw new ProtocolViolation("message '" + (char) type + "' without a batch under way");
                    }
                }
            }
            return false;
        }

        private void rememberFatal(ErrorFields fields) {
            if (!fields.severity().equals("ERROR")) {
                lastFatal = fields;
            }
        }

        @Override
        public void failed(Throwable cause) {
            LOG.error("connection to PostgreSQL at {} fails and is closed", settings.address(), cause);
            channel.close();
        }

        @Override
        public void inactive() {
            BackendConnection.this.inactive();
        }
    }
}
