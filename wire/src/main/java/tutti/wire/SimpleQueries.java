package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.CommitSequence.Form;

/** A client's simple queries: passed on, or dealt with by the part of the session that they concern. On its event loop. */
final class SimpleQueries {
    /** As drivers write it; the engine refuses none of these. */
    private static final Set<String> BEGINS = Set.of("BEGIN", "BEGIN READ ONLY",
            "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ");

    private final Session session;
    private final ClientSql sql;
    private final StatementRules rules;
    private final DeferredMessages deferred;
    private final ActiveRequests active;
    private final InBandCapture inBand;
    private final ClusterQuestions questions;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientCycle cycle;
    private final Function<String, NameChange> forgetting;

    SimpleQueries(Session session, ClientSql sql, StatementRules rules, DeferredMessages deferred,
            ActiveRequests active, InBandCapture inBand, Function<String, NameChange> forgetting) {
        this.session = session;
        this.forgetting = forgetting;
        this.sql = sql;
        this.rules = rules;
        this.deferred = deferred;
        this.active = active;
        this.inBand = inBand;
        this.questions = session.questions();
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.cycle = session.cycle();
    }

    /** What a DEALLOCATE or DISCARD does to prepared statements, once the engine has done so. */
    NameChange forgetting(String text) {
        return forgetting.apply(text);
    }

    /** A simple query. Returns whether it is passed on as it comes. */
    boolean query(ByteBuf buffer, int start, int bodyLength) {
        cycle.complete();
        sql.read(buffer, start, start + bodyLength);
        Classifier classified = sql.classified();
        ErrorFields unheard = transaction.unheardAbort();
        if (unheard != null) {
            return afterAbort(unheard, classified.single());
        }
        ClusterQuestion question = sql.question();
        if (question != null && !question.isOpen()) {
            if (backend.outsideOfTransaction() && !transaction.isOpen()) {
                questions.answer(question, true);
                return false;
            }
            if (questions.waits(question, Frontend.QUERY, buffer, start, bodyLength)) {
                return false;
            }
            if (questions.answers()) {
                return question(question, buffer, start, bodyLength);
            }
        }
        if (classified.count() <= 1) {
            return run(classified.single(), true, buffer, start, bodyLength);
        }
        boolean plain = plain(classified);
        ErrorFields refusal = backend.transactionFailed() ? null : setByParts(plain);
        if (refusal != null) {
            return refuse(refusal);
        }
        if (!plain) {
            MultiStatementQuery script = new MultiStatementQuery(session, this, sql);
            inBand.executesUnproven();
            cycle.script(script);
            script.begin();
            return false;
        }
        return run(kind(classified), false, buffer, start, bodyLength);
    }

    /** A question that the node has answered, in a transaction. */
    private boolean question(ClusterQuestion question, ByteBuf buffer, int start, int bodyLength) {
        if (deferred.mustWait(StatementKind.READ, true)) {
            return deferred.awaitInBlock(Frontend.QUERY, buffer, start, bodyLength);
        }
        questions.tell(questions.executes(question));
        return pass(SentMessage.QUERY);
    }

    /** A call of a function by its object id: like a query that calls it, of which nothing is known. Returns whether it is passed on as it comes. */
    boolean call(ByteBuf buffer, int start, int bodyLength) {
        cycle.complete();
        ErrorFields unheard = transaction.unheardAbort();
        if (unheard != null) {
            return afterAbort(unheard, StatementKind.WRITE);
        }
        if (backend.transactionFailed()) {
            return pass(SentMessage.FUNCTION_CALL);
        }
        boolean inBlock = backend.inTransaction();
        ErrorFields refusal = callRefusal(inBlock);
        if (refusal != null) {
            return refuse(refusal);
        }
        if (deferred.mustWait(StatementKind.WRITE, inBlock)) {
            return deferred.awaitInBlock(Frontend.FUNCTION_CALL, buffer, start, bodyLength);
        }
        rules.reads(null);
        questions.looks();
        writes(StatementKind.WRITE);
        inBand.calls(bodyLength < Integer.BYTES ? 0 : buffer.getInt(start));
        if (inBlock) {
            session.loads().begins();
        }
        if (inBlock || transaction.implicit()) {
            return pass(SentMessage.FUNCTION_CALL);
        }
        session.beginImplicit(false);
        backend.forward(buffer.retainedSlice(start - Messages.HEADER, bodyLength + Messages.HEADER),
                SentMessage.FUNCTION_CALL);
        session.commit().begin(Form.IMPLICIT, false, false);
        return false;
    }

    private @Nullable ErrorFields callRefusal(boolean inBlock) {
        ErrorFields refusal = active.callRefusal();
        if (refusal == null) {
            refusal = rules.outside((StatementAccess.Bound) null);
        }
        if (refusal == null) {
            refusal = rules.writeRefusal();
        }
        if (refusal == null && !inBlock && deferred.mustWait(StatementKind.WRITE, false)) {
            refusal = Errors.notSupported(
                    "under this cluster's protocol the function call protocol is used in transaction blocks only")
                    .with('H', "BEGIN first, or call the function by SELECT.");
        }
        return refusal;
    }

    /** Whether several statements can be sent as they are. */
    private boolean plain(Classifier classified) {
        for (int i = 0; i < classified.count(); i++) {
            StatementKind kind = classified.kind(i);
            if (backend.transactionFailed()
                    ? kind.controlsTransaction()
                    : kind != StatementKind.READ && kind != StatementKind.SESSION && !kind.mayWrite()) {
                return false;
            }
        }
        return true;
    }

    /** What several statements are together. */
    private StatementKind kind(Classifier classified) {
        StatementKind all = StatementKind.READ;
        for (int i = 0; i < classified.count(); i++) {
            StatementKind kind = classified.kind(i);
            if (kind == StatementKind.COPY_IN) {
                return kind;
            }
            all = kind.mayWrite() && !backend.transactionFailed() ? StatementKind.WRITE : all;
        }
        return all;
    }

    private boolean run(StatementKind kind, boolean single, ByteBuf buffer, int start, int bodyLength) {
        if (backend.outsideOfTransaction() && !transaction.implicit()
                && active.query(kind, buffer, start, bodyLength, message -> deferred.awaitQuery(kind, message))) {
            return false;
        }
        if (deferred.mustWait(kind, backend.inTransaction())) {
            ErrorFields refusal = rules.writeRefusal();
            if (refusal != null) {
                return refuse(refusal);
            }
            return backend.inTransaction()
                    ? deferred.awaitInBlock(Frontend.QUERY, buffer, start, bodyLength)
                    : deferred.awaitQuery(kind, buffer, start, bodyLength);
        }
        if (kind == StatementKind.COPY_IN && !backend.inTransaction() && !transaction.isOpen()
                && session.loads().mustWait()) {
            return deferred.awaitLoad(buffer, start, bodyLength);
        }
        questions.executes(kind, kind == StatementKind.SESSION ? sql.text() : "");
        if (single) {
            return single(kind, buffer, start, bodyLength);
        }
        inBand.executesUnproven();
        return plain(kind, null, buffer, start, bodyLength);
    }

    /** A query of several statements may set the node's variables for itself. Returns why that is refused, or null. */
    private @Nullable ErrorFields setByParts(boolean plain) {
        for (int i = 0; i < sql.classified().count(); i++) {
            if (sql.classified().kind(i) == StatementKind.SESSION) {
                if (backend.inTransaction()) {
                    rules.lasts(sql.statement(i));
                }
                ErrorFields refusal = session.readLevel().part(sql.statement(i));
                if (refusal == null) {
                    refusal = session.modes().part(sql.statement(i),
                            i == 0 && plain && backend.outsideOfTransaction());
                }
                if (refusal != null) {
                    return refusal;
                }
            }
        }
        return null;
    }

    private boolean single(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        if (backend.transactionFailed()) {
            return pass(SentMessage.QUERY);
        }
        if (kind == StatementKind.SESSION || kind == StatementKind.FORGET) {
            ErrorFields refusal = rules.set(sql.text(), backend.inTransaction());
            if (refusal != null) {
                return refuse(refusal);
            }
        }
        if (kind.isSentAgain() && !sql.canBeSentOn()) {
            return refuse(Errors.notSupported(TextSettings.NOT_UTF8));
        }
        return switch (kind) {
            case READ, EMPTY -> plain(kind, null, buffer, start, bodyLength);
            case WRITE -> plain(kind, inBand.of(sql), buffer, start, bodyLength);
            case COPY_IN -> {
                inBand.executesUnproven();
                yield plain(kind, null, buffer, start, bodyLength);
            }
            case SESSION -> {
                inBand.session(sql.text());
                yield plain(kind, null, buffer, start, bodyLength);
            }
            case SCHEMA -> {
                UtilityStatement statement = sql.utility();
                if (backend.outsideOfTransaction() && rules.runsOnce(statement)) {
                    MultiStatementQuery script = new MultiStatementQuery(session, this, sql);
                    inBand.executesUnproven();
                    cycle.script(script);
                    script.oneByOne();
                    yield false;
                }
                inBand.executesUnproven();
                ErrorFields refusal = backend.outsideOfTransaction() ? null : rules.schemaRefusal(statement, true);
                if (refusal != null) {
                    yield refuse(refusal);
                }
                if (backend.outsideOfTransaction()) {
                    everywhere(statement, null);
                } else {
                    session.schema().change(statement, Messages.copyToSend(buffer, start, bodyLength),
                            SentMessage.QUERY);
                }
                yield false;
            }
            case COMMIT, COMMIT_CHAIN -> {
                if (!backend.inTransaction()
                        || (!transaction.work().mayHaveChanged() && session.repetition().proven())) {
                    yield pass(SentMessage.QUERY);
                }
                session.commit().begin(Form.SIMPLE, kind == StatementKind.COMMIT_CHAIN, false);
                yield false;
            }
            case NOTIFY -> {
                inBand.executesUnproven();
                notification();
                yield false;
            }
            case PREPARE -> {
                if (!backend.inTransaction()) {
                    yield pass(SentMessage.QUERY);
                }
                prepare();
                yield false;
            }
            case FINISH -> {
                PreparedTransaction prepared = sql.prepared();
                yield backend.outsideOfTransaction()
                        ? session.ordered().finish(prepared, true)
                        : refuse(insideOfBlock(prepared));
            }
            case DATABASE -> {
                DatabaseStatement database = sql.database(sql.text());
                yield backend.outsideOfTransaction()
                        ? session.ordered().database(database, true)
                        : refuse(insideOfBlock(database));
            }
            case REFUSED -> refuse(Errors.statementRefused(sql.classified().refusal()));
            case BEGIN -> begin(buffer, start + bodyLength);
            case ROLLBACK, ROLLBACK_CHAIN ->
                pass(backend.inTransaction() ? SentMessage.ENDING_QUERY : SentMessage.QUERY);
            case CONSTRAINTS -> {
                if (backend.outsideOfTransaction()) {
                    yield pass(SentMessage.QUERY);
                }
                inBand.executesUnproven();
                session.schema().constraints(sql.text(), true);
                yield false;
            }
            case SAVEPOINT -> {
                inBand.savepoint(sql.text());
                yield pass(SentMessage.QUERY);
            }
            case LOCAL -> {
                inBand.executesUnproven();
                yield pass(SentMessage.QUERY);
            }
            case FORGET -> {
                inBand.executesUnproven();
                backend.changing(forgetting(sql.text()));
                yield pass(SentMessage.FORGETTING_QUERY);
            }
        };
    }

    /**
     * BEGIN. Drivers send it together with the first messages of their transaction. Then it goes to the engine with those, where it needs no
     * round trip of its own, and the client is answered at once.
     *
     * @param end of the query's message
     */
    private boolean begin(ByteBuf buffer, int end) {
        if (!backend.outsideOfTransaction()) {
            return pass(SentMessage.QUERY);
        }
        OpenTransaction begun = transaction.open(OpenTransaction.Extent.BLOCK);
        if (sql.classified().readOnly()) {
            begun.readsOnly();
        }
        byte follows = end < buffer.writerIndex() ? buffer.getByte(end) : 0;
        String text = follows == Frontend.PARSE || follows == Frontend.BIND ? sql.text() : "";
        if (!BEGINS.contains(text) || !backend.inStep()) {
            return pass(SentMessage.QUERY);
        }
        backend.beginWithNext(text);
        session.client().complete("BEGIN");
        session.finishCycle(backend.status());
        return false;
    }

    /**
     * Statements that do not control the transaction, and commit together if they are outside of one.
     *
     * @param proven what is sent in the place of one that may write, so that it tells its rows
     */
    private boolean plain(StatementKind kind, @Nullable InBandStatement proven, ByteBuf buffer, int start,
            int bodyLength) {
        ErrorFields refusal = refusal(kind, buffer, start, bodyLength, backend.inTransaction());
        if (refusal != null) {
            return refuse(refusal);
        }
        boolean refusedByEngine = sql.classified().needsBlock() && backend.outsideOfTransaction();
        if (!kind.mayWrite() || backend.transactionFailed() || refusedByEngine) {
            return pass(SentMessage.QUERY);
        }
        if (sql.classified().truncates() && backend.inTransaction()
                && transaction.work().mayHaveChanged(TransactionActivity.Change.ROWS)) {
            inBand.executesUnproven();
            session.schema().truncate(Messages.copyToSend(buffer, start, bodyLength), SentMessage.QUERY);
            return false;
        }
        writes(kind);
        if (sql.classified().truncates() && backend.inTransaction()) {
            session.loads().begins();
        }
        boolean began = backend.inTransaction() || transaction.implicit();
        if (!began) {
            session.beginImplicit(kind == StatementKind.COPY_IN);
        }
        if (proven == null) {
            inBand.executesUnproven();
        } else {
            inBand.executes(proven);
        }
        if (proven != null && proven.tellsRows()) {
            ByteBuf out = session.client().buffer();
            Frontend.query(out, proven.toString());
            backend.forwardInBand(out, SentMessage.QUERY_IN_BAND, proven);
        } else if (began) {
            return pass(SentMessage.QUERY);
        } else {
            backend.forward(buffer.retainedSlice(start - Messages.HEADER, bodyLength + Messages.HEADER),
                    SentMessage.QUERY);
        }
        if (began) {
            return false;
        }
        if (kind != StatementKind.COPY_IN) {
            session.commit().begin(Form.QUERY, false, false);
        }
        return false;
    }

    /** Why plain statements are refused, or null; what they read is noted. */
    private @Nullable ErrorFields refusal(StatementKind kind, ByteBuf buffer, int start, int bodyLength,
            boolean inTransaction) {
        ErrorFields outside = null;
        if (kind.mayWrite() || inTransaction) {
            if (rules.looksAtTexts()) {
                outside = rules.touches(Messages.queryText(buffer, start, bodyLength));
            } else {
                rules.unnoted();
            }
        }
        return (outside != null || !kind.mayWrite() || backend.transactionFailed()) ? outside : rules.writeRefusal();
    }

    private void writes(StatementKind kind) {
        transaction.work().mayChange(TransactionActivity.Change.ROWS);
        if (kind == StatementKind.COPY_IN) {
            cycle.copyAsked();
            session.loads().begins();
        } else {
            cycle.noCopy();
        }
    }

    private void prepare() {
        ErrorFields refusal = rules.prepareRefusal();
        if (refusal == null) {
            session.commit().prepare(Form.SIMPLE, sql.prepared());
        } else {
            refuse(refusal);
        }
    }

    DatabaseStatement database(String text) {
        return sql.database(text);
    }

    PreparedTransaction prepared(String text) {
        return sql.prepared(text);
    }

    static ErrorFields insideOfBlock(DatabaseStatement database) {
        return Errors.error("25001", database.command() + " cannot run inside a transaction block");
    }

    /** Of a statement about a savepoint, named as PostgreSQL does. */
    static ErrorFields outsideOfBlock(String savepoint) {
        String first = UtilityStatement.fromFirstWord(savepoint).substring(0, 3).toUpperCase(Locale.ROOT);
        String command = first.equals("SAV")
                ? "SAVEPOINT"
                : first.equals("REL") ? "RELEASE SAVEPOINT" : "ROLLBACK TO SAVEPOINT";
        return Errors.error("25P01", command + " can only be used in transaction blocks");
    }

    static ErrorFields insideOfBlock(PreparedTransaction prepared) {
        return Errors.error("25001", prepared.command() + " cannot run inside a transaction block");
    }

    // ------------------------------------------------------------------------------------------ for scripts

    /** One of the statements before a script's PREPARE TRANSACTION. */
    void lasts(String text) {
        rules.lasts(text);
    }

    /** PREPARE TRANSACTION, as a statement of a script. */
    void prepare(byte[] text, int start, int end) {
        sql.read(text, start, end);
        prepare();
    }

    /** Runs a run of plain statements of a script, as a query of its own; the message's ownership passes. */
    void part(StatementKind kind, ByteBuf message, boolean inTransaction) {
        int start = message.readerIndex() + Messages.HEADER;
        inBand.executesUnproven();
        int bodyLength = message.readableBytes() - Messages.HEADER;
        ErrorFields refusal = refusal(kind, message, start, bodyLength, inTransaction);
        if (refusal == null && deferred.mustWait(kind, inTransaction)) {
            refusal = rules.writeRefusal();
            if (refusal == null) {
                deferred.awaitPart(Messages.queryText(message, start, bodyLength), inTransaction,
                        () -> part(kind, message, inTransaction));
                return;
            }
        }
        if (refusal != null) {
            message.release();
            refuse(refusal);
            return;
        }
        if (kind.mayWrite()) {
            writes(kind);
            if (!inTransaction) {
                session.beginImplicit(true);
            }
        }
        questions.executes(kind, new String(Messages.queryText(message, start, bodyLength), StandardCharsets.UTF_8));
        backend.forward(message, SentMessage.QUERY);
    }

    /** NOTIFY, as a statement of a script. */
    void notification(byte[] text, int start, int end) {
        sql.read(text, start, end);
        notification();
    }

    private void notification() {
        ErrorFields refusal = rules.writeRefusal();
        if (refusal == null) {
            session.schema().notification(sql.notification(), true);
        } else {
            refuse(refusal);
        }
    }

    /** One statement of a script. */
    UtilityStatement utility(byte[] text, int start, int end) {
        sql.read(text, start, end);
        return sql.utility();
    }

    /**
     * Has a statement executed by every node; outside of a transaction.
     *
     * @param script the query that it stands for if it is several; null if it is one
     */
    void everywhere(UtilityStatement statement, @Nullable MultiStatementQuery script) {
        ErrorFields refusal = rules.schemaRefusal(statement, false);
        if (refusal == null) {
            session.client().notice(rules.schemaWarning(statement));
            session.ordered().statement(statement, true, script);
        } else {
            refuse(refusal);
        }
    }

    /** Why one of several statements is not executed, or null. */
    @Nullable
    ErrorFields schemaRefusal(UtilityStatement statement) {
        return rules.schemaRefusal(statement, true);
    }

    /** As {@link StatementRules#runsOnce}. */
    boolean runsOnce(UtilityStatement statement) {
        return rules.runsOnce(statement);
    }

    /** The same, of a query that has not been looked at. */
    boolean refuseWhole(ErrorFields fields) {
        cycle.complete();
        return refuse(fields);
    }

    /** Makes the engine answer with an error to a query, and the client see the node's. */
    boolean refuse(ErrorFields fields) {
        backend.refuse(fields, SentMessage.REFUSED_QUERY);
        return false;
    }

    // ------------------------------------------------------------------------------------------ after an abort

    /** The client's first query after its transaction was rolled back without its knowing. */
    private boolean afterAbort(ErrorFields why, StatementKind kind) {
        transaction.abortHeard();
        if (kind.rollsBack()) {
            session.client().hideWarnings(true);
            return pass(SentMessage.QUERY);
        }
        session.error(why);
        if (kind.commits()) {
            session.finishCycle(tutti.pgwire.Backend.IDLE);
        } else {
            session.rollback().failBlock();
        }
        return false;
    }

    private boolean pass(SentMessage as) {
        backend.passed(as);
        return true;
    }
}
