package tutti.model;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;

/**
 * What is prepared at one site for other replicas, as two-phase commit asks for it: a write set takes its locks, waiting for
 * transactions of this site that run, is made by a processor, and is kept until it is decided. While it waits, its protocol is told
 * for whom, now and then. It takes all locks at once, or row by row where transactions do: among those who hold some of its rows
 * and wait for others there would never be a moment at which all are free.
 */
final class ModelPreparations {
    private static final Label AGAIN = Label.of("model", "prepare again");
    private static final long AGAIN_NANOS = Nanos.MILLI;

    private final ModelReplica replica;
    private final Site site;
    private final LockWaits waits;
    private final Map<TransactionId, Prepared> open = new HashMap<>();

    /** A write set of another replica. */
    private final class Prepared extends LockHolder {
        final TransactionId id;
        /** Null if the transaction was over when it was to be prepared. */
        final @Nullable Work work;
        boolean ended;
        boolean granted;
        /** How often it has begun to wait; only the last time is looked after. */
        int waits;
        Engines.@Nullable Job job;

        Prepared(TransactionId id, @Nullable Work work) {
            this.id = id;
            this.work = work;
            exclusive = work == null ? exclusive : work.exclusive;
        }

        @Override
        void acquired() {
            if (isStepwise() && reached < exclusive.length) {
                lock(this);
            } else {
                make();
            }
        }

        /** It has all its locks. */
        private void make() {
            granted = true;
            double nanos = work == null ? 0 : site.world().calibration().rows().applying(work);
            job = site.engines().primary().execute(site.world().scaled(nanos), () -> {
                job = null;
                tell(this, () -> replica.protocol().prepared(id));
            });
        }

        @Override
        void pushedAside() {
            granted = false;
            cancel(this);
            site.world().kernel().schedule(AGAIN_NANOS, AGAIN, () -> ask(this));
        }

        @Override
        void overtaken() {
            throw new IllegalStateException(id + " has no snapshot, so nobody can have been faster");
        }

        @Override
        boolean pushesAside() {
            return false;
        }

        @Override
        boolean isBoundToSnapshot() {
            return false;
        }
    }

    /** @param names who a holder of locks is to the protocol, if it is a transaction that has executed */
    ModelPreparations(ModelReplica replica, Site site, Function<LockHolder, @Nullable TransactionId> names) {
        this.replica = replica;
        this.site = site;
        this.waits = new LockWaits(site, holder -> holder instanceof Prepared other ? other.id : names.apply(holder));
    }

    /** Makes the changes of a transaction of another site and keeps them. */
    void prepare(TransactionId id) {
        Prepared prepared = new Prepared(id, site.world().find(id));
        if (open.putIfAbsent(id, prepared) != null) {
            throw new IllegalStateException(id + " is prepared twice");
        }
        ask(prepared);
    }

    private void ask(Prepared prepared) {
        if (prepared.ended || replica.isOver()) {
            return;
        }
        if (prepared.work != null && !prepared.work.statements.isEmpty()) {
            site.locks().begin(prepared);
            lock(prepared);
        } else if (site.locks().acquire(prepared)) {
            prepared.make();
        } else {
            watch(prepared);
        }
    }

    /** It asks for the rows that it has not got. */
    private void lock(Prepared prepared) {
        while (prepared.reached < prepared.exclusive.length) {
            if (site.locks().acquireNext(prepared) == LockTable.Step.WAITS) {
                watch(prepared);
                return;
            }
        }
        prepared.make();
    }

    private void watch(Prepared prepared) {
        int asked = ++prepared.waits;
        waits.watch(prepared,
                () -> prepared.waits == asked && !prepared.ended && !prepared.granted && !replica.isOver(),
                holders -> tell(prepared, () -> replica.protocol().blocked(prepared.id, holders)));
    }

    private void tell(Prepared prepared, Runnable event) {
        replica.tell(ModelReplica.Charge.EVENT, 0, () -> {
            if (!prepared.ended) {
                event.run();
            }
        });
    }

    /** The transaction is not to commit, or not now. */
    void abort(TransactionId id) {
        Prepared prepared = open.remove(id);
        if (prepared != null) {
            prepared.ended = true;
            cancel(prepared);
            site.locks().release(prepared, false);
        }
    }

    private void cancel(Prepared prepared) {
        if (prepared.job != null) {
            site.engines().cancel(prepared.job);
            prepared.job = null;
        }
    }

    /** The transaction commits: who holds its locks here, or null if nobody does. */
    @Nullable
    LockHolder decided(TransactionId id) {
        Prepared prepared = open.remove(id);
        if (prepared == null) {
            return null;
        }
        prepared.ended = true;
        if (prepared.granted && prepared.job == null) {
            return prepared;
        }
        cancel(prepared);
        site.locks().release(prepared, false);
        return null;
    }
}
