package tutti.macro.distribution;

import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;

/**
 * A component of which only changes travel (MacroDDB, sections 4.1.1.2 and 4.3.4): a transaction runs at one node, apart from the
 * state that others see, and what it has changed is ordered, compared with what was ordered since it began, and made at all
 * nodes. That node is the primary of the transaction, all others are its secondaries. Databases are such components; a node's
 * copy may itself be one primary replica with secondary ones behind it.
 *
 * <p>
 * <b>Threads.</b> {@link #begin} may be called from any thread, and a transaction be used by one thread at a time. {@link #apply}
 * and {@link Transaction#commit} are called one at a time, in the order of their positions. What they throw unchecked stops the node.
 *
 * @param <C> the component's interface
 */
public interface TransactionalComponent<C> {
    /**
     * Begins a transaction: it sees at least everything that was committed or applied before the call, and always the same.
     *
     * @param readOnly whether it will change nothing
     * @param renewed to be called if what the transaction had done was undone before anybody saw anything of it, before it begins anew and
     *            sees what is there then
     * @throws Exception if none can begin; it is the result of the operation that wanted it
     */
    Transaction<C> begin(boolean readOnly, Runnable renewed) throws Exception;

    /**
     * Makes the changes of a transaction that has committed elsewhere. Open transactions that are in the way are undone, and have no
     * changes to commit from then on.
     *
     * @param position of the changes in the total order; larger than all before, with gaps
     * @throws Exception if these changes cannot be made, at no node: nothing was, and this is what the client is told
     */
    void apply(long position, WriteSet writes) throws Exception;

    /** Up to which position changes are here already, from an earlier life: 0 if none. Such changes are not applied again. */
    default long position() {
        return 0;
    }

    /** How its state is copied for a node that joins, by calls of its interface in a transaction; null if that must be said with {@link HostedComponent#state}. */
    default @Nullable StateCodec<C> stateCodec() {
        return null;
    }

    /** Whether an operation has thrown this because its transaction lost to another one, and is worth another attempt. */
    default boolean isConflict(Throwable thrown) {
        return thrown instanceof TransactionConflictException;
    }

    /**
     * One transaction.
     *
     * @param <C> the component's interface
     */
    interface Transaction<C> {
        /** The component as the transaction sees it. */
        C component();

        /**
         * What has been changed, and the keys by which it meets others: whatever two transactions both change, or must not both do, has
         * a key in both. Empty if nothing was changed.
         *
         * @throws Exception if that cannot be committed; it is the result of the operation
         */
        WriteSet changes() throws Exception;

        /**
         * Commits what {@link #changes} has told.
         *
         * @return false if it is undone, by an {@link #apply} before, or because this component always has it so: then the changes are applied
         */
        boolean commit(long position);

        /** Gives up what has not been committed. Does nothing if it has ended. */
        void end();
    }
}
