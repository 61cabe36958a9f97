package tutti.wire;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.FrameSink;
import tutti.pgwire.ProtocolViolation;
import tutti.pgwire.QueryCollector;

/** Reads what the engine sends to a session: passes on what is the client's, keeps what is ours. */
final class BackendSide implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(BackendSide.class);
    private final Session session;
    private final Operations operations;
    private @Nullable ErrorFields lastFatal;
    private boolean standardStrings = true;
    private boolean utf8;

    BackendSide(Session session) {
        this.session = session;
        this.operations = session.operations;
        standardStrings = !"off".equals(session.connection().parameters().get("standard_conforming_strings"));
        utf8 = "UTF8".equals(session.connection().parameters().get("client_encoding"));
    }

    /** Whether the client's texts are in UTF-8. */
    boolean utf8() {
        return utf8;
    }

    boolean standardStrings() {
        return standardStrings;
    }

    @Override
    public int wanted(byte type, int bodyLength) {
        if (operations.first() == Operations.OWN_COLLECTED) {
            return bodyLength;
        }
        switch (type) {
            case Backend.DATA_ROW, Backend.COPY_DATA -> {
                if (Operations.own(operations.first())) {
                    return bodyLength;
                }
                if (session.suppress) {
                    return 0;
                }
                if (!session.client().isWritable()) {
                    session.connection().reader().pause();
                }
                return PASS;
            }
            case Backend.ERROR_RESPONSE, Backend.NOTICE_RESPONSE, Backend.PARAMETER_STATUS, Backend.READY_FOR_QUERY -> {
                return bodyLength;
            }
            default -> {
                if (!Backend.isType(type)) {
                    throw new ProtocolViolation("no such message type from a server: " + (type & 0xff));
                }
                return 0;
            }
        }
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        byte first = operations.first();
        QueryCollector collector = session.collector;
        if (first == Operations.OWN_COLLECTED && collector != null && type != Backend.READY_FOR_QUERY) {
            collector.message(type, buffer.slice(start, bodyLength));
            return false;
        }
        switch (type) {
            case Backend.PARSE_COMPLETE, Backend.BIND_COMPLETE, Backend.CLOSE_COMPLETE, Backend.NO_DATA -> {
                operations.poll();
                session.prepared |= first == Operations.OWN_PREPARED;
                return forClient(first);
            }
            case Backend.ROW_DESCRIPTION -> {
                if (first == Operations.DESCRIBE) {
                    operations.poll();
                }
                return forClient(first);
            }
            case Backend.COMMAND_COMPLETE, Backend.EMPTY_QUERY, Backend.PORTAL_SUSPENDED -> {
                return complete(type, first);
            }
            case Backend.DATA_ROW -> {
                if (first == Operations.OWN_CLOSING) {
                    session.gathered = Fields.firstValue(buffer.slice(start, bodyLength));
                } else if (first == Operations.OWN_SETTINGS || first == Operations.OWN_QUERY) {
                    session.ownRow = Fields.dataRow(buffer.slice(start, bodyLength));
                }
                return false;
            }
            case Backend.ERROR_RESPONSE -> {
                return error(first, buffer, start, bodyLength);
            }
            case Backend.NOTICE_RESPONSE -> {
                return notice(buffer.slice(start, bodyLength));
            }
            case Backend.PARAMETER_STATUS -> {
                ByteBuf body = buffer.slice(start, bodyLength);
                String name = Fields.cString(body);
                if (name.equals("standard_conforming_strings")) {
                    standardStrings = !Fields.cString(body).equals("off");
                } else if (name.equals("client_encoding")) {
                    utf8 = Fields.cString(body).equals("UTF8");
                }
                return true;
            }
            case Backend.READY_FOR_QUERY -> {
                return ready(operations.poll(), buffer.getByte(start));
            }
            case Backend.COPY_IN_RESPONSE -> {
                copyIn();
                return forClient(first);
            }
            default -> {
                return forClient(first);
            }
        }
    }

    private boolean forClient(byte operation) {
        return !Operations.own(operation) && !session.suppress;
    }

    private boolean complete(byte type, byte first) {
        switch (first) {
            case Operations.QUERY -> {
                // more statements may follow
            }
            case Operations.OWN_COMMIT -> {
                session.commitSeen = true;
                operations.poll();
            }
            case Operations.ENDING -> {
                operations.poll();
                session.transactionEnded();
                session.settling = false;
                session.waiting = false;
            }
            case Operations.ENDING_QUERY -> session.transactionEnded();
            case Operations.OWN_QUERY, Operations.REFUSED_QUERY -> {
                // ReadyForQuery follows
            }
            default -> operations.poll();
        }
        session.copyIn = false;
        if (!forClient(first)) {
            return false;
        }
        if (session.implicit && type == Backend.COMMAND_COMPLETE) {
            session.connection().reader().emitRun();
            session.held.hold();
        }
        return true;
    }

    private boolean error(byte first, ByteBuf buffer, int start, int bodyLength) {
        ErrorFields fields = ErrorFields.read(buffer.slice(start, bodyLength));
        if (!fields.severity().equals("ERROR")) {
            lastFatal = fields;
            return true;
        }
        session.copyIn = false;
        session.copyExpected = false;
        session.settling = false;
        boolean simple = first == Operations.QUERY || first == Operations.ENDING_QUERY
                || first == Operations.OWN_QUERY || first == Operations.REFUSED_QUERY;
        if (!simple && first != 0) {
            operations.dropToSync();
            if (operations.size() == 0) {
                // the engine skips messages up to Sync, and so do we
                session.discard = true;
                session.waiting = false;
            }
        }
        if (first == Operations.REFUSED_PARSE || first == Operations.REFUSED_QUERY) {
            ErrorFields refusal = session.refusal;
            session.refusal = null;
            if (!session.suppress) {
                session.error(refusal == null ? fields : refusal);
            }
            return false;
        }
        if (Operations.own(first)) {
            session.ownError = fields;
            session.prepared &= !fields.sqlState().equals("26000");
            return false;
        }
        if (session.suppress) {
            return false;
        }
        session.cycleFailed = true;
        if (session.repeatable(fields)) {
            session.retry = fields;
            return false;
        }
        Script script = session.script;
        String position = fields.get('P');
        if (script != null && script.offset() > 0 && position != null) {
            session.error(fields.with('P', String.valueOf(Integer.parseInt(position) + script.offset())));
            return false;
        }
        return true;
    }

    private boolean notice(ByteBuf body) {
        if (session.hideWarnings) {
            String sqlState = ErrorFields.read(body).sqlState();
            if (sqlState.equals("25P01") || sqlState.equals("25001")) {
                return false;
            }
        }
        return !session.suppress;
    }

    private boolean ready(byte operation, byte status) {
        return switch (operation) {
            case Operations.SYNC, Operations.QUERY, Operations.ENDING_QUERY, Operations.REFUSED_QUERY ->
                session.cycleReady(status);
            case Operations.OWN_SYNC, Operations.OWN_QUERY, Operations.OWN_COLLECTED -> {
                session.ownReady(status);
                yield false;
            }
            default -> throw new ProtocolViolation("ReadyForQuery in answer to operation " + operation);
        };
    }

    /** The engine ignores Sync until the data has ended; so a Sync that came already does not count. */
    private void copyIn() {
        if (operations.first() == Operations.EXECUTE && session.cycle == Session.Cycle.BUSY) {
            operations.removeLast();
            session.cycle = Session.Cycle.OPEN;
        }
        session.copyIn = true;
    }

    @Override
    public void run(ByteBuf bytes) {
        session.held.write(bytes);
    }

    @Override
    public void readComplete() {
        session.settle();
    }

    @Override
    public void writabilityChanged(boolean writable) {
        session.settle();
    }

    @Override
    public void violated(ProtocolViolation violation) {
        failed(violation);
    }

    @Override
    public void failed(Throwable cause) {
        if (session.engine().isActive()) {
            LOG.error("a session's connection to PostgreSQL fails and is closed", cause);
        } else {
            LOG.debug("write to a closed connection", cause);
        }
        session.connection().abort();
    }

    @Override
    public void inactive() {
        session.engineClosed(lastFatal);
    }
}
