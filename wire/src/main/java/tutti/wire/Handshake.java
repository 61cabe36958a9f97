package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.FrameSink;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.ProtocolViolation;
import tutti.pgwire.Scram;
import tutti.pgwire.StartupPacket;
import tutti.pgwire.TlsEndPoint;

/**
 * The beginning of a client's connection: TLS if both want it and it has not come {@linkplain DirectTls before}, the start-up packet, SCRAM against the host's roles, and a
 * session with the host as that role. On the client's event loop.
 */
public final class Handshake implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(Handshake.class);
    /** How PostgreSQL takes a client to say no. */
    private static final Pattern IS_NO = Pattern.compile("f(a(l(se?)?)?)?|no?|off?|0", Pattern.CASE_INSENSITIVE);
    /** How it takes one to say yes to replication. */
    private static final Pattern IS_YES = Pattern.compile("t(r(ue?)?)?|y(es?)?|on|1|database",
            Pattern.CASE_INSENSITIVE);

    private final Host host;
    private final AdmissionLimits admission;
    private final Channel client;
    private final FrameReader reader;
    private final Future<?> timeout;
    private StartupPacket.@Nullable Startup startup;
    private int protocol = Frontend.PROTOCOL_3_0;
    private String user = "";
    private Scram.@Nullable Server scram;
    /** Whether the role is one; said before it has proved itself, and of no meaning until then. */
    private boolean superuser;
    /** A start-up packet has come. Who sends something else hears nothing, as from PostgreSQL: it may be Terminate. */
    private boolean spoken;
    private boolean sslAsked;
    private boolean gssAsked;
    private boolean mechanismChosen;
    private boolean ended;

    /** Whom a client wants to talk to. Called on clients' event loops. */
    public interface Host {
        /** What clients must prove, and how many it takes. */
        AdmissionLimits admission();

        /**
         * Gives a client who has proved who it is a place, until its connection is closed.
         *
         * @return why there is none, for people; nothing if it has one
         */
        String admit(Channel client, boolean superuser);

        /** The database that is replicated. */
        String database();

        /** Whether another database is replicated, too. */
        default boolean isServed(String database) {
            return false;
        }

        /** Whether another database may be looked at, and not be changed. */
        default boolean mayBeRead(String database) {
            return false;
        }

        /**
         * Waits, for a limited time, until all is there that was ordered before: a database that is not known here may have been made at another
         * node just now.
         *
         * @return completed, on any thread; exceptionally with a {@link PostgresException} if the node cannot tell
         */
        default CompletableFuture<Void> upToDate() {
            return CompletableFuture.completedFuture(null);
        }

        /** What is known of a role; null if there is none that can prove itself. Completed on any thread. */
        CompletableFuture<@Nullable KnownRole> role(String name);

        /** From which verifiers of roles that do not exist are made; the same for as long as it lives. */
        byte[] mockSecret();

        /**
         * A client has asked to cancel what another session runs; nobody is told whether there is one.
         *
         * @return completed, on any thread, when the request has reached what runs there, if there is something
         */
        CompletableFuture<Void> cancel(StartupPacket.Cancel request);

        /** Opens a session. Completed on any thread; exceptionally with a {@link PostgresException} for the client. */
        CompletableFuture<? extends Opened> open(Arrival arrival);
    }

    /**
     * A role that can prove itself.
     *
     * @param verifier of its password
     * @param superuser whether it is one
     */
    public record KnownRole(Scram.Verifier verifier, boolean superuser) {}

    /**
     * A client that may have a session.
     *
     * @param client its connection
     * @param reader what reads from it; paused until the session begins
     * @param user its role
     * @param database the replicated one, or another that may be read
     * @param protocol the version that it speaks
     * @param parameters what else its start-up packet says of the session
     * @param credentials what it has proved
     */
    public record Arrival(Channel client, FrameReader reader, String user, String database, int protocol,
            Map<String, String> parameters,
            Credentials credentials) {}

    /** A session that is about to begin. */
    public interface Opened {
        /** What is told about the session, by name. */
        Map<String, String> parameters();

        /** What the client is told about its parameters, or its database, besides. */
        default List<ErrorFields> notices() {
            return List.of();
        }

        /** Its number, for cancel requests. */
        int processId();

        /** Its key, for cancel requests. */
        byte[] secretKey();

        /** Begins it: what is answered takes the client's messages from now on. Null if it has ended already. */
        @Nullable
        FrameSink begin();

        /** The client has been told of the session, and is about to hear that it may begin. */
        default void introduced() {}

        /** The client has gone before it began. */
        void abandon();
    }

    /** The beginning of a client's connection to {@code host}. */
    Handshake(Host host, Channel client) {
        this.host = host;
        this.admission = host.admission();
        this.client = client;
        this.reader = new FrameReader(this, true, admission.messageLimit());
        this.timeout = client.eventLoop().schedule(
                () -> refuse(Errors.fatal("57014", "canceling authentication due to timeout")),
                admission.authenticationTimeout().toNanos(), TimeUnit.NANOSECONDS);
    }

    FrameReader reader() {
        return reader;
    }

    @Override
    public int wanted(byte type, int bodyLength) {
        if (type != Frontend.PASSWORD) {
            throw new ProtocolViolation("expected password response, got message type " + (type & 0xff));
        }
        if (bodyLength > FrameReader.STARTUP_LIMIT) {
            throw new ProtocolViolation("password response of " + bodyLength + " bytes");
        }
        return bodyLength;
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        ByteBuf body = buffer.slice(start, bodyLength);
        spoken = true;
        if (ended) {
            return false;
        }
        if (type != 0) {
            password(body);
            return false;
        }
        switch (StartupPacket.read(body)) {
            case StartupPacket.Ssl _ -> {
                sslAsked = once(sslAsked || encrypted() != null, Frontend.SSL_CODE);
                ssl(bodyLength);
            }
            case StartupPacket.Gss _ -> {
                gssAsked = once(gssAsked || encrypted() != null, Frontend.GSS_CODE);
                writeByte('N');
            }
            case StartupPacket.Cancel cancel -> {
                reader.pause();
                // Who waits for the end of this connection, as libpq does, may begin another statement then.
                host.cancel(cancel).whenComplete((_, _) -> client.close());
            }
            case StartupPacket.Startup packet -> start(packet);
            case StartupPacket.Old old -> {
                // as those tell errors that speak it
                ByteBuf out = client.alloc().buffer().writeByte(Backend.ERROR_RESPONSE);
                out.writeCharSequence("FATAL:  " + old.refusal() + "\n\0", StandardCharsets.UTF_8);
                end(out);
            }
        }
        return false;
    }

    /** Who could ask for ever, and not read the answers, would fill the node's memory before it has proved who it is. */
    private static boolean once(boolean asked, int code) {
        if (asked) {
            throw StartupPacket.unsupported(code);
        }
        return true;
    }

    private void writeByte(char answer) {
        client.writeAndFlush(client.alloc().buffer(1).writeByte(answer), client.voidPromise());
    }

    private void ssl(int bodyLength) {
        SslContext tls = admission.tls();
        if (tls == null) {
            writeByte('N');
            return;
        }
        if (reader.buffered() > bodyLength + 4) {
            throw new ProtocolViolation("received unencrypted data after SSL request");
        }
        writeByte('S');
        client.pipeline().addFirst(DirectTls.TLS, tls.newHandler(client.alloc()));
    }

    private @Nullable SslHandler encrypted() {
        return (SslHandler) client.pipeline().get(DirectTls.TLS);
    }

    private void start(StartupPacket.Startup packet) {
        startup = packet;
        reader.typed();
        protocol = Math.min(packet.major() << 16 | packet.minor(), Frontend.PROTOCOL_3_2);
        if (packet.minor() > (Frontend.PROTOCOL_3_2 & 0xffff)
                || packet.parameters().keySet().stream().anyMatch(name -> name.startsWith("_pq_."))) {
            ByteBuf out = client.alloc().buffer();
            Backend.negotiateProtocol(out, protocol,
                    packet.parameters().keySet().stream().filter(name -> name.startsWith("_pq_.")).toList());
            client.write(out, client.voidPromise());
        }
        user = packet.parameters().getOrDefault("user", "");
        ErrorFields refusal = refusal(packet.parameters());
        if (refusal != null) {
            refuse(refusal);
            return;
        }
        switch (admission.authentication()) {
            case TRUST -> connect(new Credentials.None());
            case SCRAM -> {
                reader.pause();
                host.role(user).whenComplete((known, failure) -> client.eventLoop()
                        .execute(() -> offerScram(known, failure)));
            }
        }
    }

    private @Nullable ErrorFields refusal(Map<String, String> parameters) {
        if (admission.tlsRequired() && encrypted() == null) {
            return Errors.fatal("28000", "this server takes TLS connections only: set sslmode=require");
        }
        if (user.isEmpty()) {
            return Errors.fatal("28000", "no PostgreSQL user name specified in startup packet");
        }
        String replication = parameters.getOrDefault("replication", "off");
        if (!IS_NO.matcher(replication).matches()) {
            if (!IS_YES.matcher(replication).matches()) {
                return Errors.fatal("22023", "invalid value for parameter \"replication\": \"" + replication + "\"")
                        .with('H', "Valid values are: \"false\", 0, \"true\", 1, \"database\".");
            }
            return Errors.fatal(Errors.NOT_SUPPORTED,
                    "replication connections are not supported here: connect to the node's PostgreSQL itself");
        }
        String encoding = parameters.getOrDefault("client_encoding", "UTF8");
        if (TextSettings.isUnsafe(encoding)) {
            return Errors.fatal(Errors.NOT_SUPPORTED,
                    "client encoding " + encoding + " is not supported, because its characters may contain ASCII"
                            + " bytes: use UTF8");
        }
        return null;
    }

    private void offerScram(@Nullable KnownRole known, @Nullable Throwable failure) {
        if (ended) {
            return;
        }
        if (failure != null) {
            LOG.warn("the role {} could not be looked up", user, failure);
            refuse(Errors.fatal(Errors.CANNOT_CONNECT_NOW, "the node's database does not answer"));
            return;
        }
        superuser = known != null && known.superuser();
        SslHandler tls = encrypted();
        Scram.Server begun = new Scram.Server(
                known == null ? Scram.Verifier.mock(host.mockSecret(), user) : known.verifier(),
                tls == null ? new byte[0] : TlsEndPoint.ofServer(tls.engine().getSession()));
        scram = begun;
        ByteBuf out = client.alloc().buffer();
        Backend.authenticationSasl(out, begun.mechanisms());
        client.writeAndFlush(out, client.voidPromise());
        reader.resume();
    }

    private void password(ByteBuf body) {
        Scram.Server conversation = scram;
        if (conversation == null) {
            throw new ProtocolViolation("unexpected password response");
        }
        try {
            // Nothing is taken for an answer before it is there: strangers are not believed to say what can be read.
            if (!mechanismChosen) {
                mechanismChosen = true;
                String mechanism = Fields.cString(body);
                int length = Fields.int32(body);
                if (!conversation.mechanisms().contains(mechanism) || length != body.readableBytes()) {
                    throw new ProtocolViolation("client selected an invalid SASL authentication mechanism");
                }
                byte[] challenge = conversation.challenge(mechanism, Fields.rest(body));
                ByteBuf out = client.alloc().buffer();
                Backend.authenticationSaslContinue(out, challenge);
                client.writeAndFlush(out, client.voidPromise());
            } else {
                byte[] outcome = conversation.outcome(Fields.rest(body));
                ByteBuf out = client.alloc().buffer();
                Backend.authenticationSaslFinal(out, outcome);
                client.write(out, client.voidPromise());
                scram = null;
                connect(new Credentials.ScramKeys(conversation.keys()));
            }
        } catch (Scram.ScramException failed) {
            LOG.debug("authentication of {} failed", user, failed);
            refuse(Errors.fatal("28P01", "password authentication failed for user \"" + user + "\""));
        }
    }

    private void connect(Credentials credentials) {
        Map<String, String> parameters = new TreeMap<>(
                java.util.Objects.requireNonNull(startup, "a start-up packet came").parameters());
        String named = parameters.getOrDefault("database", "");
        String database = named.isEmpty() ? user : named;
        String full = host.admit(client, superuser);
        if (!full.isEmpty()) {
            refuse(Errors.fatal("53300", full));
            return;
        }
        List.of("user", "database", "replication").forEach(parameters::remove);
        parameters.keySet().removeIf(name -> name.startsWith("_pq_."));
        String options = parameters.getOrDefault("options", "");
        admission.usual().forEach((name, value) -> {
            if (!options.contains(name)) {
                parameters.putIfAbsent(name, value);
            }
        });
        reader.pause();
        Arrival arrival = new Arrival(client, reader, user, database, protocol, parameters, credentials);
        if (isKnown(database)) {
            open(arrival);
            return;
        }
        host.upToDate().whenComplete((_, failure) -> client.eventLoop().execute(() -> {
            if (failure != null) {
                refuse(refusal(failure));
            } else if (!isKnown(database)) {
                refuse(Errors.fatal("3D000", "database \"" + database + "\" does not exist").with('D',
                        "This node serves database \"" + host.database()
                                + "\", and those that CREATE DATABASE has made through a node."));
            } else if (!ended) {
                open(arrival);
            }
        }));
    }

    private boolean isKnown(String database) {
        return database.equals(host.database()) || host.isServed(database) || host.mayBeRead(database);
    }

    private void open(Arrival arrival) {
        host.open(arrival).whenComplete((opened, failure) -> client.eventLoop().execute(() -> {
            if (failure != null) {
                refuse(refusal(failure));
            } else if (ended) {
                opened.abandon();
            } else {
                begin(opened);
            }
        }));
    }

    private static ErrorFields refusal(Throwable failure) {
        Throwable cause = failure instanceof CompletionException && failure.getCause() != null
                ? failure.getCause()
                : failure;
        if (cause instanceof PostgresException refused) {
            return refused.fields();
        }
        LOG.warn("no connection to the engine for a client", cause);
        return Errors.fatal(Errors.CANNOT_CONNECT_NOW, "the node's database cannot be reached");
    }

    private void begin(Opened session) {
        FrameSink sink = session.begin();
        if (sink == null) {
            refuse(Errors.fatal(Errors.CANNOT_CONNECT_NOW, "the node's database has ended the session"));
            return;
        }
        timeout.cancel(false);
        ended = true;
        ByteBuf out = client.alloc().buffer();
        Backend.authenticationOk(out);
        session.notices().forEach(notice -> Backend.noticeResponse(out, notice));
        session.parameters().forEach((name, value) -> Backend.parameterStatus(out, name, value));
        Backend.backendKeyData(out, session.processId(), session.secretKey());
        client.write(out, client.voidPromise());
        session.introduced();
        ByteBuf ready = client.alloc().buffer();
        Backend.readyForQuery(ready, Backend.IDLE);
        client.writeAndFlush(ready, client.voidPromise());
        reader.sink(sink);
        reader.resume();
    }

    private void refuse(ErrorFields fields) {
        if (ended) {
            return;
        }
        ByteBuf out = client.alloc().buffer();
        Backend.errorResponse(out, fields.with('S', "FATAL").with('V', "FATAL"));
        end(out);
    }

    private void end(ByteBuf last) {
        ended = true;
        timeout.cancel(false);
        client.writeAndFlush(last).addListener(ChannelFutureListener.CLOSE);
    }

    @Override
    public void violated(ProtocolViolation violation) {
        if (!spoken) {
            LOG.debug("what begins is no start-up packet", violation);
            client.close();
            return;
        }
        refuse(Errors.fatal(violation.sqlState(), String.valueOf(violation.getMessage())));
    }

    @Override
    public void failed(Throwable cause) {
        LOG.debug("a client's connection failed during start-up", cause);
        client.close();
    }

    @Override
    public void inactive() {
        ended = true;
        timeout.cancel(false);
    }
}
