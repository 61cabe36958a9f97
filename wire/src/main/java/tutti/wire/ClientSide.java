package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameSink;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.sql.ReadPlan;

/** Reads what a client sends to its session after start-up, passes it on, and steps in where a statement asks for it. */
final class ClientSide implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(ClientSide.class);
    private static final int HEADER = 5;

    private final Session session;
    private final BackendSide backendSide;
    private final Operations operations;
    private final Classifier classifier;
    private final Turns turns;
    private final Names<Prepared> statements = new Names<>();
    private final Names<Prepared> portals = new Names<>();
    private byte[] scratch = new byte[256];
    /** Whether the messages of the open cycle are in a transaction block, as far as they have been sent. */
    private boolean inBlock;

    ClientSide(Session session, BackendSide backendSide, Classifier classifier) {
        this.session = session;
        this.backendSide = backendSide;
        this.operations = session.operations;
        this.classifier = classifier;
        this.turns = new Turns(session, this, backendSide);
    }

    @Override
    public int wanted(byte type, int bodyLength) {
        if (!Frontend.isType(type) || type == Frontend.PASSWORD) {
            throw new ProtocolViolation("invalid frontend message type " + (type & 0xff));
        }
        boolean copying = type == Frontend.COPY_DATA || type == Frontend.COPY_DONE || type == Frontend.COPY_FAIL;
        if (!copying && session.blocked()) {
            session.clientReader().pause();
        } else if (session.settling && type != Frontend.SYNC) {
            session.waiting = true;
            ByteBuf out = session.buffer();
            Frontend.flush(out);
            session.toEngine(out);
            session.clientReader().pause();
        }
        return bodyLength;
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        switch (type) {
            case Frontend.COPY_DATA, Frontend.COPY_DONE, Frontend.COPY_FAIL -> {
                return session.copyIn || session.copyExpected;
            }
            case Frontend.TERMINATE -> {
                session.client().close();
                return false;
            }
            default -> {
                // below
            }
        }
        if (session.discard) {
            return type == Frontend.SYNC && endOfDiscard();
        }
        if (session.cycle == Session.Cycle.NONE) {
            session.cycle = Session.Cycle.OPEN;
            session.hold();
            inBlock = session.status != Backend.IDLE;
            if (session.branch == null) {
                session.read = null;
            }
        }
        if (turns.recording()) {
            Prepared about = switch (type) {
                case Frontend.PARSE -> prepareAhead(buffer, start, bodyLength);
                case Frontend.BIND -> bound(buffer, start, bodyLength);
                default -> null;
            };
            return turns.record(type, about, buffer, start, bodyLength);
        }
        return switch (type) {
            case Frontend.QUERY -> query(buffer, start, bodyLength);
            case Frontend.PARSE -> parse(buffer, start, bodyLength);
            case Frontend.BIND -> bind(buffer, start, bodyLength);
            case Frontend.EXECUTE -> execute(buffer, start, bodyLength);
            case Frontend.DESCRIBE -> pass(Operations.DESCRIBE);
            case Frontend.CLOSE -> close(buffer, start, bodyLength);
            case Frontend.FLUSH -> true;
            case Frontend.SYNC -> sync();
            default -> {
                session.cycle = Session.Cycle.BUSY;
                yield refuseQuery(Errors.notSupported("the function call protocol, by which large objects are used, is"
                        + " not supported: use SQL functions, and bytea columns instead of large objects"));
            }
        };
    }

    private boolean pass(byte operation) {
        operations.add(operation);
        return true;
    }

    // ------------------------------------------------------------------------------------------ simple queries

    private boolean query(ByteBuf buffer, int start, int bodyLength) {
        session.cycle = Session.Cycle.BUSY;
        int length = text(buffer, start, start + bodyLength);
        classifier.classify(scratch, 0, length, backendSide.standardStrings());
        if (session.pendingAbort != null) {
            return queryAfterAbort(session.pendingAbort);
        }
        int count = classifier.count();
        if (classifier.question() && count == 1 && session.status == Backend.IDLE && session.branch == null) {
            ClusterQuestion question = ClusterQuestion.read(scratch, length);
            if (question != null) {
                session.ask(question, true);
                return false;
            }
        }
        if (count <= 1) {
            return requested(classifier.single(), buffer, start, bodyLength)
                    ? false
                    : mustWait(classifier.single())
                            ? awaitTurn(classifier.single(), buffer, start, bodyLength)
                            : single(buffer, start, bodyLength, length);
        }
        boolean plain = true;
        boolean writes = false;
        boolean copies = false;
        for (int i = 0; i < count; i++) {
            StatementKind kind = classifier.kind(i);
            plain &= kind == StatementKind.READ || kind == StatementKind.SESSION || kind.mayWrite();
            writes |= kind.mayWrite();
            copies |= kind == StatementKind.COPY_IN;
        }
        if (session.status == Backend.FAILED) {
            plain = true;
            for (int i = 0; i < count; i++) {
                plain &= !classifier.kind(i).controlsTransaction();
            }
            writes = false;
        }
        ErrorFields refusal = session.status == Backend.FAILED ? null : setParts(plain);
        if (refusal != null) {
            return refuseQuery(refusal);
        }
        if (!plain) {
            session.script = new Script(session, this, classifier, Arrays.copyOf(scratch, length));
            session.script.next(false);
            return false;
        }
        StatementKind kind = copies ? StatementKind.COPY_IN : writes ? StatementKind.WRITE : StatementKind.READ;
        return requested(kind, buffer, start, bodyLength)
                ? false
                : mustWait(kind)
                        ? awaitTurn(kind, buffer, start, bodyLength)
                        : plain(kind, buffer, start, bodyLength);
    }

    /** Whether a query, a transaction by itself, is executed by every node, or refused because it ought to be. */
    private boolean requested(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        return session.status == Backend.IDLE && !session.implicit
                && turns.everywhere().query(kind, buffer, start, bodyLength);
    }

    /** A query of several statements may set our variables for itself. Returns why that is refused, or null. */
    private @Nullable ErrorFields setParts(boolean plain) {
        for (int i = 0; i < classifier.count(); i++) {
            if (classifier.kind(i) == StatementKind.SESSION) {
                String sql = new String(scratch, classifier.start(i), classifier.end(i) - classifier.start(i),
                        StandardCharsets.UTF_8);
                ErrorFields refusal = session.modes.part(sql, i == 0 && plain && session.status == Backend.IDLE);
                if (refusal != null) {
                    return refusal;
                }
            }
        }
        return null;
    }

    private boolean mustWait(StatementKind kind) {
        return turns.mustWait(kind, session.status == Backend.IN_TRANSACTION);
    }

    private boolean awaitTurn(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        ErrorFields refusal = writeRefusal();
        if (refusal != null) {
            return refuseQuery(refusal);
        }
        return session.status == Backend.IN_TRANSACTION
                ? turns.awaitInBlock(Frontend.QUERY, buffer, start, bodyLength)
                : turns.awaitQuery(kind, buffer, start, bodyLength);
    }

    private boolean single(ByteBuf buffer, int start, int bodyLength, int length) {
        StatementKind kind = classifier.single();
        if (session.status == Backend.FAILED) {
            return pass(Operations.QUERY);
        }
        if (kind == StatementKind.SESSION || kind == StatementKind.FORGET) {
            ErrorFields refusal = turns.set(new String(scratch, 0, length, StandardCharsets.UTF_8),
                    session.status == Backend.IN_TRANSACTION);
            if (refusal != null) {
                return refuseQuery(refusal);
            }
        }
        return switch (kind) {
            case READ, WRITE, COPY_IN, EMPTY, SESSION -> plain(kind, buffer, start, bodyLength);
            case SCHEMA -> {
                Utility statement = utility(scratch, 0, length);
                if (session.status == Backend.IDLE) {
                    barrier(statement, true);
                    yield false;
                }
                if (statement.inBlockRefusal() != null) {
                    yield refuseQuery(Errors.notSupported(statement.inBlockRefusal()));
                }
                session.schemaInBlock(statement,
                        Unpooled.copiedBuffer(buffer.slice(start - HEADER, bodyLength + HEADER)), Operations.QUERY);
                yield false;
            }
            case COMMIT, COMMIT_CHAIN -> {
                if (session.status != Backend.IN_TRANSACTION || !session.wrote) {
                    yield pass(Operations.QUERY);
                }
                session.close(Session.Commit.SIMPLE, kind == StatementKind.COMMIT_CHAIN);
                yield false;
            }
            case REFUSED -> refuseQuery(Errors.notSupported(classifier.refusal()));
            case BEGIN -> {
                if (session.status == Backend.IDLE) {
                    session.openTransaction();
                    session.readOnly = classifier.readOnly();
                }
                yield pass(Operations.QUERY);
            }
            case ROLLBACK ->
                pass(session.status == Backend.IN_TRANSACTION ? Operations.ENDING_QUERY : Operations.QUERY);
            case FORGET -> {
                forget();
                yield pass(Operations.QUERY);
            }
            case CONSTRAINTS -> {
                if (session.status == Backend.IDLE) {
                    yield pass(Operations.QUERY);
                }
                session.constraints(new String(scratch, 0, length, StandardCharsets.UTF_8), true);
                yield false;
            }
            case SAVEPOINT, LOCAL -> pass(Operations.QUERY);
        };
    }

    /** Statements that do not control the transaction, and commit together if they are outside of one. */
    private boolean plain(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        if (kind.mayWrite() || session.status == Backend.IN_TRANSACTION) {
            ErrorFields outside = noteTouched(buffer, start, bodyLength - 1);
            if (outside != null) {
                return refuseQuery(outside);
            }
        }
        if (!kind.mayWrite() || session.status == Backend.FAILED) {
            return pass(Operations.QUERY);
        }
        ErrorFields refusal = writeRefusal();
        if (refusal != null) {
            return refuseQuery(refusal);
        }
        session.wrote = true;
        session.wroteRows = true;
        session.copyExpected = kind == StatementKind.COPY_IN;
        if (session.status == Backend.IN_TRANSACTION || session.implicit) {
            return pass(Operations.QUERY);
        }
        session.beginImplicit(kind == StatementKind.COPY_IN);
        session.toEngine(buffer.retainedSlice(start - HEADER, bodyLength + HEADER));
        operations.add(Operations.QUERY);
        if (kind != StatementKind.COPY_IN) {
            session.close(Session.Commit.IMPLICIT, false);
        }
        return false;
    }

    /** Whether what transactions read is to be noted. */
    private boolean notesReads() {
        return session.services.transactions().needsReads();
    }

    /** Notes what a simple query reads, and tells if it may touch what its transaction has not declared. */
    private @Nullable ErrorFields noteTouched(ByteBuf buffer, int start, int length) {
        if (length == 0 || !(notesReads() || session.declaredPartly)) {
            return null;
        }
        byte[] sql = new byte[length];
        buffer.getBytes(start, sql);
        if (notesReads()) {
            reads(sql).addTo(session.readSet(), ReadPlan.NO_VALUES);
        }
        return turns.outside(sql);
    }

    private ReadPlan reads(byte[] sql) {
        return understood(sql)
                ? session.capture.reads(sql, 0, sql.length, backendSide.standardStrings())
                : ReadPlan.EVERYTHING;
    }

    /** Whether names in it can be told: it is in UTF-8, or nothing but ASCII. */
    boolean understood(byte[] sql) {
        if (backendSide.utf8()) {
            return true;
        }
        for (byte b : sql) {
            if (b < 0) {
                return false;
            }
        }
        return true;
    }

    /** For {@link Script}: one run of plain statements, as a query of its own. */
    void scriptPlain(StatementKind kind, ByteBuf message, boolean inTransaction) {
        if (kind.mayWrite() || inTransaction) {
            ErrorFields outside = noteTouched(message, message.readerIndex() + HEADER,
                    message.readableBytes() - HEADER - 1);
            if (outside != null) {
                message.release();
                refuseQuery(outside);
                return;
            }
        }
        if (turns.mustWait(kind, inTransaction)) {
            ErrorFields refusal = writeRefusal();
            if (refusal != null) {
                message.release();
                refuseQuery(refusal);
                return;
            }
            turns.awaitPart(message, inTransaction, () -> scriptPlain(kind, message, inTransaction));
            return;
        }
        if (kind.mayWrite()) {
            ErrorFields refusal = writeRefusal();
            if (refusal != null) {
                message.release();
                refuseQuery(refusal);
                return;
            }
            session.wrote = true;
            session.wroteRows = true;
            session.copyExpected = kind == StatementKind.COPY_IN;
            if (!inTransaction) {
                session.beginImplicit(true);
            }
        }
        session.toEngine(message);
        operations.add(Operations.QUERY);
    }

    private boolean queryAfterAbort(ErrorFields abort) {
        StatementKind kind = classifier.single();
        session.pendingAbort = null;
        if (kind == StatementKind.ROLLBACK) {
            session.hideWarnings = true;
            return pass(Operations.QUERY);
        }
        session.error(abort);
        if (kind.commits()) {
            session.finishCycle(Backend.IDLE);
        } else {
            session.failBlock();
        }
        return false;
    }

    /** Makes the engine answer with an error to a query, and the client see ours. */
    boolean refuseQuery(ErrorFields fields) {
        session.refusal = fields;
        ByteBuf out = session.buffer();
        session.own.invalidQuery(out, operations, Operations.REFUSED_QUERY);
        session.toEngine(out);
        return false;
    }

    private @Nullable ErrorFields writeRefusal() {
        if (session.wrote || session.modes.now() != Modes.Mode.ACTIVE || session.services.transactions().wholeOnly()
                || (!inBlock && session.status == Backend.IDLE && session.script == null)) {
            return unavailable();
        }
        return Errors.error(Errors.READ_ONLY, Modes.VARIABLE
                + " is active, but every node can execute a transaction only if it is handed in whole")
                .with('H',
                        "Send all its statements as one query, without BEGIN and COMMIT, or call a function; or SET LOCAL "
                                + Modes.VARIABLE + " = 'passive'.");
    }

    /** Why nothing can be changed at the moment, unless the transaction has begun to. */
    @Nullable
    ErrorFields unavailable() {
        if (session.wrote) {
            return null;
        }
        String reason = session.services.transactions().refusal();
        return reason == null ? null : Errors.refused(reason);
    }

    /** A statement that has just been classified, on its own. */
    private Utility utility(byte[] sql, int start, int end) {
        String text = new String(sql, start, end - start, StandardCharsets.UTF_8);
        String target = classifier.targetEnd() == 0
                ? null
                : new String(sql, classifier.targetStart(), classifier.targetEnd() - classifier.targetStart(),
                        StandardCharsets.UTF_8);
        return new Utility(text, target, classifier.inBlockRefusal());
    }

    /** For {@link Script}: one of its statements. */
    Utility scriptUtility(byte[] sql, int start, int end) {
        classifier.classify(sql, start, end, backendSide.standardStrings());
        return utility(sql, start, end);
    }

    /** One statement, or several, for all replicas; outside of a transaction. */
    void barrier(Utility sql, boolean simple) {
        ErrorFields refusal = unavailable();
        if (refusal == null) {
            session.barrier(sql, simple);
        } else if (simple) {
            refuseQuery(refusal);
        } else {
            refuseExecute(refusal);
        }
    }

    void forget() {
        session.prepared = false;
    }

    private int text(ByteBuf buffer, int start, int end) {
        int zero = buffer.indexOf(start, end, (byte) 0);
        if (zero < 0) {
            throw new ProtocolViolation("a string in a message has no end");
        }
        int length = zero - start;
        if (scratch.length < length) {
            scratch = new byte[Math.max(length, Math.min(scratch.length * 2, 1 << 16))];
        }
        buffer.getBytes(start, scratch, 0, length);
        return length;
    }

    // ------------------------------------------------------------------------------------------ extended protocol

    private static int end(ByteBuf buffer, int start, int limit) {
        int zero = buffer.indexOf(start, limit, (byte) 0);
        if (zero < 0) {
            throw new ProtocolViolation("a name in a message has no end");
        }
        return zero;
    }

    private boolean parse(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = prepare(buffer, start, bodyLength);
        if (inBlock && turns.mustWait(prepared.kind(), true)) {
            ErrorFields refusal = writeRefusal();
            return refusal != null
                    ? refuseExecute(refusal)
                    : turns.awaitInBlock(Frontend.PARSE, buffer, start, bodyLength);
        }
        int nameEnd = end(buffer, start, start + bodyLength);
        if (!statements.put(buffer, start, nameEnd, prepared)) {
            return refuseExecute(tooMany("prepared statements"));
        }
        if (classifier.question() && nameEnd == start && !inBlock && session.branch == null
                && session.refusal == null) {
            ClusterQuestion question = ClusterQuestion.read(scratch, text(buffer, nameEnd + 1, start + bodyLength));
            if (question != null) {
                statements.put(buffer, start, nameEnd, Prepared.of(StatementKind.READ));
                session.ask(question, false);
                return false;
            }
        }
        return pass(Operations.PARSE);
    }

    /** What a Parse message prepares that is sent later. */
    private Prepared prepareAhead(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = prepare(buffer, start, bodyLength);
        statements.put(buffer, start, end(buffer, start, start + bodyLength), prepared);
        return prepared;
    }

    /** What a Parse message prepares. */
    private Prepared prepare(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int nameEnd = end(buffer, start, limit);
        int length = text(buffer, nameEnd + 1, limit);
        classifier.classify(scratch, 0, length, backendSide.standardStrings());
        StatementKind kind = classifier.count() > 1 ? StatementKind.WRITE : classifier.single();
        return switch (kind) {
            case SCHEMA, CONSTRAINTS -> new Prepared(kind, utility(scratch, 0, length), null);
            case REFUSED -> new Prepared(kind, null, classifier.refusal());
            case SESSION, FORGET -> new Prepared(kind,
                    new Utility(new String(scratch, 0, length, StandardCharsets.UTF_8), null, null), null);
            case BEGIN -> classifier.readOnly() ? Prepared.BEGIN_READ_ONLY : Prepared.of(kind);
            case READ, WRITE, COPY_IN -> {
                byte[] sql = Arrays.copyOf(scratch, length);
                boolean texts = nameEnd > start || notesReads() || session.services.transactions().needsClasses()
                        || turns.everywhere().possible();
                yield texts && understood(sql)
                        ? Prepared.of(kind).with(new Reading(session.capture, sql, backendSide.standardStrings(),
                                Reading.types(buffer, nameEnd + 1 + length + 1, limit)))
                        : Prepared.of(kind);
            }
            default -> Prepared.of(kind);
        };
    }

    /** The statement that a Bind message names; one that may do anything if it is not known. */
    private Prepared bound(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int portalEnd = end(buffer, start, limit);
        Prepared prepared = statements.get(buffer, portalEnd + 1, end(buffer, portalEnd + 1, limit));
        return prepared == null ? Prepared.of(StatementKind.WRITE) : prepared;
    }

    private static ErrorFields tooMany(String what) {
        return Errors.error("53400", "the session has more than " + Names.LIMIT + " named " + what + ": close some");
    }

    private boolean bind(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int portalEnd = end(buffer, start, limit);
        Prepared prepared = bound(buffer, start, bodyLength);
        if (!inBlock && !session.placed && session.status == Backend.IDLE && session.pendingAbort == null
                && turns.everywhere().mayBe(prepared)) {
            return turns.record(prepared, buffer, start, bodyLength);
        }
        if (turns.mustWait(prepared.kind(), inBlock)) {
            ErrorFields refusal = writeRefusal();
            if (refusal != null) {
                return refuseExecute(refusal);
            }
            return inBlock
                    ? turns.awaitInBlock(Frontend.BIND, buffer, start, bodyLength)
                    : turns.record(prepared, buffer, start, bodyLength);
        }
        Reading reading = prepared.reading();
        if (reading != null && (notesReads() || session.declaredPartly)) {
            prepared = prepared.with(reading.bind(buffer, end(buffer, portalEnd + 1, limit) + 1, limit));
        }
        if (!portals.put(buffer, start, portalEnd, prepared)) {
            return refuseExecute(tooMany("portals"));
        }
        return pass(Operations.BIND);
    }

    private boolean close(ByteBuf buffer, int start, int bodyLength) {
        if (bodyLength < 2) {
            throw new ProtocolViolation("Close of " + bodyLength + " bytes");
        }
        Names<Prepared> names = buffer.getByte(start) == 'S' ? statements : portals;
        names.remove(buffer, start + 1, end(buffer, start + 1, start + bodyLength));
        return pass(Operations.CLOSE);
    }

    private boolean execute(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = portals.get(buffer, start, end(buffer, start, start + bodyLength));
        StatementKind kind = prepared == null ? StatementKind.WRITE : prepared.kind();
        if (session.status == Backend.FAILED && !session.settling) {
            return pass(kind == StatementKind.ROLLBACK || kind.commits() ? Operations.ENDING : Operations.EXECUTE);
        }
        if (session.pendingAbort != null) {
            return executeAfterAbort(session.pendingAbort, kind);
        }
        boolean inTransaction = inBlock || session.implicit;
        boolean first = session.executed++ == 0;
        if (notesReads() && (kind.mayWrite() || kind == StatementKind.READ)) {
            Reading.Bound reads = prepared == null ? null : prepared.reads();
            if (reads != null) {
                reads.addTo(session.readSet());
            } else {
                ReadPlan.EVERYTHING.addTo(session.readSet(), ReadPlan.NO_VALUES);
            }
        }
        if (inBlock && (kind.mayWrite() || kind == StatementKind.READ)) {
            ErrorFields outside = turns.outside(prepared == null ? null : prepared.reads());
            if (outside != null) {
                return refuseExecute(outside);
            }
        }
        switch (kind) {
            case WRITE, COPY_IN -> {
                ErrorFields refusal = writeRefusal();
                if (refusal != null) {
                    return refuseExecute(refusal);
                }
                session.wrote = true;
                session.wroteRows = true;
                session.copyExpected |= kind == StatementKind.COPY_IN;
                if (!inTransaction) {
                    session.beginImplicit(false);
                }
                return pass(Operations.EXECUTE);
            }
            case BEGIN -> {
                session.hideWarnings = session.implicit;
                session.implicit = false;
                session.openTransaction();
                session.readOnly = Prepared.BEGIN_READ_ONLY.equals(prepared) && !session.handedIn;
                inBlock = true;
                return pass(Operations.EXECUTE);
            }
            case ROLLBACK -> {
                return ending(inTransaction);
            }
            case COMMIT, COMMIT_CHAIN -> {
                if (!inTransaction || (first && !session.wrote)) {
                    return ending(inTransaction);
                }
                inBlock = kind == StatementKind.COMMIT_CHAIN;
                session.waiting = true;
                session.close(Session.Commit.EXTENDED, kind == StatementKind.COMMIT_CHAIN);
                return false;
            }
            case SCHEMA -> {
                Utility statement = statement(prepared);
                if (inTransaction && statement.inBlockRefusal() != null) {
                    return refuseExecute(Errors.notSupported(statement.inBlockRefusal()));
                }
                if (inTransaction) {
                    session.schemaInBlock(statement,
                            Unpooled.copiedBuffer(buffer.slice(start - HEADER, bodyLength + HEADER)),
                            Operations.EXECUTE);
                    return false;
                }
                barrier(statement, false);
                return false;
            }
            case CONSTRAINTS -> {
                if (!inTransaction) {
                    return pass(Operations.EXECUTE);
                }
                session.constraints(statement(prepared).sql(), false);
                return false;
            }
            case REFUSED -> {
                String reason = prepared == null ? null : prepared.refusal();
                return refuseExecute(Errors.notSupported(reason == null ? "not supported" : reason));
            }
            case SESSION, FORGET -> {
                Utility text = prepared == null ? null : prepared.utility();
                ErrorFields refusal = text == null ? null : turns.set(text.sql(), inTransaction);
                if (refusal != null) {
                    return refuseExecute(refusal);
                }
                if (kind == StatementKind.FORGET) {
                    forget();
                }
                return pass(Operations.EXECUTE);
            }
            case EMPTY, READ, SAVEPOINT, LOCAL -> {
                return pass(Operations.EXECUTE);
            }
        }
        return true;
    }

    private static Utility statement(@Nullable Prepared prepared) {
        Utility utility = prepared == null ? null : prepared.utility();
        return java.util.Objects.requireNonNull(utility, "kept with the statement of its kind");
    }

    private boolean ending(boolean inTransaction) {
        if (!inTransaction) {
            return pass(Operations.EXECUTE);
        }
        session.implicit = false;
        inBlock = false;
        session.settling = true;
        return pass(Operations.ENDING);
    }

    private boolean executeAfterAbort(ErrorFields abort, StatementKind kind) {
        session.pendingAbort = null;
        if (kind == StatementKind.ROLLBACK) {
            session.hideWarnings = true;
            inBlock = false;
            return pass(Operations.EXECUTE);
        }
        if (!kind.commits()) {
            session.openFailing();
        }
        return refuseExecute(abort);
    }

    /** Makes the engine answer with an error to an extended-protocol message, and the client see ours. */
    private boolean refuseExecute(ErrorFields fields) {
        if (session.refusal == null) {
            session.refusal = fields;
            ByteBuf out = session.buffer();
            session.own.invalidParse(out, operations, Operations.REFUSED_PARSE);
            session.toEngine(out);
        }
        return false;
    }

    private boolean sync() {
        session.cycle = Session.Cycle.BUSY;
        if (session.implicit && !session.copyExpected) {
            session.close(Session.Commit.IMPLICIT, false);
            return false;
        }
        return pass(Operations.SYNC);
    }

    private boolean endOfDiscard() {
        session.discard = false;
        session.cycle = Session.Cycle.BUSY;
        if (session.failAtSync) {
            session.failAtSync = false;
            session.failBlock();
            return false;
        }
        return pass(Operations.SYNC);
    }

    // ------------------------------------------------------------------------------------------ channel

    @Override
    public void run(ByteBuf bytes) {
        session.engine().write(bytes, session.engine().voidPromise());
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
        ByteBuf out = session.buffer();
        Backend.errorResponse(out, Errors.fatal(ProtocolViolation.SQL_STATE, String.valueOf(violation.getMessage())));
        session.held.drop();
        session.client().writeAndFlush(out).addListener(io.netty.channel.ChannelFutureListener.CLOSE);
    }

    @Override
    public void failed(Throwable cause) {
        if (cause instanceof java.io.IOException) {
            LOG.debug("a client's connection failed", cause);
        } else if (session.client().isActive()) {
            LOG.error("a session fails and is closed", cause);
        }
        session.client().close();
    }

    @Override
    public void inactive() {
        session.clientClosed();
    }
}
