package tutti.pgfront;

import java.io.Serial;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.node.Transactions;
import tutti.session.EmbeddedSession;
import tutti.session.LostTransaction;
import tutti.wire.RetryQueue;

/**
 * What a session executes now, or has executed last: which keys are lost when it fails, and under which key it is booked
 * ({@link Transactions#book}). Of the session's thread.
 */
final class LastStatement {
    private final Transactions node;
    private final EmbeddedSession session;
    private @Nullable PgStatement executed;
    /** Its values as the engine has them. */
    private List<@Nullable Object> with = List.of();

    /** Thrown in place of executing what is to be booked before: the transaction begins anew when it comes. */
    static final class NotBooked extends SQLException {
        @Serial
        private static final long serialVersionUID = 1;
        private final long key;

        NotBooked(long key) {
            super("could not serialize access: others change what the transaction is about to look at", "40001");
            this.key = key;
        }

        long key() {
            return key;
        }
    }

    LastStatement(Transactions node, EmbeddedSession session) {
        this.node = node;
        this.session = session;
    }

    /** A statement is about to be executed. */
    void is(PgStatement statement, @Nullable Object[] values) {
        executed = statement;
        with = new ArrayList<>(statement.parameters().size());
        statement.parameters().forEach(place -> with.add(values[place - 1]));
    }

    List<@Nullable Object> values() {
        return with;
    }

    /** As {@link PgSession#loss}. */
    LostTransaction.@Nullable Loss loss(SQLException failed) {
        if (isFirst(failed)) {
            return LostTransaction.Loss.UNKNOWN;
        }
        LostTransaction.Loss loss = session.loss(failed);
        PgStatement statement = executed;
        return loss == null || statement == null || failed instanceof LostTransaction
                ? loss
                : loss.looking(RetryQueue.keys(looked(statement)));
    }

    /** Whether a block has to begin anew of which no statement has been executed: to the node, no transaction has begun. */
    boolean isFirst(SQLException failed) {
        return failed instanceof NotBooked && !session.inTransaction();
    }

    private ReadSet looked(PgStatement statement) {
        ReadSet.Builder looked = new ReadSet.Builder();
        session.footprints().of(statement.sql()).addTo(looked, with);
        return looked.build();
    }

    /** What it has answered has changed since its client has seen it. */
    void seenInVain() {
        PgStatement statement = executed;
        if (statement != null) {
            node.want(key(statement));
        }
    }

    /** @throws NotBooked if it must be booked before */
    void isBooked() throws NotBooked {
        PgStatement statement = executed;
        if (statement == null || !node.wantsAny() || !node.mayBeWanted(statement.sql().hashCode())) {
            return;
        }
        long key = key(statement);
        if (node.isWanted(key)) {
            throw new NotBooked(key);
        }
    }

    private long key(PgStatement statement) {
        return RetryQueue.booking(statement.sql().hashCode(), looked(statement), with::hashCode);
    }
}
