package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.CommitSequence.Form;

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
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientCycle cycle;
    private final NamedObjects<Prepared> statements = new NamedObjects<>();
    private final NamedObjects<Prepared> portals = new NamedObjects<>();

    ExtendedMessages(Session session, ClientSql sql, TextSettings texts, StatementRules rules,
            DeferredMessages deferred, ActiveRequests active) {
        this.session = session;
        this.sql = sql;
        this.texts = texts;
        this.rules = rules;
        this.deferred = deferred;
        this.active = active;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.cycle = session.cycle();
    }

    // ------------------------------------------------------------------------------------------ Parse

    boolean parse(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = prepare(buffer, start, bodyLength);
        if (cycle.inBlock() && deferred.mustWait(prepared.kind(), true)) {
            ErrorFields refusal = rules.writeRefusal();
            return refusal != null
                    ? refuse(refusal)
                    : deferred.awaitInBlock(Frontend.PARSE, buffer, start, bodyLength);
        }
        int nameEnd = Messages.end(buffer, start, start + bodyLength);
        if (!statements.put(buffer, start, nameEnd, prepared)) {
            return refuse(tooMany("prepared statements"));
        }
        if (nameEnd == start && !cycle.inBlock() && !transaction.isOpen() && !backend.refusing()) {
            ClusterQuestion question = sql.question();
            if (question != null) {
                statements.put(buffer, start, nameEnd, Prepared.of(StatementKind.READ));
                session.ordered().question(question, false);
                return false;
            }
        }
        return pass(SentMessage.PARSE);
    }

    /** What a Parse message prepares that is sent later. */
    Prepared parseLater(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = prepare(buffer, start, bodyLength);
        statements.put(buffer, start, Messages.end(buffer, start, start + bodyLength), prepared);
        return prepared;
    }

    /** What a Parse message prepares. */
    private Prepared prepare(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int nameEnd = Messages.end(buffer, start, limit);
        sql.read(buffer, nameEnd + 1, limit);
        Classifier classified = sql.classified();
        StatementKind kind = classified.count() > 1 ? StatementKind.WRITE : classified.single();
        if (classified.locks() && !cycle.inBlock()) {
            kind = StatementKind.READ; // changes nothing, and is refused by the engine outside of a block
        }
        return switch (kind) {
            case SCHEMA, CONSTRAINTS -> new Prepared(kind, sql.utility(), null);
            case REFUSED -> new Prepared(kind, null, classified.refusal());
            case SESSION, FORGET -> new Prepared(kind, UtilityStatement.of(sql.text()), null);
            case BEGIN -> classified.readOnly() ? Prepared.BEGIN_READ_ONLY : Prepared.of(kind);
            case READ, WRITE, COPY_IN -> {
                boolean matters = nameEnd > start || rules.notesReads() || session.node().needsClasses()
                        || active.possible();
                byte[] text = matters ? sql.copy() : null;
                yield text != null && texts.understood(text)
                        ? Prepared.of(kind).with(new StatementAccess(session.capture(), text, texts.standardStrings(),
                                StatementAccess.types(buffer, nameEnd + 1 + sql.length() + 1, limit)))
                        : Prepared.of(kind);
            }
            default -> Prepared.of(kind);
        };
    }

    private static ErrorFields tooMany(String what) {
        return Errors.error("53400",
                "the session has more than " + NamedObjects.LIMIT + " named " + what + ": close some");
    }

    // ------------------------------------------------------------------------------------------ Bind, Close

    /** The statement that a Bind message names; one that may do anything if it is not known. */
    Prepared bound(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int portalEnd = Messages.end(buffer, start, limit);
        Prepared prepared = statements.get(buffer, portalEnd + 1, Messages.end(buffer, portalEnd + 1, limit));
        return prepared == null ? Prepared.of(StatementKind.WRITE) : prepared;
    }

    boolean bind(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = bound(buffer, start, bodyLength);
        if (!cycle.inBlock() && !cycle.staysHere() && backend.outsideOfTransaction()
                && transaction.unheardAbort() == null && active.mayBe(prepared)) {
            return deferred.record(prepared, buffer, start, bodyLength);
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
        StatementAccess access = prepared.access();
        if (access != null && rules.looksAtTexts()) {
            prepared = prepared.with(access.bind(buffer, Messages.end(buffer, portalEnd + 1, limit) + 1, limit));
        }
        if (!portals.put(buffer, start, portalEnd, prepared)) {
            return refuse(tooMany("portals"));
        }
        return pass(SentMessage.BIND);
    }

    boolean close(ByteBuf buffer, int start, int bodyLength) {
        if (bodyLength < 2) {
            throw new ProtocolViolation("Close of " + bodyLength + " bytes");
        }
        NamedObjects<Prepared> names = buffer.getByte(start) == 'S' ? statements : portals;
        names.remove(buffer, start + 1, Messages.end(buffer, start + 1, start + bodyLength));
        return pass(SentMessage.CLOSE);
    }

    // ------------------------------------------------------------------------------------------ Execute

    boolean execute(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = portals.get(buffer, start, Messages.end(buffer, start, start + bodyLength));
        StatementKind kind = prepared == null ? StatementKind.WRITE : prepared.kind();
        if (backend.transactionFailed()) {
            return (kind.rollsBack() || kind.commits()) ? end(kind) : pass(SentMessage.EXECUTE);
        }
        ErrorFields unheard = transaction.unheardAbort();
        if (unheard != null) {
            return afterAbort(unheard, kind);
        }
        boolean inTransaction = cycle.inBlock() || transaction.implicit();
        boolean first = cycle.executesFirst();
        if (kind.mayWrite() || kind == StatementKind.READ) {
            rules.reads(prepared == null ? null : prepared.bound());
            ErrorFields outside = cycle.inBlock() ? rules.outside(prepared == null ? null : prepared.bound()) : null;
            if (outside != null) {
                return refuse(outside);
            }
        }
        return switch (kind) {
            case WRITE, COPY_IN -> write(kind, inTransaction);
            case BEGIN -> begin(Prepared.BEGIN_READ_ONLY.equals(prepared));
            case ROLLBACK, ROLLBACK_CHAIN -> inTransaction ? end(kind) : pass(SentMessage.EXECUTE);
            case COMMIT, COMMIT_CHAIN -> commit(kind, inTransaction, first);
            case SCHEMA -> schema(utility(prepared), inTransaction, buffer, start, bodyLength);
            case CONSTRAINTS -> {
                if (!inTransaction) {
                    yield pass(SentMessage.EXECUTE);
                }
                session.schema().constraints(utility(prepared).sql(), false);
                yield false;
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
                yield pass(SentMessage.EXECUTE);
            }
            case EMPTY, READ, SAVEPOINT, LOCAL -> pass(SentMessage.EXECUTE);
        };
    }

    private static UtilityStatement utility(@Nullable Prepared prepared) {
        UtilityStatement utility = prepared == null ? null : prepared.utility();
        return Objects.requireNonNull(utility, "kept with the statement of its kind");
    }

    private boolean write(StatementKind kind, boolean inTransaction) {
        ErrorFields refusal = rules.writeRefusal();
        if (refusal != null) {
            return refuse(refusal);
        }
        transaction.work().mayChange(TransactionActivity.Change.ROWS);
        if (kind == StatementKind.COPY_IN) {
            cycle.copyAsked();
        }
        if (!inTransaction) {
            session.beginImplicit(false);
        }
        return pass(SentMessage.EXECUTE);
    }

    private boolean begin(boolean readOnly) {
        session.client().hideWarnings(transaction.implicit());
        OpenTransaction begun = transaction.open(OpenTransaction.Extent.BLOCK);
        if (readOnly) {
            begun.readsOnly();
        }
        cycle.inBlock(true);
        return pass(SentMessage.EXECUTE);
    }

    private boolean commit(StatementKind kind, boolean inTransaction, boolean first) {
        if (!inTransaction) {
            return pass(SentMessage.EXECUTE);
        }
        if (first && !transaction.work().mayHaveChanged() && session.repetition().proven()) {
            return end(kind);
        }
        cycle.inBlock(kind.chains());
        cycle.await();
        session.commit().begin(Form.EXTENDED, kind.chains());
        return false;
    }

    /** The engine ends the transaction block by itself; what follows waits until it has. */
    private boolean end(StatementKind kind) {
        transaction.becomesBlock();
        cycle.inBlock(kind.chains());
        cycle.ending();
        return pass(kind.chains() ? SentMessage.CHAINING_EXECUTE : SentMessage.ENDING_EXECUTE);
    }

    private boolean schema(UtilityStatement statement, boolean inTransaction, ByteBuf buffer, int start,
            int bodyLength) {
        if (!inTransaction) {
            ErrorFields refusal = rules.unavailable();
            if (refusal != null) {
                return refuse(refusal);
            }
            session.ordered().statement(statement, false, null);
        } else if (statement.inBlockRefusal() != null) {
            return refuse(Errors.notSupported(statement.inBlockRefusal()));
        } else {
            session.schema().change(statement, Messages.copyToSend(buffer, start, bodyLength), SentMessage.EXECUTE);
        }
        return false;
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
        cycle.complete();
        if (transaction.implicit() && !cycle.copies()) {
            session.commit().begin(Form.IMPLICIT, false);
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
        return pass(SentMessage.SYNC);
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
