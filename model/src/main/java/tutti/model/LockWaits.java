package tutti.model;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;

/**
 * Tells for whom those wait that wait for locks at a site: when they begin to, and whenever that has changed, as far as it is
 * seen every 4 ms, which is how often a real node asks its engine.
 */
final class LockWaits {
    private static final Label WATCH = Label.of("model", "watch waits");
    private static final long WATCH_NANOS = 4 * Nanos.MILLI;

    private final Site site;
    private final Function<LockHolder, @Nullable TransactionId> names;

    /** @param names who a holder of locks is to the protocol; null if it is nobody that the protocol may hear of */
    LockWaits(Site site, Function<LockHolder, @Nullable TransactionId> names) {
        this.site = site;
        this.names = names;
    }

    /**
     * Looks after somebody from now on.
     *
     * @param waits whether it still does; then it is not looked after any more
     * @param told hears for whom it waits
     */
    void watch(LockHolder waiter, BooleanSupplier waits, Consumer<Set<TransactionId>> told) {
        look(waiter, waits, told, Set.of());
    }

    private void look(LockHolder waiter, BooleanSupplier waits, Consumer<Set<TransactionId>> told,
            Set<TransactionId> before) {
        if (!waits.getAsBoolean()) {
            return;
        }
        Set<TransactionId> holders = new LinkedHashSet<>();
        for (LockHolder holder : site.locks().inTheWay(waiter)) {
            TransactionId name = names.apply(holder);
            if (name != null) {
                holders.add(name);
            }
        }
        if (!holders.equals(before)) {
            told.accept(holders);
        }
        site.world().kernel().schedule(WATCH_NANOS, WATCH, () -> look(waiter, waits, told, holders));
    }
}
