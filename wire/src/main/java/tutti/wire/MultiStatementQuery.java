package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.CommitSequence.Form;

/**
 * A simple query of several statements of which some control the transaction or change the schema: they are run one by one, runs
 * of plain statements together, until one fails. As in PostgreSQL, nothing is executed if the text cannot be parsed; statements
 * outside of a transaction block form one transaction up to the end of the query or the next COMMIT, and a BEGIN makes a
 * block of what came before it.
 *
 * <p>
 * Schema changes only, outside of a transaction block, are executed by every node together at one position of the order, as
 * one alone would be: that cannot lose to concurrent transactions.
 */
final class MultiStatementQuery {
    /** The function of the server's that refuses to prepare several statements, when it has parsed them. */
    private static final String SEVERAL = "exec_parse_message";
    private final Session session;
    private final SimpleQueries queries;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientStream client;
    private final TextSettings texts;
    /** How the text was read when it came. */
    private final TextSettings.@Nullable Reading reading;
    private final byte[] sql;
    private final StatementKind[] kinds;
    private final int[] starts;
    private final int[] ends;
    /** All statements are executed by every node. */
    private boolean everywhere;
    private final String refusal;
    private int index;
    private int offset;

    MultiStatementQuery(Session session, SimpleQueries queries, ClientSql query) {
        this.session = session;
        this.queries = queries;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.client = session.client();
        this.texts = query.settings();
        this.sql = query.copy();
        this.reading = texts.reading(sql, sql.length);
        Classifier classifier = query.classified();
        this.refusal = classifier.refusal();
        int count = classifier.count();
        kinds = new StatementKind[count];
        starts = new int[count];
        ends = new int[count];
        boolean all = true;
        for (int i = 0; i < count; i++) {
            kinds[i] = classifier.kind(i);
            starts[i] = classifier.start(i);
            ends[i] = classifier.end(i);
            all &= kinds[i] == StatementKind.SCHEMA;
        }
        everywhere = all;
    }

    /** Begins: has the engine parse the text, which tells errors of syntax before anything of it is executed. */
    void begin() {
        backend.batch().check(sql, this::checked);
    }

    private void checked(@Nullable ErrorFields failure) {
        if (transaction.rollbackWanted()) {
            session.rollback().begin();
        } else if (failure != null && !SEVERAL.equals(failure.get('R'))) {
            queries.refuse(failure);
        } else if (everywhere && backend.outsideOfTransaction()) {
            List<String> targets = new ArrayList<>();
            for (int i = 0; i < kinds.length; i++) {
                UtilityStatement one = queries.utility(sql, starts[i], ends[i]);
                ErrorFields refusal = queries.schemaRefusal(one);
                if (refusal != null) {
                    queries.refuse(refusal);
                    return;
                }
                if (queries.runsOnce(one)) {
                    oneByOne();
                    return;
                }
                targets.addAll(one.targets());
            }
            queries.everywhere(new UtilityStatement(text(Statement.SEPARATOR), targets, false, false, false), this);
        } else {
            oneByOne();
        }
    }

    /** Some statement concerns this session only. */
    void oneByOne() {
        everywhere = false;
        next(false);
    }

    /** All statements have been handed to every node. */
    void handedIn() {
        index = kinds.length;
    }

    private String text(String separator) {
        StringJoiner texts = new StringJoiner(separator);
        for (int i = 0; i < kinds.length; i++) {
            texts.add(text(i));
        }
        return texts.toString();
    }

    /** What every node has answered to all statements, with positions in the whole text. */
    byte[] placed(byte[] response) {
        ByteBuf in = Unpooled.wrappedBuffer(response);
        int completed = 0;
        while (in.isReadable()) {
            int at = in.readerIndex();
            byte type = in.readByte();
            ByteBuf body = in.readSlice(in.readInt() - Integer.BYTES);
            if (type == Backend.COMMAND_COMPLETE || type == Backend.EMPTY_QUERY) {
                completed++;
            } else if (type == Backend.ERROR_RESPONSE && completed < kinds.length) {
                offset(completed);
                ByteBuf out = Unpooled.buffer().writeBytes(response, 0, at);
                Backend.errorResponse(out, placed(ErrorFields.read(body)));
                return ByteBufUtil.getBytes(out);
            }
        }
        return response;
    }

    /** An error of the statement that runs, with its position in the whole text. */
    ErrorFields placed(ErrorFields fields) {
        String position = fields.get('P');
        return position == null || offset == 0
                ? fields
                : fields.with('P', String.valueOf(Integer.parseInt(position) + offset));
    }

    /** Whether a statement that has not been sent may take data from the client. */
    boolean willCopy() {
        for (int i = index; i < kinds.length; i++) {
            if (kinds[i] == StatementKind.COPY_IN) {
                return true;
            }
        }
        return false;
    }

    /** Whether all statements have been sent. */
    boolean last() {
        return index >= kinds.length;
    }

    /**
     * Runs the next statement, or ends the transaction that the script has begun.
     *
     * @return false if there is nothing more to do
     */
    boolean next(boolean failed) {
        if (failed || last()) {
            return false;
        }
        StatementKind kind = kinds[index];
        texts.known();
        if (!texts.isNow(reading) && texts.reading(sql, ends[index]) != null) {
            queries.refuse(Errors.notSupported("a query of several statements has changed client_encoding or"
                    + " standard_conforming_strings, and would be read otherwise from here on")
                    .with('H', "Send what follows as a query of its own."));
            return true;
        }
        if (kind.isSentAgain() && !texts.canBeSentOn(sql, ends[index])) {
            queries.refuse(Errors.notSupported(TextSettings.NOT_UTF8));
            return true;
        }
        boolean inTransaction = !backend.outsideOfTransaction();
        if (!inTransaction) {
            // a transaction of this query may have ended, which the next one must not be compared with
            transaction.cycleBegins();
        }
        int from = index++;
        if (kind.chains() && transaction.implicit()) {
            queries.refuse(Errors.noBlockToChain(kind));
            return true;
        }
        if (kind == StatementKind.SAVEPOINT && (transaction.implicit() || !inTransaction)) {
            queries.refuse(SimpleQueries.outsideOfBlock(text(from)));
            return true;
        }
        if (!isPlain(kind)) {
            session.questions().executes(kind, "");
        }
        switch (kind) {
            case READ, WRITE, COPY_IN, EMPTY, SESSION, SAVEPOINT -> plain(from, kind, inTransaction);
            case COMMIT, COMMIT_CHAIN -> commit(from, kind, inTransaction);
            case ROLLBACK, ROLLBACK_CHAIN -> {
                warnOutsideOfBlock();
                transaction.becomesBlock();
                client.release();
                send(from, inTransaction ? SentMessage.ENDING_QUERY : SentMessage.QUERY);
            }
            case BEGIN -> {
                boolean implicit = transaction.implicit();
                transaction.becomesBlock();
                client.release();
                if (!inTransaction) {
                    transaction.open(OpenTransaction.Extent.BLOCK);
                }
                if (implicit) {
                    OpenTransaction begun = transaction.get();
                    backend.changing(() -> begun.extent(OpenTransaction.Extent.CYCLE)); // BEGIN may be refused
                    send(from, SentMessage.BEGINNING_QUERY);
                } else {
                    send(from, SentMessage.QUERY);
                }
            }
            case SCHEMA -> schema(from, inTransaction);
            case CONSTRAINTS -> {
                beginUnless(inTransaction);
                offset(from);
                session.schema().constraints(text(from), true);
            }
            case NOTIFY -> {
                offset(from);
                queries.notification(sql, starts[from], ends[from]);
            }
            case PREPARE -> {
                if (!inTransaction || backend.transactionFailed()) {
                    send(from, SentMessage.QUERY);
                } else if (transaction.implicit()) {
                    queries.refuse(Errors.error("25P01", "PREPARE TRANSACTION can only be used in transaction blocks"));
                } else {
                    for (int i = 0; i < from; i++) {
                        queries.lasts(text(i));
                    }
                    offset(from);
                    queries.prepare(sql, starts[from], ends[from]);
                }
            }
            case FINISH -> queries.refuse(SimpleQueries.insideOfBlock(queries.prepared(text(from))));
            case DATABASE -> queries.refuse(SimpleQueries.insideOfBlock(queries.database(text(from))));
            case REFUSED -> queries.refuse(Errors.statementRefused(refusal));
            case FORGET -> {
                beginUnless(inTransaction);
                backend.changing(queries.forgetting(text(from)));
                send(from, SentMessage.FORGETTING_QUERY);
            }
            case LOCAL -> {
                beginUnless(inTransaction);
                send(from, SentMessage.QUERY);
            }
        }
        return true;
    }

    /** The engine refuses in a transaction what it would refuse in the client's query, and undoes what it would undo. */
    private void beginUnless(boolean inTransaction) {
        if (!inTransaction) {
            session.beginImplicit(true);
        }
    }

    private void plain(int from, StatementKind first, boolean inTransaction) {
        StatementKind kind = first;
        boolean sets = first == StatementKind.SESSION;
        boolean inBlock = inTransaction && !transaction.implicit();
        while (!last() && isPlain(kinds[index]) && (inBlock || kinds[index] != StatementKind.SAVEPOINT)) {
            StatementKind next = kinds[index++];
            session.questions().executes(next, "");
            sets |= next == StatementKind.SESSION;
            if (kind != StatementKind.COPY_IN && next.mayWrite()) {
                kind = next;
            }
        }
        offset(from);
        // the block that BEGIN makes is of what precedes it, too
        boolean begins = !inTransaction && !last() && (sets || kinds[index] == StatementKind.BEGIN);
        if (begins) {
            beginUnless(false);
        }
        queries.part(kind, message(from), inTransaction || begins);
    }

    private static boolean isPlain(StatementKind kind) {
        return switch (kind) {
            case READ, WRITE, COPY_IN, EMPTY, SESSION, SAVEPOINT -> true;
            default -> false;
        };
    }

    private void commit(int from, StatementKind kind, boolean inTransaction) {
        if (!inTransaction || backend.transactionFailed()) {
            send(from, SentMessage.QUERY);
        } else {
            warnOutsideOfBlock();
            session.commit().begin(Form.SIMPLE, kind.chains(), false);
        }
    }

    /** To the client there is no transaction block, though to the engine there is. */
    private void warnOutsideOfBlock() {
        if (transaction.implicit()) {
            client.notice(Errors.NO_TRANSACTION);
        }
    }

    private void schema(int from, boolean inTransaction) {
        UtilityStatement statement = queries.utility(sql, starts[from], ends[from]);
        ErrorFields refusal = queries.schemaRefusal(statement);
        if (refusal != null) {
            queries.refuse(refusal);
            return;
        }
        if (!inTransaction && session.turns().needed()) {
            session.turns().await(DeferredExecution.ANYTHING, false, true, () -> change(from, statement, false));
        } else {
            change(from, statement, inTransaction);
        }
    }

    private void change(int from, UtilityStatement statement, boolean inTransaction) {
        beginUnless(inTransaction);
        offset(from);
        session.schema().change(statement, message(from), SentMessage.QUERY);
    }

    private String text(int from) {
        return new String(sql, starts[from], ends[from] - starts[from], StandardCharsets.UTF_8);
    }

    private void send(int from, SentMessage as) {
        offset(from);
        backend.forward(message(from), as);
    }

    private void offset(int from) {
        String before = new String(sql, 0, starts[from], StandardCharsets.UTF_8);
        offset = before.codePointCount(0, before.length());
    }

    private ByteBuf message(int from) {
        ByteBuf out = Unpooled.buffer();
        Frontend.query(out, Arrays.copyOfRange(sql, starts[from], ends[index - 1]));
        return out;
    }
}
