package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.CommitSequence.Form;
import tutti.wire.sql.Deallocated;

/**
 * A client's messages of the extended protocol: passed on, or dealt with by the part of the session that they concern. Knows what
 * has been prepared and bound under which name. On the session's event loop.
 */
final class ExtendedMessages {
    private final Session session;
    private final ClientSql sql;
    private final TextSettings texts;
    private final StatementRules rules;
    private final DeferredMessages deferred;
    private final ActiveRequests active;
    private final InBandCapture inBand;
    private final InBandMessages inBandMessages;
    private final ParsedStatements parsed;
    private final ClusterQuestions questions;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientCycle cycle;
    private final NamedObjects<Prepared> statements;
    private final NamedObjects<Prepared> portals;
    private @Nullable Prepared boundLast;
    /** As which a COMMIT was bound last. */
    private String commitPortal = "";

    ExtendedMessages(Session session, ClientSql sql, TextSettings texts, StatementRules rules,
            DeferredMessages deferred, ActiveRequests active, InBandCapture inBand) {
        this.session = session;
        this.sql = sql;
        this.texts = texts;
        this.rules = rules;
        this.deferred = deferred;
        this.active = active;
        this.inBand = inBand;
        this.inBandMessages = new InBandMessages(session.client());
        this.parsed = new ParsedStatements(session, sql, texts, rules, active);
        this.questions = session.questions();
        KeptBytes room = new KeptBytes(session.kept());
        this.statements = new NamedObjects<>(room);
        this.portals = new NamedObjects<>(room);
        session.whenClosed(room::close);
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.cycle = session.cycle();
    }

    // ------------------------------------------------------------------------------------------ Parse

    boolean parse(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = parsed.prepare(buffer, start, bodyLength);
        if (prepared.kind() == StatementKind.WRITE && sql.classified().count() == 1) {
            boolean named = buffer.getByte(start) != 0;
            prepared = prepared.with(inBand.parse(sql, named ? Messages.copy(buffer, start, bodyLength) : new byte[0]));
        }
        if (prepared.kind() == StatementKind.COMMIT) {
            prepared = prepared.with(inBand.commit());
        }
        if (questions.waits(prepared.question(), Frontend.PARSE, buffer, start, bodyLength)) {
            return false;
        }
        if (cycle.inBlock() && deferred.mustWait(prepared.kind(), true)) {
            ErrorFields refusal = rules.writeRefusal();
            return refusal != null
                    ? refuse(refusal)
                    : deferred.awaitInBlock(Frontend.PARSE, buffer, start, bodyLength);
        }
        int nameEnd = Messages.end(buffer, start, start + bodyLength);
        Runnable before = statements.before(buffer, start, nameEnd);
        Prepared kept = keep(buffer, start, nameEnd, prepared, bodyLength);
        if (kept == null) {
            return refuse(tooMany("prepared statements"));
        }
        ClusterQuestion question = prepared.question();
        if (question != null && nameEnd == start && questions.answersAtParse(question)) {
            statements.put(buffer, start, nameEnd, Prepared.of(StatementKind.READ), 0);
            questions.answer(question, false);
            return false;
        }
        questions.prepares(prepared.kind());
        InBandParse sent = kept.inBand();
        backend.changing(parsing(before, sent));
        if (sent == null || !sent.tellsRows()) {
            return pass(SentMessage.PARSE);
        }
        backend.forwardInBand(inBandMessages.replaced(buffer, start, nameEnd + 1, sent.statement().text(),
                nameEnd + 1 + sql.length(), start + bodyLength), SentMessage.PARSE_IN_BAND, sent.statement());
        return false;
    }

    private static NameChange parsing(Runnable before, @Nullable InBandParse parse) {
        return new NameChange() {
            @Override
            public void undone() {
                before.run();
            }

            @Override
            public void confirmed() {
                if (parse != null) {
                    parse.confirm();
                }
            }
        };
    }

    /** A statement that tells its rows may have been replaced, or may tell too little by now: it is prepared again. */
    private Prepared parseAgain(Prepared prepared, InBandParse stale, ByteBuf buffer, int start, int end) {
        byte[] message = stale.message();
        InBandParse fresh = inBand.parseAgain(stale);
        Prepared again = prepared.with(fresh);
        Runnable before = statements.before(buffer, start, end);
        // It takes the room of the one before.
        statements.put(buffer, start, end, again, again.bytes(message.length - Messages.HEADER));
        String name = buffer.toString(start, end - start, StandardCharsets.UTF_8);
        if (stale.statement().returning()) {
            // The client knows its rows as they were told: if they would be others now, the engine refuses that, as it would refuse the client's Bind.
            ByteBuf asked = session.client().buffer();
            Frontend.describeStatement(asked, name);
            backend.forward(asked, SentMessage.DESCRIBE_AGAIN);
        }
        backend.batch().close(name).send();
        backend.changing(parsing(before, fresh));
        ByteBuf out = Unpooled.wrappedBuffer(message);
        int text = Messages.HEADER + end - start + 1;
        backend.forward(fresh == null
                ? out
                : inBandMessages.replaced(out, Messages.HEADER, text, fresh.statement().text(),
                        text + fresh.statement().original().length, message.length),
                SentMessage.PARSE_AGAIN);
        return again;
    }

    /** What a Parse message prepares that is sent later. */
    Prepared parseLater(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = parsed.prepare(buffer, start, bodyLength);
        keep(buffer, start, Messages.end(buffer, start, start + bodyLength), prepared, bodyLength);
        return prepared;
    }

    /**
     * Remembers a statement under a name: with its text if there is room for that.
     *
     * @return what is remembered, null if nothing could be
     */
    private @Nullable Prepared keep(ByteBuf buffer, int start, int end, Prepared prepared, int bytes) {
        if (statements.put(buffer, start, end, prepared, prepared.bytes(bytes))) {
            return prepared;
        }
        Prepared less = Prepared.of(prepared.kind());
        return prepared.needsNoText() && statements.put(buffer, start, end, less, 0) ? less : null;
    }

    private static ErrorFields tooMany(String what) {
        return Errors.error("53400", "the session has more than " + NamedObjects.LIMIT + " named " + what
                + ", or they take too much memory: close some");
    }

    // ------------------------------------------------------------------------------------------ Bind, Close

    /** A simple query ends the unnamed statement. */
    void forgetUnnamed() {
        statements.forgetUnnamed();
    }

    /** The engine may still have an unnamed statement that the client has not: not all of its simple queries are simple queries there. */
    private void closeUnlessNamed(ByteBuf buffer, int start, int end) {
        if (start == end && statements.get(buffer, start, end) == null) {
            backend.batch().close("").send();
        }
    }

    /** The statement that a Bind message names; one that may do anything if it is not known. */
    Prepared bound(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int portalEnd = Messages.end(buffer, start, limit);
        int end = Messages.end(buffer, portalEnd + 1, limit);
        Prepared prepared = statements.get(buffer, portalEnd + 1, end);
        if (prepared == null) {
            return Prepared.of(StatementKind.WRITE);
        }
        return prepared.needsBlock() && !cycle.inBlock() && !cycle.inImplicitBlock()
                ? prepared.outsideOfBlock()
                : rules.now(prepared, end == portalEnd + 1);
    }

    boolean bind(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = bound(buffer, start, bodyLength);
        ClusterQuestion question = ClusterQuestions.bound(prepared, buffer, start, start + bodyLength);
        if (questions.waits(question, Frontend.BIND, buffer, start, bodyLength)) {
            return false;
        }
        if (!cycle.inBlock() && !cycle.staysHere() && backend.outsideOfTransaction()
                && transaction.unheardAbort() == null) {
            ErrorFields refusal = deferred.sets(prepared) ? session.modes().part(utility(prepared).sql(), true) : null;
            if (refusal != null) {
                return refuse(refusal);
            }
            if (deferred.sets(prepared) || active.mayBe(prepared)) {
                return deferred.record(prepared, buffer, start, bodyLength);
            }
        }
        if (deferred.mustWait(prepared.kind(), cycle.inBlock())) {
            ErrorFields refusal = rules.writeRefusal();
            if (refusal != null) {
                return refuse(refusal);
            }
            return cycle.inBlock()
                    ? deferred.awaitInBlock(Frontend.BIND, buffer, start, bodyLength)
                    : deferred.record(prepared, buffer, start, bodyLength);
        }
        int limit = start + bodyLength;
        int portalEnd = Messages.end(buffer, start, limit);
        InBandParse stale = prepared.inBand();
        if (stale != null && stale.message().length > 0 && inBand.stale(stale)
                && !backend.transactionFailed()) {
            if (!texts.isNow(prepared.reading())) {
                return refuse(readOtherwise());
            }
            prepared = parseAgain(prepared, stale, buffer, portalEnd + 1, Messages.end(buffer, portalEnd + 1, limit));
        }
        closeUnlessNamed(buffer, portalEnd + 1, Messages.end(buffer, portalEnd + 1, limit));
        Runnable before = start == portalEnd ? null : portals.before(buffer, start, portalEnd);
        prepared = questions.binds(prepared, question);
        StatementAccess access = prepared.access();
        if (access != null && prepared.kind() != StatementKind.SESSION && rules.looksAtTexts()) {
            prepared = prepared.with(access.bind(buffer, Messages.end(buffer, portalEnd + 1, limit) + 1, limit));
        }
        Prepared portal = prepared.bound() == null ? prepared : prepared.with((StatementAccess.Bound) null);
        if (prepared.bound() != null && portals.put(buffer, start, portalEnd, prepared, bodyLength)) {
            portal = prepared;
        } else if (!portals.put(buffer, start, portalEnd, portal, 0)) {
            return refuse(tooMany("portals"));
        }
        prepared = portal;
        if (before != null) {
            backend.changing(before::run);
        }
        boundLast = prepared.kind() == StatementKind.COMMIT && !withoutParameters(buffer, portalEnd + 1, limit)
                ? null
                : prepared;
        if (prepared.kind() == StatementKind.COMMIT) {
            commitPortal = name(buffer, start);
        }
        InBandParse sent = prepared.inBand();
        if (prepared.kind().mayWrite() && (sent == null || !sent.statement().proven())) {
            inBand.executesUnproven(); // to plan it the engine may call functions that it names, whether it is executed or not
        }
        if (sent == null || !sent.tellsRows()) {
            return pass(SentMessage.BIND);
        }
        ByteBuf told = inBandMessages.bind(sent.statement(), buffer, start, limit);
        if (told == null) {
            return pass(SentMessage.BIND);
        }
        backend.forward(told, SentMessage.BIND_IN_BAND);
        return false;
    }

    private static String name(ByteBuf buffer, int start) {
        return buffer.toString(start, Messages.end(buffer, start, buffer.writerIndex()) - start,
                StandardCharsets.UTF_8);
    }

    /** Whether a Bind, whose statement's name begins here, has no parameters. */
    private static boolean withoutParameters(ByteBuf buffer, int start, int limit) {
        int at = Messages.end(buffer, start, limit) + 1;
        return limit - at >= 2 * Short.BYTES && buffer.getInt(at) == 0;
    }

    boolean describe(ByteBuf buffer, int start, int bodyLength) {
        if (bodyLength < 2) {
            throw new ProtocolViolation("Describe of " + bodyLength + " bytes");
        }
        NamedObjects<Prepared> names = buffer.getByte(start) == 'S' ? statements : portals;
        int end = Messages.end(buffer, start + 1, start + bodyLength);
        if (buffer.getByte(start) == 'S') {
            closeUnlessNamed(buffer, start + 1, end);
        }
        Prepared described = names.get(buffer, start + 1, end);
        InBandParse sent = described == null ? null : described.inBand();
        return pass(sent != null && sent.tellsRows() ? SentMessage.DESCRIBE_IN_BAND : SentMessage.DESCRIBE);
    }

    boolean close(ByteBuf buffer, int start, int bodyLength) {
        if (bodyLength < 2) {
            throw new ProtocolViolation("Close of " + bodyLength + " bytes");
        }
        NamedObjects<Prepared> names = buffer.getByte(start) == 'S' ? statements : portals;
        int end = Messages.end(buffer, start + 1, start + bodyLength);
        Runnable before = names.before(buffer, start + 1, end);
        names.remove(buffer, start + 1, end);
        backend.changing(before::run);
        return pass(SentMessage.CLOSE);
    }

    /** What DEALLOCATE or DISCARD does to prepared statements, once the engine has done so. */
    NameChange forgetting(String text) {
        Deallocated names = Deallocated.by(text);
        long now = statements.now();
        return names == null ? NameChange.NONE : new NameChange() {
            @Override
            public void undone() {
                // they are still there
            }

            @Override
            public void confirmed() {
                statements.forget(names.name(), now);
            }
        };
    }

    /** A transaction has ended, or what ends it has been sent: that closes all portals. */
    void portalsAreClosed() {
        portals.forget(null, portals.now());
        portals.forgetUnnamed();
    }

    // ------------------------------------------------------------------------------------------ Execute

    boolean execute(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = portals.get(buffer, start, Messages.end(buffer, start, start + bodyLength));
        StatementKind kind = prepared == null ? StatementKind.WRITE : prepared.kind();
        if (backend.transactionFailed()) {
            return kind.ends() ? end(kind) : pass(SentMessage.EXECUTE);
        }
        ErrorFields unheard = transaction.unheardAbort();
        if (unheard != null) {
            return afterAbort(unheard, kind);
        }
        boolean inTransaction = cycle.inBlock() || transaction.implicit();
        if (prepared != null && kind.isSentAgain() && !texts.isNow(prepared.reading())) {
            return refuse(readOtherwise());
        }
        if (prepared != null && prepared.isDone()) {
            return refuse(Errors.error("55000", "portal \"" + name(buffer, start) + "\" cannot be run"));
        }
        boolean first = cycle.executesFirst(kind.controlsTransaction());
        questions.executes(kind, kind == StatementKind.SESSION ? utility(prepared).sql() : "");
        if ((kind.mayWrite() || kind == StatementKind.READ) && (prepared == null || prepared.question() == null)) {
            rules.reads(prepared == null ? null : prepared.bound());
            ErrorFields outside = cycle.inBlock() ? rules.outside(prepared == null ? null : prepared.bound()) : null;
            if (outside != null) {
                return refuse(outside);
            }
        }
        return switch (kind) {
            case WRITE, COPY_IN -> write(kind, prepared, inTransaction, buffer, start, bodyLength);
            case BEGIN -> begin(Prepared.BEGIN_READ_ONLY.equals(prepared));
            case ROLLBACK, ROLLBACK_CHAIN -> inTransaction ? end(kind) : pass(SentMessage.EXECUTE);
            case COMMIT, COMMIT_CHAIN -> commit(prepared, kind, inTransaction, first, buffer, start);
            case SCHEMA -> schema(prepared, inTransaction, buffer, start, bodyLength);
            case CONSTRAINTS -> {
                if (!inTransaction) {
                    session.beginImplicit(false);
                    if (first) {
                        cycle.warns(SentMessage.EXECUTE, Errors.CONSTRAINTS_OUTSIDE);
                    }
                }
                inBand.executesUnproven();
                done(prepared, buffer, start);
                session.schema().constraints(utility(prepared).sql(), false);
                yield false;
            }
            case NOTIFY -> {
                ErrorFields refusal = rules.writeRefusal();
                if (refusal != null) {
                    yield refuse(refusal);
                }
                inBand.executesUnproven();
                done(prepared, buffer, start);
                session.schema().notification(utility(prepared).sql(), false);
                yield false;
            }
            case PREPARE -> prepare(utility(prepared).sql(), inTransaction);
            case FINISH -> {
                PreparedTransaction finished = sql.prepared(utility(prepared).sql());
                if (inTransaction || !first) {
                    yield refuse(SimpleQueries.insideOfBlock(finished));
                }
                done(prepared, buffer, start);
                yield session.ordered().finish(finished, false);
            }
            case DATABASE -> {
                DatabaseStatement database = sql.database(utility(prepared).sql());
                if (inTransaction || !first) {
                    yield refuse(SimpleQueries.insideOfBlock(database));
                }
                done(prepared, buffer, start);
                yield session.ordered().database(database, false);
            }
            case REFUSED -> {
                String reason = prepared == null ? null : prepared.refusal();
                yield refuse(Errors.statementRefused(reason == null ? "not supported" : reason));
            }
            case SESSION, FORGET -> {
                ErrorFields refusal = rules.set(utility(prepared).sql(), inTransaction);
                if (refusal != null) {
                    yield refuse(refusal);
                }
                inBand.session(utility(prepared).sql());
                if (kind == StatementKind.SESSION) {
                    yield pass(SentMessage.EXECUTE);
                }
                backend.changing(forgetting(utility(prepared).sql()));
                yield pass(SentMessage.FORGETTING_EXECUTE);
            }
            case SAVEPOINT -> {
                if (transaction.implicit()) {
                    yield refuse(SimpleQueries.outsideOfBlock(utility(prepared).sql()));
                }
                inBand.savepoint(utility(prepared).sql());
                yield pass(SentMessage.EXECUTE);
            }
            case LOCAL -> {
                inBand.executesUnproven();
                yield pass(SentMessage.EXECUTE);
            }
            case READ -> {
                texts.mayChange();
                questions.tell(prepared);
                yield pass(SentMessage.EXECUTE);
            }
            case EMPTY -> pass(SentMessage.EXECUTE);
        };
    }

    /** Of a statement that the node would have to send once more. Drivers prepare it again. */
    private static ErrorFields readOtherwise() {
        return Errors.error("26000",
                "client_encoding or standard_conforming_strings may be others than when the statement was prepared, and its text would mean something else")
                .with('H', "Prepare it again.");
    }

    private static UtilityStatement utility(@Nullable Prepared prepared) {
        UtilityStatement utility = prepared == null ? null : prepared.utility();
        return Objects.requireNonNull(utility, "kept with the statement of its kind");
    }

    /** A portal is run, which can be done once. Returns what undoes that. */
    private Runnable done(@Nullable Prepared portal, ByteBuf buffer, int start) {
        int end = Messages.end(buffer, start, buffer.writerIndex());
        Runnable before = portals.before(buffer, start, end);
        if (portal != null) {
            portals.replace(buffer, start, end, portal.done());
        }
        return before;
    }

    private boolean write(StatementKind kind, @Nullable Prepared prepared, boolean inTransaction, ByteBuf buffer,
            int start, int bodyLength) {
        InBandParse sent = prepared == null ? null : prepared.inBand();
        boolean truncates = prepared != null && prepared.utility() != null;
        ErrorFields refusal = rules.writeRefusal();
        if (refusal != null) {
            return refuse(refusal);
        }
        if (truncates && inTransaction && transaction.work().mayHaveChanged(TransactionActivity.Change.ROWS)) {
            inBand.executesUnproven();
            session.schema().truncate(Messages.copyToSend(buffer, start, bodyLength), SentMessage.EXECUTE);
            return false;
        }
        transaction.work().mayChange(TransactionActivity.Change.ROWS);
        if (kind == StatementKind.COPY_IN) {
            cycle.copyAsked();
            session.loads().begins();
        }
        if (!inTransaction) {
            session.beginImplicit(false);
        }
        inBand.executes(sent);
        if (sent == null || !sent.tellsRows()) {
            return pass(SentMessage.EXECUTE);
        }
        int most = start + bodyLength - Integer.BYTES;
        if (sent.statement().returning()) {
            return pass(SentMessage.RETURNING_IN_BAND);
        }
        // with a RETURNING of the node's the engine would run it again, and return no rows
        backend.changing(done(prepared, buffer, start)::run);
        if (bodyLength < 1 + Integer.BYTES || buffer.getInt(most) == 0) {
            return pass(SentMessage.EXECUTE_IN_BAND);
        }
        // without a RETURNING of the client's, its limit of rows would not count
        backend.forward(
                inBandMessages.replaced(buffer, start, most, new byte[Integer.BYTES], start + bodyLength,
                        start + bodyLength),
                SentMessage.EXECUTE_IN_BAND);
        return false;
    }

    private boolean begin(boolean readOnly) {
        boolean implicit = transaction.implicit();
        OpenTransaction begun = transaction.open(OpenTransaction.Extent.BLOCK);
        if (readOnly) {
            begun.readsOnly();
        }
        cycle.inBlock(true);
        if (!implicit) {
            return pass(SentMessage.EXECUTE);
        }
        staysImplicitIfSkipped(begun);
        return pass(SentMessage.BEGINNING_EXECUTE);
    }

    /** If something before what is sent next fails, the engine skips that, and is in a transaction all the same, of which the client knows nothing. */
    private void staysImplicitIfSkipped(OpenTransaction begun) {
        backend.changing(() -> begun.extent(OpenTransaction.Extent.CYCLE));
    }

    private boolean commit(@Nullable Prepared prepared, StatementKind kind, boolean inTransaction, boolean first,
            ByteBuf buffer, int start) {
        if (!inTransaction) {
            return pass(SentMessage.EXECUTE);
        }
        if (transaction.implicit() && kind.chains()) {
            return refuse(Errors.noBlockToChain(kind));
        }
        if (first && !transaction.work().mayHaveChanged() && session.repetition().proven()) {
            return end(kind);
        }
        texts.mayChange();
        cycle.inBlock(kind.chains());
        cycle.await();
        // If it is run again, the client may have heard that it is bound, which must be answered again before.
        boolean alone = prepared != null && prepared.equals(boundLast) && inBand.standsAlone(prepared.inBand())
                && session.repetition().proven();
        session.commit().extended(kind.chains(), transaction.implicit(), alone,
                alone && !kind.chains() && name(buffer, start).equals(commitPortal) ? commitPortal : null);
        portalsAreClosed();
        return false;
    }

    private boolean prepare(String text, boolean inTransaction) {
        if (!inTransaction) {
            return pass(SentMessage.EXECUTE);
        }
        ErrorFields refusal = transaction.implicit()
                ? Errors.error("25P01", "PREPARE TRANSACTION can only be used in transaction blocks")
                : rules.prepareRefusal();
        if (refusal != null) {
            return refuse(refusal);
        }
        cycle.inBlock(false);
        cycle.await();
        session.commit().prepare(Form.EXTENDED, sql.prepared(text));
        return false;
    }

    /** The engine ends the transaction block by itself; what follows waits until it has. */
    private boolean end(StatementKind kind) {
        texts.mayChange();
        if (transaction.implicit() && kind.chains()) {
            return refuse(Errors.noBlockToChain(kind));
        }
        if (transaction.implicit()) {
            staysImplicitIfSkipped(transaction.get());
            cycle.warns(SentMessage.ENDING_EXECUTE, Errors.NO_TRANSACTION);
        }
        transaction.becomesBlock();
        cycle.inBlock(kind.chains());
        cycle.ending();
        portalsAreClosed();
        return pass(kind.chains() ? SentMessage.CHAINING_EXECUTE : SentMessage.ENDING_EXECUTE);
    }

    private boolean schema(@Nullable Prepared prepared, boolean inTransaction, ByteBuf buffer, int start,
            int bodyLength) {
        UtilityStatement statement = utility(prepared);
        boolean once = !inTransaction && rules.runsOnce(statement);
        ErrorFields refusal = rules.schemaRefusal(statement, inTransaction || once);
        if (refusal != null) {
            return refuse(refusal);
        }
        if (!inTransaction && !once) {
            session.client().notice(rules.schemaWarning(statement));
            done(prepared, buffer, start);
            session.ordered().statement(statement, false, null);
        } else {
            ByteBuf message = Messages.copyToSend(buffer, start, bodyLength);
            if (once && session.turns().needed()) {
                session.turns().await(DeferredExecution.ANYTHING, false, true, () -> change(statement, true, message));
            } else {
                change(statement, once, message);
            }
        }
        return false;
    }

    private void change(UtilityStatement statement, boolean once, ByteBuf message) {
        if (once) {
            session.beginImplicit(false);
        }
        inBand.executesUnproven();
        session.schema().change(statement, message, SentMessage.EXECUTE);
    }

    /** The client's first Execute after its transaction was rolled back without its knowing. */
    private boolean afterAbort(ErrorFields why, StatementKind kind) {
        transaction.abortHeard();
        if (kind.rollsBack()) {
            session.client().hideWarnings(true);
            cycle.inBlock(false);
            return pass(SentMessage.EXECUTE);
        }
        if (!kind.commits()) {
            // a transaction block that is going to fail, as the client has to see one
            backend.batch().begin().send();
        }
        return refuse(why);
    }

    // ------------------------------------------------------------------------------------------ Sync

    boolean sync() {
        if (cycle.mayIgnoreSync() && !backend.idle()) {
            backend.flushAnswers();
            cycle.keepSync(this::answerSync);
            return false;
        }
        cycle.complete();
        if (transaction.implicit() && !cycle.copies()) {
            session.commit().begin(Form.IMPLICIT, false, false);
            return false;
        }
        return synchronize();
    }

    /** A Sync that was kept is answered after all. */
    private void answerSync() {
        if (cycle.skipping() ? syncAfterSkipping() : sync()) {
            ByteBuf out = session.client().buffer();
            Frontend.sync(out);
            backend.write(out);
        }
    }

    /** The engine is spared a Sync that would change nothing, such as the one behind a COMMIT that the node has carried out. */
    private boolean synchronize() {
        if (backend.inStep() && !transaction.implicit()) {
            session.readyAtOnce();
            return false;
        }
        return pass(SentMessage.SYNC);
    }

    /** The Sync up to which messages were skipped. */
    boolean syncAfterSkipping() {
        boolean fails = cycle.failsAtSync();
        cycle.complete();
        if (fails) {
            session.rollback().failBlock();
            return false;
        }
        return synchronize();
    }

    /** The same, to a Parse that has not been looked at. */
    boolean refuseParse(ErrorFields fields) {
        return refuse(fields);
    }

    /** Makes the engine answer with an error to a message, and the client see the node's. */
    private boolean refuse(ErrorFields fields) {
        if (!backend.refusing()) {
            backend.refuse(fields, SentMessage.REFUSED_PARSE);
        }
        return false;
    }

    boolean pass(SentMessage as) {
        backend.passed(as);
        return true;
    }
}
