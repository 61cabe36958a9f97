package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.pgwire.Frontend;
import tutti.wire.sql.StatementClasses;

/**
 * A client's messages that are kept until it is known when, or where, they run. Under protocols that order first, a
 * transaction's first statement waits here for its turn. A simple query, or a cycle of extended-protocol messages, that is a transaction by
 * itself is a whole request: it can be executed again, and its conflict classes are computed. A transaction block is
 * interactive, and its classes are those that its client has declared. On the session's event loop.
 */
final class DeferredMessages {
    /** Deals with a message as if it had just come. */
    interface Again {
        boolean frame(byte type, ByteBuf buffer, int start, int bodyLength);
    }

    private static final String BLANK = "(?:\\s|--[^\\n]*\\n|/\\*.*?\\*/)";
    private static final Pattern LOCALLY = Pattern.compile(BLANK + "*SET" + BLANK + "+LOCAL\\b",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    private static final Pattern WHERE_AND_WHEN = Pattern.compile("tutti\\W+(mode|acknowledge|requests)\\b",
            Pattern.CASE_INSENSITIVE);
    private final Session session;
    private final StatementRules rules;
    private final ActiveRequests active;
    private final Again again;
    private final BackendRequests backend;
    private final ClientCycle cycle;
    /** Messages of an open cycle that is a transaction by itself, from its first Bind on; null if they are passed on. */
    private @Nullable RecordedCycle recording;

    DeferredMessages(Session session, StatementRules rules, ActiveRequests active, Again again) {
        this.session = session;
        this.rules = rules;
        this.active = active;
        this.again = again;
        this.backend = session.backend();
        this.cycle = session.cycle();
    }

    // ------------------------------------------------------------------------------------------ waiting for the turn

    /** Whether a statement may not be sent before its transaction's turn has come: it looks at the database. */
    boolean mustWait(StatementKind kind, boolean inTransaction) {
        return !backend.transactionFailed() && session.transaction().unheardAbort() == null
                && session.turns().needed()
                && switch (kind) {
                    case WRITE, COPY_IN, NOTIFY -> true;
                    case READ, SCHEMA -> inTransaction;
                    default -> false;
                };
    }

    /** Keeps a message of a transaction block until its turn has come. Returns false: it is not passed on now. */
    boolean awaitInBlock(byte type, ByteBuf buffer, int start, int bodyLength) {
        byte[] message = Messages.copy(buffer, start, bodyLength);
        session.turns().await(interactive(), declares(), false, () -> again(type, message));
        return false;
    }

    /** Keeps a simple query that is a transaction by itself until its turn has come. Returns false. */
    boolean awaitQuery(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        awaitQuery(kind, Messages.copy(buffer, start, bodyLength));
        return false;
    }

    /** Keeps a simple query that is a transaction by itself, and loads a table, until schema changes before it are made. Returns false. */
    boolean awaitLoad(ByteBuf buffer, int start, int bodyLength) {
        byte[] message = Messages.copy(buffer, start, bodyLength);
        cycle.await();
        session.loads().awaitLoad(() -> {
            // it sees them
            session.transaction().cycleBegins();
            cycle.proceed();
            again(Frontend.QUERY, message);
        }, () -> {
            cycle.proceed();
            backend.refuse(Errors.CANCELLED, SentMessage.REFUSED_QUERY);
        });
        return false;
    }

    /** Likewise, the whole message. */
    void awaitQuery(StatementKind kind, byte[] message) {
        Capture.Classified classified = rules.classes(Messages.queryText(Unpooled.wrappedBuffer(message),
                Messages.HEADER, message.length - Messages.HEADER));
        session.turns().await(request(classified.classes(), kind != StatementKind.COPY_IN), classified.vouched(), true,
                () -> again(Frontend.QUERY, message));
    }

    /** Keeps a part of a script until the turn of its transaction has come. */
    void awaitPart(byte[] sql, boolean inTransaction, Runnable then) {
        Capture.Classified classified = rules.classes(sql);
        session.turns().await(inTransaction ? interactive() : new TransactionRequest.Interactive(classified.classes()),
                inTransaction ? declares() : classified.vouched(), !inTransaction, then);
    }

    private static TransactionRequest request(ConflictClasses classes, boolean whole) {
        return whole
                ? new TransactionRequest.Whole(new byte[0], classes, KeySet.EMPTY, TransactionRequest.Placement.ONE)
                : new TransactionRequest.Interactive(classes);
    }

    private StatementClasses.@Nullable Declaration declaration() {
        OpenTransaction current = session.transaction().orNull();
        return current == null ? null : current.declared();
    }

    private boolean declares() {
        return declaration() != null;
    }

    /** What is known of the open transaction block. */
    private TransactionRequest interactive() {
        StatementClasses.Declaration declared = declaration();
        return declared == null
                ? TransactionRequest.Interactive.UNDECLARED
                : new TransactionRequest.Interactive(declared.classes());
    }

    // ------------------------------------------------------------------------------------------ recording

    boolean recording() {
        return recording != null;
    }

    /** Whether a statement sets something for its transaction, which in a cycle that is none by its words are the statements up to Sync. */
    static boolean setsLocally(Prepared prepared) {
        UtilityStatement utility = prepared.utility();
        return prepared.kind() == StatementKind.SESSION && utility != null
                && LOCALLY.matcher(utility.sql()).lookingAt();
    }

    /**
     * Whether a cycle that begins with binding this statement is to be recorded, since it sets something for what follows in the cycle, which may
     * have to wait or go elsewhere, or says where that goes.
     */
    boolean sets(Prepared prepared) {
        return setsLocally(prepared) && !session.transaction().implicit()
                && (active.possible() || session.modes().logged() || session.turns().needed()
                        || WHERE_AND_WHEN.matcher(Objects.requireNonNull(prepared.utility(), "a SET").sql()).find());
    }

    /** Begins to record a cycle, of which it must be known when or where it is to run, with its first Bind. Returns false. */
    boolean record(Prepared first, ByteBuf buffer, int start, int bodyLength) {
        recording = new RecordedCycle();
        return record(Frontend.BIND, first, buffer, start, bodyLength);
    }

    /**
     * Records a further message. Returns false: it is not passed on now.
     *
     * @param about what a Parse or Bind is about; null for other messages
     */
    boolean record(byte type, @Nullable Prepared about, ByteBuf buffer, int start, int bodyLength) {
        RecordedCycle into = Objects.requireNonNull(recording, "begun");
        if (into.add(type, about, buffer, start, bodyLength)) {
            recorded(into);
        }
        return false;
    }

    /**
     * Hands in what was recorded. What has been sent of this cycle began a transaction in the engine, which has its snapshot
     * by now, and is ended first; if nothing has, there is none.
     */
    private void recorded(RecordedCycle done) {
        recording = null;
        if (done.complete()) {
            cycle.complete();
        } else {
            cycle.await();
        }
        if (backend.inStep()) {
            session.onLoop(() -> handIn(done));
        } else {
            backend.batch().sync(_ -> handIn(done));
        }
    }

    private void handIn(RecordedCycle done) {
        if (cycle.failed() && done.complete()) {
            backend.synchronize();
        } else if (cycle.failed()) {
            cycle.skip();
        } else if (!done.mayWrite() || !active.recorded(done, () -> here(done))) {
            here(done);
        }
    }

    /** Executes it at this node, when its turn has come. */
    private void here(RecordedCycle done) {
        if (!session.turns().needed() || (done.complete() && !done.mayWrite())) {
            cycle.reopen();
            cycle.stayHere();
            play(done);
            return;
        }
        done.classify();
        Capture.Classified classified = done.classified();
        session.turns().await(request(classified.classes(), done.whole()), classified.vouched(), true, () -> {
            cycle.reopen();
            cycle.repeats();
            session.beginImplicit(false);
            play(done);
        });
    }

    private void play(RecordedCycle done) {
        done.messages().forEach(message -> again(message.type(), message.message()));
    }

    /** Deals with a message that was kept. */
    void again(byte type, byte[] message) {
        ByteBuf buffer = Unpooled.wrappedBuffer(message);
        if (again.frame(type, buffer, Messages.HEADER, message.length - Messages.HEADER)) {
            backend.write(buffer);
        } else {
            buffer.release();
        }
    }
}
