package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import tutti.pgwire.Frontend;
import tutti.wire.CommitSequence.Form;

/**
 * A simple query of several statements of which some control the transaction: they are run one by one, runs of plain
 * statements together, until one fails. As in PostgreSQL, statements outside of a transaction block form one transaction
 * up to the end of the query or the next COMMIT, and a BEGIN makes a block of what came before it.
 */
final class MultiStatementQuery {
    private final Session session;
    private final SimpleQueries queries;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientStream client;
    private final byte[] sql;
    private final StatementKind[] kinds;
    private final int[] starts;
    private final int[] ends;
    private final boolean schemaOnly;
    private final String refusal;
    private int index;
    private int offset;

    MultiStatementQuery(Session session, SimpleQueries queries, Classifier classifier, byte[] sql) {
        this.session = session;
        this.queries = queries;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.client = session.client();
        this.sql = sql;
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
        schemaOnly = all;
    }

    /** Characters before the statement that runs, to be added to positions in errors. */
    int offset() {
        return offset;
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
        boolean inTransaction = !backend.outsideOfTransaction();
        if (schemaOnly && !inTransaction) {
            index = kinds.length;
            queries.everywhere(UtilityStatement.of(new String(sql, StandardCharsets.UTF_8)));
            return true;
        }
        int from = index++;
        switch (kind) {
            case READ, WRITE, COPY_IN, EMPTY, SESSION, SAVEPOINT -> plain(from, kind, inTransaction);
            case COMMIT, COMMIT_CHAIN -> commit(from, kind, inTransaction);
            case ROLLBACK, ROLLBACK_CHAIN -> {
                transaction.becomesBlock();
                client.release();
                send(from, inTransaction ? SentMessage.ENDING_QUERY : SentMessage.QUERY);
            }
            case BEGIN -> {
                client.hideWarnings(transaction.implicit());
                transaction.becomesBlock();
                client.release();
                if (!inTransaction) {
                    transaction.open(OpenTransaction.Extent.BLOCK);
                }
                send(from, SentMessage.QUERY);
            }
            case SCHEMA -> schema(from, inTransaction);
            case CONSTRAINTS -> {
                if (inTransaction) {
                    offset(from);
                    session.schema().constraints(text(from), true);
                } else {
                    send(from, SentMessage.QUERY);
                }
            }
            case REFUSED -> queries.refuse(Errors.statementRefused(refusal));
            case FORGET, LOCAL -> send(from, SentMessage.QUERY);
        }
        return true;
    }

    private void plain(int from, StatementKind first, boolean inTransaction) {
        StatementKind kind = first;
        while (!last() && isPlain(kinds[index])) {
            StatementKind next = kinds[index++];
            if (kind != StatementKind.COPY_IN && next.mayWrite()) {
                kind = next;
            }
        }
        offset(from);
        queries.part(kind, message(from), inTransaction);
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
            session.commit().begin(Form.SIMPLE, kind.chains());
        }
    }

    private void schema(int from, boolean inTransaction) {
        UtilityStatement statement = queries.utility(sql, starts[from], ends[from]);
        if (statement.inBlockRefusal() != null) {
            queries.refuse(Errors.notSupported(statement.inBlockRefusal()));
            return;
        }
        if (!inTransaction) {
            session.beginImplicit(true);
        }
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
        offset = new String(sql, 0, starts[from], StandardCharsets.UTF_8).length();
    }

    private ByteBuf message(int from) {
        ByteBuf out = Unpooled.buffer();
        Frontend.query(out, new String(sql, starts[from], ends[index - 1] - starts[from], StandardCharsets.UTF_8));
        return out;
    }
}
