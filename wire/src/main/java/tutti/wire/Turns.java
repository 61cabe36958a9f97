package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Request;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.sql.Classes;

/**
 * What do a client's messages wait for, and as what? Under protocols that order first, a transaction's first statement is kept
 * here until its turn has come. A simple query, or a cycle of extended-protocol messages, that is a transaction by itself
 * is a whole request: it can be executed again, and its conflict classes are computed. A transaction block is
 * interactive, and its classes are those that its client has declared.
 */
final class Turns {
    private static final int HEADER = 5;
    private static final int RECORDED_BYTES_MAX = 1 << 24;

    private record Recorded(byte type, byte[] message) {}

    /** A cycle on its way to becoming a whole request. */
    private static final class Recording {
        final List<Recorded> messages = new ArrayList<>();
        final List<ConflictClasses> classes = new ArrayList<>();
        int bytes;
        /** It contains something that cannot be repeated, or does not end with the cycle. */
        boolean interactive;
    }

    private final Session session;
    private final ClientSide clientSide;
    private final BackendSide backendSide;
    /** Messages of an open cycle that is a transaction by itself, from its first Bind on; null if they are passed on. */
    private @Nullable Recording recording;

    Turns(Session session, ClientSide clientSide, BackendSide backendSide) {
        this.session = session;
        this.clientSide = clientSide;
        this.backendSide = backendSide;
    }

    /** Whether a statement may not be sent before its transaction's turn has come: it looks at the database. */
    boolean mustWait(StatementKind kind, boolean inTransaction) {
        return session.status != Backend.FAILED && session.pendingAbort == null && session.needsTurn()
                && switch (kind) {
                    case WRITE, COPY_IN -> true;
                    case READ, SCHEMA -> inTransaction;
                    default -> false;
                };
    }

    /** Keeps a message of a transaction block until its turn has come, and then deals with it anew. */
    boolean awaitInBlock(byte type, ByteBuf buffer, int start, int bodyLength) {
        byte[] message = message(buffer, start, bodyLength);
        session.awaitTurn(interactive(), false, () -> again(type, message));
        return false;
    }

    /** Keeps a simple query that is a transaction by itself until its turn has come. */
    boolean awaitQuery(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        byte[] message = message(buffer, start, bodyLength);
        session.awaitTurn(
                request(classes(Arrays.copyOfRange(message, HEADER, message.length - 1)),
                        kind != StatementKind.COPY_IN),
                true, () -> again(Frontend.QUERY, message));
        return false;
    }

    /** Has a simple query that is a transaction by itself executed by every replica. */
    boolean awaitEverywhere(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        byte[] sql = Arrays.copyOfRange(message(buffer, start, bodyLength), HEADER, HEADER + bodyLength - 1);
        Classes.Statements statements = clientSide.understood(sql)
                ? session.capture.statements(sql, backendSide.standardStrings())
                : new Classes.Statements(List.of(), "text that is not in UTF-8");
        String varying = kind == StatementKind.COPY_IN ? "COPY from the client" : statements.varying();
        if (varying != null) {
            return clientSide.refuseQuery(Errors
                    .error(Errors.READ_ONLY, "every node executes what changes the database,"
                            + " and this may come out differently: " + varying)
                    .with('H', "Let the client compute the value and send it as a constant, or the rows as INSERT."));
        }
        session.waiting = true;
        session.ownRow = List.of();
        session.ownError = null;
        ByteBuf out = session.buffer();
        session.prepareOwn(out);
        session.own.settings(out, session.operations, null);
        session.own.sync(out, session.operations);
        byte[] message = message(buffer, start, bodyLength);
        session.steps.add(() -> {
            ErrorFields cause = session.ownError;
            if (cause != null) {
                session.waiting = false;
                session.error(cause);
                session.finishCycle(Backend.IDLE);
                return;
            }
            session.awaitTurn(
                    new Request.Whole(session.capture.request(statements.texts(), session.ownRow), classes(sql),
                            session.capture.barrierKeys(), Request.Placement.EITHER),
                    true, () -> again(Frontend.QUERY, message));
        });
        session.toEngine(out);
        return false;
    }

    /** Keeps a part of a script until the turn of its transaction has come. */
    void awaitPart(ByteBuf message, boolean inTransaction, Runnable then) {
        byte[] sql = new byte[message.readableBytes() - HEADER - 1];
        message.getBytes(message.readerIndex() + HEADER, sql);
        session.awaitTurn(inTransaction ? interactive() : new Request.Interactive(classes(sql)), !inTransaction, then);
    }

    private static Request request(ConflictClasses classes, boolean whole) {
        return whole
                ? new Request.Whole(new byte[0], classes, KeySet.EMPTY, Request.Placement.ONE)
                : new Request.Interactive(classes);
    }

    /** What is known of the open transaction block. */
    private Request interactive() {
        ConflictClasses declared = session.declared;
        return declared == null ? Request.Interactive.UNDECLARED : new Request.Interactive(declared);
    }

    private ConflictClasses classes(byte[] sql) {
        return session.services.transactions().needsClasses() && clientSide.understood(sql)
                ? session.capture.classes(sql, 0, sql.length, backendSide.standardStrings())
                : ConflictClasses.ALL;
    }

    /** A client lists the tables that its transaction will touch; null if that is all right. */
    @Nullable
    ErrorFields declare(@Nullable String list, boolean inTransaction) {
        if (list == null || !session.services.transactions().needsClasses()) {
            return null;
        }
        if (!inTransaction || session.handedIn) {
            return Errors.error("25001", "tutti.classes must be set by the first statement of a transaction block")
                    .with('H', "BEGIN; SET LOCAL tutti.classes = 'one, another'; …");
        }
        Classes.Declaration declaration = session.capture.declaration(list);
        if (!declaration.unknown().isEmpty()) {
            return Errors.error("42P01",
                    "tutti.classes lists what is no table: " + String.join(", ", declaration.unknown()));
        }
        session.declared = declaration.classes();
        return null;
    }

    // ------------------------------------------------------------------------------------------ recording

    boolean recording() {
        return recording != null;
    }

    /** Begins to record a cycle, whose transaction can begin only when its turn has come, with its first Bind. */
    boolean record(Prepared first, ByteBuf buffer, int start, int bodyLength) {
        recording = new Recording();
        return record(Frontend.BIND, first, buffer, start, bodyLength);
    }

    /**
     * Records a further message.
     *
     * @param prepared what a Parse or Bind is about; null for other messages
     */
    boolean record(byte type, @Nullable Prepared prepared, ByteBuf buffer, int start, int bodyLength) {
        Recording into = java.util.Objects.requireNonNull(recording, "begun");
        byte[] message = message(buffer, start, bodyLength);
        into.messages.add(new Recorded(type, message));
        into.bytes += message.length;
        if (prepared != null) {
            Reading reading = prepared.reading();
            into.classes.add(reading == null ? ConflictClasses.ALL : reading.classes());
            into.interactive |= !repeats(prepared.kind());
        }
        into.interactive |= type == Frontend.FLUSH || type == Frontend.QUERY;
        if (type == Frontend.SYNC || into.interactive || into.bytes > RECORDED_BYTES_MAX) {
            recorded(into);
        }
        return false;
    }

    private static boolean repeats(StatementKind kind) {
        return switch (kind) {
            case READ, WRITE, EMPTY, SESSION -> true;
            default -> false;
        };
    }

    /**
     * Hands in what was recorded. What has been sent of this cycle began a transaction in the engine, which has its snapshot
     * by now, and is ended first.
     */
    private void recorded(Recording done) {
        recording = null;
        session.waiting = true;
        Recorded last = done.messages.getLast();
        boolean complete = last.type() == Frontend.SYNC;
        boolean whole = complete && !done.interactive;
        if (complete) {
            session.cycle = Session.Cycle.BUSY;
        }
        ByteBuf out = session.buffer();
        session.own.sync(out, session.operations);
        session.steps.add(() -> {
            if (session.cycleFailed) {
                session.waiting = false;
                session.discard = true;
                if (complete) {
                    again(Frontend.SYNC, last.message());
                }
                return;
            }
            ConflictClasses classes = whole
                    ? done.classes.stream().reduce(ConflictClasses::union).orElse(ConflictClasses.ALL)
                    : ConflictClasses.ALL;
            session.awaitTurn(request(classes, whole), true, () -> {
                session.cycle = Session.Cycle.OPEN;
                session.executed = 0;
                session.beginImplicit(false);
                done.messages.forEach(message -> again(message.type(), message.message()));
            });
        });
        session.toEngine(out);
    }

    private static byte[] message(ByteBuf buffer, int start, int bodyLength) {
        byte[] message = new byte[HEADER + bodyLength];
        buffer.getBytes(start - HEADER, message);
        return message;
    }

    /** Deals with a message that has waited. */
    private void again(byte type, byte[] message) {
        ByteBuf buffer = Unpooled.wrappedBuffer(message);
        if (clientSide.frame(type, buffer, HEADER, message.length - HEADER)) {
            session.toEngine(buffer);
        } else {
            buffer.release();
        }
    }
}
