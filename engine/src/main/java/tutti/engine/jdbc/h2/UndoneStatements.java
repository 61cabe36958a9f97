package tutti.engine.jdbc.h2;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLong;
import org.h2.mvstore.tx.Transaction;

/**
 * Lets others wait for a transaction of H2 that has undone something.
 *
 * <p>
 * Once a transaction has rolled back a statement or to a savepoint, H2 2.4 keeps a flag in its state, so that those who wait
 * for its rows look again whether theirs has become free. But the flag stays, and they look without end: a wait for
 * such a transaction is over at once, successfully, and begins again, deaf to its time limit, to cancelling and to the search
 * for deadlocks ({@code Transaction.waitForThisToEnd}, {@code TransactionMap.set}). A statement would so keep a processor and the
 * gate, and an applier would wait for ever for a client that does nothing.
 *
 * <p>
 * So the flag is taken away when the statement has ended. Who waited when something was undone has been woken and has looked;
 * if it looks only after that, it waits on, at most as long as its time limit says, and then looks again.
 */
final class UndoneStatements {
    /** H2 keeps a transaction's state in one number: the length of its undo log, its status, and this flag. */
    private static final long UNDONE = 1L << 45;
    private static final VarHandle STATE = state();

    private UndoneStatements() {}

    private static VarHandle state() {
        try {
            return MethodHandles.privateLookupIn(Transaction.class, MethodHandles.lookup())
                    .findVarHandle(Transaction.class, "statusAndLogId", AtomicLong.class);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this is not the H2 that Tutti was made for; use H2 2.4.240", other);
        }
    }

    /** No statement of the transaction runs. By the thread of its session; others may change its status meanwhile. */
    static void forget(Transaction transaction) {
        AtomicLong state = (AtomicLong) STATE.get(transaction);
        if ((state.get() & UNDONE) != 0) {
            state.getAndUpdate(value -> value & ~UNDONE);
        }
    }
}
