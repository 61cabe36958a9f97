package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Request;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.sql.Classes;
import tutti.wire.sql.ReadPlan;

/**
 * What do a client's messages wait for, and as what? Under protocols that order first, a transaction's first statement is kept
 * here until its turn has come. A simple query, or a cycle of extended-protocol messages, that is a transaction by itself
 * is a whole request: it can be executed again, and its conflict classes are computed. A transaction block is
 * interactive, and its classes are those that its client has declared.
 */
final class Turns {
    private static final int HEADER = 5;
    private final Session session;
    private final ClientSide clientSide;
    private final BackendSide backendSide;
    private final Everywhere everywhere;
    /** Messages of an open cycle that is a transaction by itself, from its first Bind on; null if they are passed on. */
    private @Nullable Recording recording;

    Turns(Session session, ClientSide clientSide, BackendSide backendSide) {
        this.session = session;
        this.clientSide = clientSide;
        this.backendSide = backendSide;
        this.everywhere = new Everywhere(session, clientSide, backendSide);
    }

    Everywhere everywhere() {
        return everywhere;
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
        session.awaitTurn(interactive(), session.declared != null, false, () -> again(type, message));
        return false;
    }

    /** Keeps a simple query that is a transaction by itself until its turn has come. */
    boolean awaitQuery(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        byte[] message = message(buffer, start, bodyLength);
        Capture.Classified classified = classes(Arrays.copyOfRange(message, HEADER, message.length - 1));
        session.awaitTurn(request(classified.classes(), kind != StatementKind.COPY_IN), classified.vouched(), true,
                () -> again(Frontend.QUERY, message));
        return false;
    }

    /** Keeps a part of a script until the turn of its transaction has come. */
    void awaitPart(ByteBuf message, boolean inTransaction, Runnable then) {
        byte[] sql = new byte[message.readableBytes() - HEADER - 1];
        message.getBytes(message.readerIndex() + HEADER, sql);
        Capture.Classified classified = classes(sql);
        session.awaitTurn(inTransaction ? interactive() : new Request.Interactive(classified.classes()),
                inTransaction ? session.declared != null : classified.vouched(), !inTransaction, then);
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

    private Capture.Classified classes(byte[] sql) {
        return session.services.transactions().needsClasses() && clientSide.understood(sql)
                ? session.capture.classes(sql, 0, sql.length, backendSide.standardStrings(), ReadPlan.NO_VALUES)
                : Capture.Classified.ALL;
    }

    /** A client sets a variable; null if that is all right. */
    @Nullable
    ErrorFields set(String sql, boolean inTransaction) {
        ErrorFields refusal = session.modes.statement(sql, inTransaction);
        return refusal == null ? declare(sql, inTransaction) : refusal;
    }

    /** A client lists the tables that its transaction will touch; null if that is all right. */
    private @Nullable ErrorFields declare(String sql, boolean inTransaction) {
        String list = Classes.declared(sql);
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
        session.declaredPartly = declaration.partly() && session.services.transactions().classesCoverReads();
        return null;
    }

    /** What a statement of an open transaction block may touch outside of what has been declared; null if nothing. */
    @Nullable
    ErrorFields outside(byte[] sql) {
        return session.declaredPartly ? outside(classes(sql)) : null;
    }

    /** The same of a portal; null for one that was bound before anything was declared. */
    @Nullable
    ErrorFields outside(Reading.@Nullable Bound portal) {
        return session.declaredPartly ? outside(portal == null ? Capture.Classified.ALL : portal.classes()) : null;
    }

    private @Nullable ErrorFields outside(Capture.Classified statement) {
        ConflictClasses declared = session.declared;
        String outside = declared == null ? null : session.capture.outside(statement.classes(), declared);
        return outside == null
                ? null
                : Errors.error(Errors.OUTSIDE_OF_CLASSES, "the statement may touch " + outside
                        + " that its transaction has declared")
                        .with('H', "Give the column that divides the table in the"
                                + " statement's condition or in its values, or list the whole table in tutti.classes.");
    }

    // ------------------------------------------------------------------------------------------ recording

    boolean recording() {
        return recording != null;
    }

    /** Begins to record a cycle, of which it must be known when or where it is to run, with its first Bind. */
    boolean record(Prepared first, ByteBuf buffer, int start, int bodyLength) {
        recording = new Recording();
        return record(Frontend.BIND, first, buffer, start, bodyLength);
    }

    /**
     * Records a further message.
     *
     * @param about what a Parse or Bind is about; null for other messages
     */
    boolean record(byte type, @Nullable Prepared about, ByteBuf buffer, int start, int bodyLength) {
        Recording into = java.util.Objects.requireNonNull(recording, "begun");
        if (into.add(type, about, buffer, start, bodyLength)) {
            recorded(into);
        }
        return false;
    }

    /**
     * Hands in what was recorded. What has been sent of this cycle began a transaction in the engine, which has its snapshot
     * by now, and is ended first.
     */
    private void recorded(Recording done) {
        recording = null;
        session.waiting = true;
        if (done.complete()) {
            session.cycle = Session.Cycle.BUSY;
        }
        ByteBuf out = session.buffer();
        session.own.sync(out, session.operations);
        session.steps.add(() -> {
            if (session.cycleFailed) {
                session.waiting = false;
                session.discard = true;
                if (done.complete()) {
                    again(Frontend.SYNC, done.messages().getLast().message());
                }
            } else if (!everywhere.recorded(done)) {
                here(done);
            }
        });
        session.toEngine(out);
    }

    /** Executes it at this node, when its turn has come. */
    private void here(Recording done) {
        if (!session.needsTurn()) {
            session.waiting = false;
            session.cycle = Session.Cycle.OPEN;
            session.placed = true;
            done.messages().forEach(message -> again(message.type(), message.message()));
            return;
        }
        done.classify();
        Capture.Classified classified = done.classified();
        session.awaitTurn(request(classified.classes(), done.whole()), classified.vouched(), true, () -> {
            session.cycle = Session.Cycle.OPEN;
            session.executed = 0;
            session.beginImplicit(false);
            done.messages().forEach(message -> again(message.type(), message.message()));
        });
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
