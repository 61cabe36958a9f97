package tutti.wire;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.FrameSink;

/** Reads what the engine sends to a session: passes on what is the client's, keeps what is the node's. */
final class BackendSide implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(BackendSide.class);
    private final Session session;
    private final TextSettings texts;
    private final BackendRequests backend;
    private final ClientStream client;
    private final ClientCycle cycle;
    private final InBandResults rows;
    /** Whether a notice has come that the client is to hear while its statement goes on. */
    private boolean noticed;

    BackendSide(Session session, TextSettings texts) {
        this.session = session;
        this.texts = texts;
        this.backend = session.backend();
        this.client = session.client();
        this.cycle = session.cycle();
        this.rows = new InBandResults(session);
    }

    @Override
    public int wanted(byte type, int bodyLength) {
        if (type == Backend.NOTIFICATION_RESPONSE) {
            return 0;
        }
        SentMessage first = backend.first();
        if (first == SentMessage.OWN_COLLECTED) {
            return bodyLength;
        }
        if (first != null && first.inBand() && !client.suppressed()
                && (type == Backend.ROW_DESCRIPTION || type == Backend.COMMAND_COMPLETE)) {
            return bodyLength;
        }
        switch (type) {
            case Backend.DATA_ROW, Backend.COPY_DATA -> {
                if (first != null && first.own()) {
                    return bodyLength;
                }
                if (client.suppressed()) {
                    return 0;
                }
                if (type == Backend.DATA_ROW && session.repetition().hidesRows()) {
                    client.withholdIfPossible();
                }
                if (!client.writable()) {
                    session.pauseEngine();
                }
                return first != null && first.inBand() ? rows.wanted(first, bodyLength) : PASS;
            }
            case Backend.ERROR_RESPONSE, Backend.NOTICE_RESPONSE, Backend.PARAMETER_STATUS, Backend.READY_FOR_QUERY -> {
                return bodyLength;
            }
            case Backend.FUNCTION_CALL_RESPONSE -> {
                if (first == SentMessage.FUNCTION_CALL) {
                    return 0;
                }
                return first != null && first.closes() ? session.changes().wanted(bodyLength) : bodyLength;
            }
            case Backend.COMMAND_COMPLETE -> {
                return first != null && first.commits() ? bodyLength : 0;
            }
            default -> {
                return Backend.wanted(type, 0);
            }
        }
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        switch (type) {
            case Backend.READY_FOR_QUERY -> {
                boolean passes = backend.ready(buffer.getByte(start)) && session.clientReady();
                if (passes) {
                    client.tellParameters();
                }
                return passes;
            }
            case Backend.PARAMETER_STATUS -> {
                ByteBuf body = buffer.slice(start, bodyLength);
                String parameter = Fields.cString(body);
                if (!backend.isOwn(parameter)) {
                    String value = Fields.cString(body);
                    texts.reported(parameter, value);
                    client.parameter(parameter, value);
                }
                return false;
            }
            case Backend.NOTIFICATION_RESPONSE -> {
                return true;
            }
            default -> {
                // an answer, or a notice
            }
        }
        SentMessage first = backend.first();
        if (first == SentMessage.OWN_COLLECTED) {
            backend.reply().collect(type, buffer.slice(start, bodyLength));
            return false;
        }
        if (type == Backend.NOTICE_RESPONSE) {
            boolean seen = client.seesNotice(buffer.slice(start, bodyLength), first);
            noticed |= seen;
            return seen;
        }
        if (type == Backend.ERROR_RESPONSE) {
            return error(first, ErrorFields.read(buffer.slice(start, bodyLength)));
        }
        if (first != null && first.inBand() && !client.suppressed()) {
            switch (type) {
                case Backend.DATA_ROW -> {
                    return rows.row(buffer, start, bodyLength);
                }
                case Backend.ROW_DESCRIPTION -> {
                    return rows.description(first, buffer, start, bodyLength);
                }
                case Backend.COMMAND_COMPLETE -> rows.complete(buffer, start, bodyLength);
                case Backend.PORTAL_SUSPENDED -> rows.suspended();
                default -> {
                    // as of any other statement
                }
            }
        }
        return first == null ? !client.suppressed() : answer(first, type, buffer, start, bodyLength);
    }

    private boolean answer(SentMessage first, byte type, ByteBuf buffer, int start, int bodyLength) {
        switch (type) {
            case Backend.PARSE_COMPLETE, Backend.BIND_COMPLETE, Backend.CLOSE_COMPLETE, Backend.NO_DATA ->
                backend.answered();
            case Backend.ROW_DESCRIPTION -> {
                if (first == SentMessage.DESCRIBE || first == SentMessage.DESCRIBE_IN_BAND
                        || first == SentMessage.DESCRIBE_AGAIN) {
                    backend.answered();
                }
            }
            case Backend.COMMAND_COMPLETE, Backend.EMPTY_QUERY, Backend.PORTAL_SUSPENDED -> {
                if (first.commits() && type == Backend.COMMAND_COMPLETE) {
                    backend.reply().completed(first, buffer.slice(start, bodyLength));
                }
                return complete(first, type);
            }
            case Backend.FUNCTION_CALL_RESPONSE -> {
                if (first == SentMessage.FUNCTION_CALL) {
                    return done(client.sees(first));
                }
                if (!first.closes() || !session.changes().unwanted()) {
                    backend.reply().value(first, buffer.slice(start, bodyLength));
                }
                return false;
            }
            case Backend.DATA_ROW -> {
                if (first.own()) {
                    backend.reply().row(first, buffer.slice(start, bodyLength));
                }
                return false;
            }
            case Backend.COPY_IN_RESPONSE -> {
                if (!client.suppressed()) {
                    cycle.copyBegins();
                } // otherwise a CopyFail has been sent
            }
            default -> {
                // part of an answer
            }
        }
        return client.sees(first);
    }

    private boolean complete(SentMessage first, byte type) {
        // of a simple query more statements may follow, and then ReadyForQuery
        if (!first.query()) {
            backend.answered();
        }
        boolean sees = client.sees(first);
        ErrorFields warning = cycle.takeWarning(first);
        if (sees) {
            client.notice(warning);
        }
        switch (first) {
            case ENDING_EXECUTE -> session.transactionEnded(false);
            case CHAINING_EXECUTE -> session.transactionEnded(true);
            case ENDING_QUERY -> session.transactionEndedByQuery();
            default -> {
                // it goes on
            }
        }
        cycle.copyEnds();
        if (type == Backend.COMMAND_COMPLETE) {
            done(sees);
        }
        return sees;
    }

    /** Something of the client's has been done: if it commits by itself, its client hears so when it has. */
    private boolean done(boolean sees) {
        if (sees && session.transaction().implicit()) {
            client.withhold();
        }
        return sees;
    }

    private boolean error(@Nullable SentMessage first, ErrorFields said) {
        if (!said.severity().equals("ERROR")) {
            if (cycle.failed() && !client.suppressed()) {
                client.release(); // the client hears of the failure, and of what was done before it
            }
            return session.ending().says(said);
        }
        ErrorFields fields = client.suppressed() ? said : session.named(backend.meant(said));
        cycle.noCopy();
        rows.failed();
        ErrorFields told = switch (first) {
            case PARSE_IN_BAND, QUERY_IN_BAND -> InBandResults.error(fields, backend.parsing());
            case BIND_IN_BAND -> InBandResults.withoutColumn(fields);
            case null, default -> Errors.explained(Repetition.shown(fields));
        };
        int statements = first != null && first.executes() ? backend.unansweredStatements() : 0;
        boolean skips = first != null && !first.query() && backend.skipsToSync();
        if (first != null && first.query()) {
            backend.queryFailed(first);
        }
        OpenTransaction current = session.transaction().orNull();
        if (current != null && (first == null || !first.own()) && !client.suppressed()
                && session.repetition().repeats(fields)) {
            session.times().lost(fields, true);
            repeat(current, fields, statements, skips);
            return false;
        }
        if (skips) {
            // the engine skips messages up to Sync, and so does the node
            cycle.skip();
        }
        if (first != null && first.refused()) {
            ErrorFields refusal = backend.takeRefusal(fields);
            if (!client.suppressed()) {
                session.error(refusal);
            }
            return false;
        }
        if (first != null && first.own() && backend.beginFails() && !client.suppressed()) {
            session.error(fields);
            return false;
        }
        if (first != null && first.own()) {
            backend.reply().failed(fields);
            return false;
        }
        if (client.suppressed()) {
            return false;
        }
        cycle.fail();
        if (current != null && session.turns().repeatable(fields)) {
            current.retryFor(fields);
            return false;
        }
        MultiStatementQuery script = cycle.script();
        ErrorFields placed = script == null ? fields : script.placed(fields);
        if (!placed.equals(fields)) {
            session.error(placed);
            return false;
        }
        session.repetition().notRepeated(fields);
        session.times().failed(fields);
        if (!told.equals(said)) {
            client.error(told);
            return false;
        }
        return true;
    }

    /** What has run of the open transaction is rolled back at the end of the cycle, which is now unless the client has ended it. */
    private void repeat(OpenTransaction current, ErrorFields fields, int statements, boolean skips) {
        session.repetition().failed(current, fields, statements);
        cycle.fail();
        client.suppress();
        if (skips) {
            cycle.await();
            backend.batch().sync(_ -> session.rollback().begin());
        }
    }

    @Override
    public void run(ByteBuf bytes) {
        client.run(bytes);
    }

    @Override
    public void readComplete() {
        session.settle();
        if (noticed) {
            noticed = false;
            client.flush();
        }
    }

    @Override
    public void writabilityChanged(boolean writable) {
        session.settle();
    }

    @Override
    public void failed(Throwable cause) {
        if (session.engineActive()) {
            LOG.error("a session's connection to PostgreSQL fails and is closed", cause);
        } else {
            LOG.debug("write to a closed connection", cause);
        }
        session.abortEngine();
    }

    @Override
    public void inactive() {
        session.engineClosed();
    }
}
