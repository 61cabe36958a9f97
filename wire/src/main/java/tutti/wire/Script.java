package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import tutti.pgwire.Backend;
import tutti.pgwire.Frontend;

/**
 * How is a simple query of several statements run when some of them control the transaction? One by one, runs of plain
 * statements together, until one fails. As in PostgreSQL, statements outside of a transaction block form one transaction
 * up to the end of the query or the next COMMIT, and a BEGIN makes a block of what came before it.
 */
final class Script {
    private final Session session;
    private final ClientSide clientSide;
    private final byte[] sql;
    private final StatementKind[] kinds;
    private final int[] starts;
    private final int[] ends;
    private final boolean schemaOnly;
    private final String refusal;
    private int index;
    private int offset;

    Script(Session session, ClientSide clientSide, Classifier classifier, byte[] sql) {
        this.session = session;
        this.clientSide = clientSide;
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
        boolean inTransaction = session.status != Backend.IDLE;
        if (schemaOnly && !inTransaction) {
            index = kinds.length;
            clientSide.barrier(new Utility(new String(sql, StandardCharsets.UTF_8), null, null), true);
            return true;
        }
        int from = index++;
        switch (kind) {
            case READ, WRITE, COPY_IN, EMPTY, SESSION, SAVEPOINT -> plain(from, kind, inTransaction);
            case COMMIT, COMMIT_CHAIN -> commit(from, kind, inTransaction);
            case ROLLBACK -> {
                session.implicit = false;
                session.held.release();
                send(from, inTransaction ? Operations.ENDING_QUERY : Operations.QUERY);
            }
            case BEGIN -> {
                session.hideWarnings = session.implicit;
                session.implicit = false;
                session.held.release();
                if (!inTransaction) {
                    session.openTransaction();
                }
                send(from, Operations.QUERY);
            }
            case SCHEMA -> schema(from, inTransaction);
            case CONSTRAINTS -> {
                if (inTransaction) {
                    offset(from);
                    session.constraints(text(from), true);
                } else {
                    send(from, Operations.QUERY);
                }
            }
            case REFUSED -> clientSide.refuseQuery(Errors.notSupported(refusal));
            case FORGET -> {
                clientSide.forget();
                send(from, Operations.QUERY);
            }
            case LOCAL -> send(from, Operations.QUERY);
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
        clientSide.scriptPlain(kind, message(from), inTransaction);
    }

    private static boolean isPlain(StatementKind kind) {
        return switch (kind) {
            case READ, WRITE, COPY_IN, EMPTY, SESSION, SAVEPOINT -> true;
            default -> false;
        };
    }

    private void commit(int from, StatementKind kind, boolean inTransaction) {
        if (!inTransaction || session.status == Backend.FAILED) {
            send(from, Operations.QUERY);
        } else {
            session.close(Session.Commit.SIMPLE, kind == StatementKind.COMMIT_CHAIN);
        }
    }

    private void schema(int from, boolean inTransaction) {
        Utility statement = clientSide.scriptUtility(sql, starts[from], ends[from]);
        if (statement.inBlockRefusal() != null) {
            clientSide.refuseQuery(Errors.notSupported(statement.inBlockRefusal()));
            return;
        }
        if (!inTransaction) {
            session.beginImplicit(true);
        }
        offset(from);
        session.schemaInBlock(statement, message(from), Operations.QUERY);
    }

    private String text(int from) {
        return new String(sql, starts[from], ends[from] - starts[from], StandardCharsets.UTF_8);
    }

    private void send(int from, byte operation) {
        offset(from);
        session.toEngine(message(from));
        session.operations.add(operation);
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
