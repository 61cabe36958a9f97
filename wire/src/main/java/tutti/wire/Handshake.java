package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.handler.ssl.SslContext;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
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

/**
 * How does a client's connection begin? TLS if both want it, the start-up packet, SCRAM against the engine's own roles,
 * and a connection to the engine as the same role, proved by what the client proved.
 */
final class Handshake implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(Handshake.class);
    private static final String UNSAFE_ENCODINGS = "SJIS|SHIFT_JIS|SHIFT_JIS_2004|MSKANJI|SHIFTJIS|WIN932|WINDOWS932"
            + "|BIG5|WIN950|WINDOWS950|GBK|WIN936|WINDOWS936|GB18030|UHC|WIN949|WINDOWS949|JOHAB";

    private final PostgresFrontEnd frontEnd;
    private final Channel client;
    private final FrameReader reader;
    private final Future<?> timeout;
    private StartupPacket.@Nullable Startup startup;
    private String user = "";
    private Scram.@Nullable Server scram;
    private boolean mechanismChosen;
    private boolean ended;

    Handshake(PostgresFrontEnd frontEnd, Channel client) {
        this.frontEnd = frontEnd;
        this.client = client;
        this.reader = new FrameReader(this, true, frontEnd.settings().messageLimit());
        this.timeout = client.eventLoop().schedule(
                () -> refuse(Errors.fatal("57014", "canceling authentication due to timeout")),
                frontEnd.settings().authenticationTimeout().toNanos(), TimeUnit.NANOSECONDS);
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
        if (ended) {
            return false;
        }
        if (type != 0) {
            password(body);
            return false;
        }
        switch (StartupPacket.read(body)) {
            case StartupPacket.Ssl _ -> ssl(bodyLength);
            case StartupPacket.Gss _ -> writeByte('N');
            case StartupPacket.Cancel cancel -> {
                frontEnd.cancel(cancel);
                client.close();
            }
            case StartupPacket.Startup packet -> start(packet);
        }
        return false;
    }

    private void writeByte(char answer) {
        client.writeAndFlush(client.alloc().buffer(1).writeByte(answer), client.voidPromise());
    }

    private void ssl(int bodyLength) {
        SslContext tls = frontEnd.settings().tls();
        if (tls == null || client.pipeline().get("tls") != null) {
            writeByte('N');
            return;
        }
        if (reader.buffered() > bodyLength + 4) {
            throw new ProtocolViolation("received unencrypted data after SSL request");
        }
        writeByte('S');
        client.pipeline().addFirst("tls", tls.newHandler(client.alloc()));
    }

    private void start(StartupPacket.Startup packet) {
        startup = packet;
        reader.typed();
        if (packet.minor() > 0 || packet.parameters().keySet().stream().anyMatch(name -> name.startsWith("_pq_."))) {
            ByteBuf out = client.alloc().buffer();
            Backend.negotiateProtocol(out, Frontend.PROTOCOL_3_0,
                    packet.parameters().keySet().stream().filter(name -> name.startsWith("_pq_.")).toList());
            client.write(out, client.voidPromise());
        }
        user = packet.parameters().getOrDefault("user", "");
        ErrorFields refusal = refusal(packet.parameters());
        if (refusal != null) {
            refuse(refusal);
            return;
        }
        switch (frontEnd.settings().authentication()) {
            case TRUST -> connect(new Credentials.None());
            case SCRAM -> {
                reader.pause();
                frontEnd.roles().verifier(user).whenComplete((verifier, failure) -> client.eventLoop()
                        .execute(() -> offerScram(verifier, failure)));
            }
        }
    }

    private @Nullable ErrorFields refusal(Map<String, String> parameters) {
        if (frontEnd.settings().tlsRequired() && client.pipeline().get("tls") == null) {
            return Errors.fatal("28000", "this server takes TLS connections only: set sslmode=require");
        }
        if (user.isEmpty()) {
            return Errors.fatal("28000", "no PostgreSQL user name specified in startup packet");
        }
        String replication = parameters.getOrDefault("replication", "false");
        if (!replication.equals("false") && !replication.equals("off") && !replication.equals("0")) {
            return Errors.fatal(Errors.NOT_SUPPORTED,
                    "replication connections are not supported here: connect to the node's PostgreSQL itself");
        }
        String encoding = parameters.getOrDefault("client_encoding", "UTF8");
        if (encoding.toUpperCase(java.util.Locale.ROOT).matches(UNSAFE_ENCODINGS)) {
            return Errors.fatal(Errors.NOT_SUPPORTED,
                    "client encoding " + encoding + " is not supported, because its characters may contain ASCII"
                            + " bytes: use UTF8");
        }
        if (frontEnd.full()) {
            return Errors.fatal("53300", "sorry, too many clients already: the limit of this node is "
                    + frontEnd.settings().connectionLimit());
        }
        return null;
    }

    private void offerScram(Scram.@Nullable Verifier verifier, @Nullable Throwable failure) {
        if (ended) {
            return;
        }
        if (failure != null) {
            LOG.warn("the role {} could not be looked up", user, failure);
            refuse(Errors.fatal(Errors.CANNOT_CONNECT_NOW, "the node's PostgreSQL does not answer"));
            return;
        }
        scram = new Scram.Server(verifier == null ? Scram.Verifier.mock(frontEnd.mockSecret(), user) : verifier);
        ByteBuf out = client.alloc().buffer();
        Backend.authenticationSasl(out, Scram.MECHANISM);
        client.writeAndFlush(out, client.voidPromise());
        reader.resume();
    }

    private void password(ByteBuf body) {
        Scram.Server conversation = scram;
        if (conversation == null) {
            throw new ProtocolViolation("unexpected password response");
        }
        try {
            ByteBuf out = client.alloc().buffer();
            if (!mechanismChosen) {
                mechanismChosen = true;
                String mechanism = Fields.cString(body);
                int length = Fields.int32(body);
                if (!mechanism.equals(Scram.MECHANISM) || length != body.readableBytes()) {
                    out.release();
                    throw new ProtocolViolation("client selected an invalid SASL authentication mechanism");
                }
                Backend.authenticationSaslContinue(out, conversation.challenge(Fields.rest(body)));
                client.writeAndFlush(out, client.voidPromise());
            } else {
                Backend.authenticationSaslFinal(out, conversation.outcome(Fields.rest(body)));
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
        BackendSettings engine = frontEnd.settings().engine();
        String database = parameters.getOrDefault("database", user);
        if (!database.equals(engine.database())) {
            refuse(Errors.fatal("3D000", "database \"" + database + "\" is not replicated: this node serves database \""
                    + engine.database() + "\""));
            return;
        }
        List.of("user", "database", "replication").forEach(parameters::remove);
        parameters.keySet().removeIf(name -> name.startsWith("_pq_."));
        if (!parameters.getOrDefault("options", "").contains("default_transaction_isolation")) {
            parameters.putIfAbsent("default_transaction_isolation", "repeatable read");
        }
        if (!frontEnd.services().transactions().serializable()
                && (parameters.getOrDefault("options", "") + parameters.get("default_transaction_isolation"))
                        .toLowerCase(Locale.ROOT).contains("serializable")) {
            refuse(Errors.fatal("0A000", Classifier.NOT_SERIALIZABLE));
            return;
        }
        reader.pause();
        BackendConnection.connect(client.eventLoop(), engine.as(user, credentials).withParameters(parameters))
                .whenComplete((connection, failure) -> {
                    if (failure != null) {
                        refuse(engineRefusal(failure));
                    } else if (ended) {
                        connection.close();
                    } else {
                        confirm(connection);
                    }
                });
    }

    private void confirm(BackendConnection connection) {
        frontEnd.confirm().whenComplete((_, failure) -> client.eventLoop().execute(() -> {
            if (failure != null) {
                connection.abort();
                refuse(engineRefusal(failure));
            } else if (ended) {
                connection.close();
            } else if (connection.channel().isActive()) {
                begin(connection);
            } else {
                refuse(Errors.fatal(Errors.CANNOT_CONNECT_NOW, "the node's PostgreSQL has ended the session"));
            }
        }));
    }

    private static ErrorFields engineRefusal(Throwable failure) {
        Throwable cause = failure instanceof CompletionException && failure.getCause() != null
                ? failure.getCause()
                : failure;
        if (cause instanceof PostgresException refused) {
            return refused.fields();
        }
        LOG.warn("no connection to the engine for a client", cause);
        return Errors.fatal(Errors.CANNOT_CONNECT_NOW, "the node's PostgreSQL cannot be reached");
    }

    private void begin(BackendConnection connection) {
        timeout.cancel(false);
        ended = true;
        Session session = new Session(frontEnd.services(), client, reader, connection);
        BackendSide backendSide = new BackendSide(session);
        ClientSide clientSide = new ClientSide(session, backendSide,
                new Classifier(frontEnd.services().transactions().serializable()));
        connection.takeOver(backendSide);
        frontEnd.opened(session);
        ByteBuf out = client.alloc().buffer();
        Backend.authenticationOk(out);
        List<String> names = new ArrayList<>(connection.parameters().keySet());
        names.forEach(name -> Backend.parameterStatus(out, name,
                java.util.Objects.requireNonNull(connection.parameters().get(name))));
        Backend.backendKeyData(out, connection.processId(), connection.secretKey());
        Backend.readyForQuery(out, Backend.IDLE);
        client.writeAndFlush(out, client.voidPromise());
        reader.sink(clientSide);
        reader.resume();
    }

    private void refuse(ErrorFields fields) {
        if (ended) {
            return;
        }
        ended = true;
        timeout.cancel(false);
        ByteBuf out = client.alloc().buffer();
        Backend.errorResponse(out, fields.with('S', "FATAL").with('V', "FATAL"));
        client.writeAndFlush(out).addListener(ChannelFutureListener.CLOSE);
    }

    @Override
    public void run(ByteBuf bytes) {
        bytes.release();
    }

    @Override
    public void readComplete() {
        // answers are flushed as they are written
    }

    @Override
    public void violated(ProtocolViolation violation) {
        refuse(Errors.fatal(ProtocolViolation.SQL_STATE, String.valueOf(violation.getMessage())));
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
