package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.ScheduledFuture;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.ClientEngine;
import tutti.node.Transactions;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameSink;
import tutti.pgwire.PostgresException;
import tutti.pgwire.Scram;
import tutti.pgwire.StartupPacket;
import tutti.session.EmbeddedSession;
import tutti.wire.ClientPort;
import tutti.wire.AdmissionLimits;
import tutti.wire.FrontEnd;
import tutti.wire.Handshake;
import tutti.wire.JavaRequests;
import tutti.wire.KeptBytes;
import tutti.wire.RetryQueue;

/**
 * The PostgreSQL server of a node whose database is in its own virtual machine. Each client has a thread, on which its
 * statements run, and a session of the engine; transactions commit by way of the node ({@link EmbeddedSession}).
 */
public final class JdbcFrontEnd implements FrontEnd, Handshake.Host {
    private static final int SCRAM_ITERATIONS = 4096;
    private static final int SALT_BYTES = 16;
    private static final int KEY_BYTES = 4;
    /** How long sessions are given to end when the front end is closed, in milliseconds. */
    private static final long END_MILLIS_MAX = 5_000;

    private final JdbcFrontEndSettings settings;
    private final Transactions node;
    private final ClientEngine engine;
    private final ClientPort port;
    private final PgCatalog catalog;
    private final Dialect dialect;
    private final JavaRequests java;
    private final Translator translator;
    private final Scram.Verifier verifier;
    private final byte[] mockSecret = new byte[32];
    private final Replay.Shared replays;
    private final NamedObjects.Shared kept;
    private final SecureRandom random = new SecureRandom();
    private final AtomicInteger processIds = new AtomicInteger();
    private final Map<Integer, Client> clients = new ConcurrentHashMap<>();
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

    /**
     * Sets a front end up; {@link #start} lets clients in.
     *
     * @param java which requests that call procedures in Java can be handed in
     * @param schema tells a new object whenever the engine's schema has changed
     * @param loops event loops for clients; the caller closes them after the front end
     * @throws SQLException if the engine is closed
     */
    public JdbcFrontEnd(JdbcFrontEndSettings settings, Transactions node, ClientEngine engine, JavaRequests java,
            Supplier<?> schema, EventLoopGroup loops) throws SQLException {
        this.settings = settings;
        this.node = node;
        this.engine = engine;
        this.replays = new Replay.Shared(node, settings.repetitions(), new RetryQueue());
        this.kept = new NamedObjects.Shared(KeptBytes.Shared.ofStatements(),
                new KeptBytes.Shared(settings.resultBytesMax(), 1),
                KeptBytes.Shared.ofMessages(settings.admission().messageLimit()));
        this.port = new ClientPort(loops);
        this.dialect = new Dialect(settings.engine().product(), settings.engine().dialect());
        this.java = java;
        this.translator = new Translator(dialect, java.registered().names());
        byte[] salt = new byte[SALT_BYTES];
        random.nextBytes(salt);
        random.nextBytes(mockSecret);
        verifier = Scram.Verifier.of(settings.password(), salt, SCRAM_ITERATIONS);
        catalog = new PgCatalog(engine.openSession(() -> null), schema, dialect, settings.database(),
                settings.role(), settings.sequenceStep());
    }

    @Override
    public InetSocketAddress start() throws IOException {
        return port.open(settings.listen(), this);
    }

    @Override
    public int sessions() {
        return clients.size();
    }

    @Override
    public Memory memory() {
        return new Memory(kept.statements().kept() + kept.results().kept(), kept.messages().kept(), 0, 0);
    }

    @Override
    public AdmissionLimits admission() {
        return settings.admission();
    }

    @Override
    public String admit(Channel client, boolean superuser) {
        return port.admit(client, superuser, settings.admission().places());
    }

    @Override
    public String database() {
        return settings.database();
    }

    @Override
    public CompletableFuture<Handshake.@Nullable KnownRole> role(String name) {
        return CompletableFuture.completedFuture(
                name.equals(settings.role()) ? new Handshake.KnownRole(verifier, false) : null);
    }

    @Override
    public byte[] mockSecret() {
        return mockSecret;
    }

    @Override
    public CompletableFuture<Void> cancel(StartupPacket.Cancel request) {
        Client client = clients.get(request.processId());
        if (client != null && MessageDigest.isEqual(client.secretKey, request.secretKey())) {
            client.session.cancel();
        }
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Client> open(Handshake.Arrival arrival) {
        CompletableFuture<Client> opened = new CompletableFuture<>();
        Thread.ofVirtual().name("tutti-client-opening").start(() -> {
            try {
                SessionParameters parameters = new SessionParameters(dialect, arrival.user(),
                        arrival.parameters(), node.undertakes());
                PgSession session = new PgSession(node,
                        new EmbeddedSession(node, engine, settings.transactionBytesMax()), catalog, parameters, java,
                        (millis, task) -> {
                            ScheduledFuture<?> timer = arrival.client().eventLoop().schedule(task, millis,
                                    TimeUnit.MILLISECONDS);
                            return () -> timer.cancel(false);
                        }, new NamedObjects(kept));
                opened.complete(new Client(arrival, session));
            } catch (SQLException failed) {
                ErrorFields fields = SqlStates.of(failed, null);
                opened.completeExceptionally(new PostgresException(fields.with('S', "FATAL").with('V', "FATAL")));
            } catch (RuntimeException failed) {
                opened.completeExceptionally(failed);
            }
        });
        return opened;
    }

    /** A client with a session of the engine. */
    final class Client implements Handshake.Opened {
        private final Handshake.Arrival arrival;
        private final PgSession session;
        private @Nullable ClientConnection client;
        private final int processId = processIds.incrementAndGet();
        private final byte[] secretKey;

        Client(Handshake.Arrival arrival, PgSession session) {
            this.arrival = arrival;
            this.session = session;
            this.secretKey = ByteBuffer.allocate(KEY_BYTES).putInt(random.nextInt()).array();
        }

        @Override
        public Map<String, String> parameters() {
            return session.parameters().told();
        }

        @Override
        public int processId() {
            return processId;
        }

        @Override
        public byte[] secretKey() {
            return secretKey;
        }

        @Override
        public FrameSink begin() {
            client = new ClientConnection(arrival.client(), arrival.reader(), kept.messages(), session::cancel);
            PgProtocol protocol = new PgProtocol(client, session, translator, replays);
            clients.put(processId, this);
            Thread thread = Thread.ofVirtual().name("tutti-client-" + processId).unstarted(() -> {
                try {
                    protocol.run();
                } finally {
                    clients.remove(processId);
                    threads.remove(Thread.currentThread());
                }
            });
            threads.add(thread);
            thread.start();
            return client;
        }

        @Override
        public void introduced() {
            ByteBuf out = arrival.client().alloc().buffer();
            session.report().forEach((name, value) -> Backend.parameterStatus(out, name, value));
            arrival.client().write(out, arrival.client().voidPromise());
        }

        private void dismiss() {
            ClientConnection present = client;
            if (present != null) {
                present.dismiss();
            }
        }

        private void sendAway() {
            ByteBuf last = arrival.client().alloc().buffer();
            Backend.errorResponse(last, SHUT_DOWN);
            arrival.client().writeAndFlush(last).addListener(ChannelFutureListener.CLOSE);
        }

        @Override
        public void abandon() {
            Thread.ofVirtual().name("tutti-client-closing").start(session::close);
        }
    }

    @Override
    public boolean drain(Duration grace) throws InterruptedException {
        port.stopListening();
        clients.values().forEach(Client::dismiss);
        long deadline = System.nanoTime() + grace.toNanos();
        for (Thread thread : threads) {
            if (!thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())))) {
                clients.values().forEach(Client::sendAway);
                return false;
            }
        }
        return true;
    }

    @Override
    public void close() {
        port.close();
        long deadline = System.nanoTime() + END_MILLIS_MAX * 1_000_000;
        for (Thread thread : threads) {
            try {
                if (!thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())))) {
                    thread.interrupt();
                }
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }
        catalog.close();
    }
}
