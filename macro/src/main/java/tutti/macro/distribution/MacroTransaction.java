package tutti.macro.distribution;

/**
 * A transaction of several calls of a {@link TransactionalComponent}, at the node where it was begun. It has snapshot isolation: it sees the
 * state at its beginning and its own changes, and of two at the same time that change the same the first to commit wins. For one
 * thread at a time.
 *
 * @param <C> the component's interface
 */
public final class MacroTransaction<C> implements AutoCloseable {
    private final DeferredUpdates<?>.Open open;
    private final C component;
    private final DeferredUpdates.Commits commits;

    private MacroTransaction(DeferredUpdates<?>.Open open, C component, DeferredUpdates.Commits commits) {
        this.open = open;
        this.component = component;
        this.commits = commits;
    }

    static <C> MacroTransaction<C> begin(HostedComponent.Component<?> of, Class<C> type, boolean readOnly,
            DeferredUpdates.Commits commits, ReadLevel readLevel) throws Exception {
        DeferredUpdates<?> updates = of.updates();
        if (readLevel == ReadLevel.LINEARIZABLE) {
            try {
                commits.catchUp();
            } catch (Exception | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new java.util.concurrent.CompletionException(e);
            }
        }
        DeferredUpdates<?>.Open open = updates.begin(readOnly);
        return new MacroTransaction<>(open, type.cast(open.component()), commits);
    }

    /** The component as this transaction sees it. To be called by one thread at a time, until the transaction is over. */
    public C component() {
        return component;
    }

    /**
     * Commits, and waits until this node has the changes; all others will.
     *
     * @throws TransactionConflictException if it has lost to another one: nothing was done
     * @throws tutti.macro.CallTimeoutException if it was not decided in time: it may yet be committed
     * @throws Throwable what the component says if the changes cannot be made
     */
    public void commit() throws Throwable {
        boolean _ = open.commit(commits);
    }

    /** Gives up what has not been committed. */
    @Override
    public void close() {
        open.close();
    }
}
