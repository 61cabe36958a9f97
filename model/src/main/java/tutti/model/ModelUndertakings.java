package tutti.model;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * What one site executes for clients of any site, as the owner of request logs asks for it: several requests, one after the other, in one transaction of its
 * database, which takes all their locks, then computes for all, and holds its locks until it is decided. One that its user gives up is not executed with others,
 * and refused by itself. The rules are those of {@code tutti.node.ExecutorSession}.
 */
final class ModelUndertakings {
    private static final Response REFUSED = new Response("P0001", "given up", new byte[0]);
    private static final byte[] ANSWER = new byte[200];

    private final ModelReplica replica;
    private final Site site;
    private final Map<TransactionId, Run> runs = new HashMap<>();

    /** Of requests that are executed together. */
    private final class Run extends LockHolder {
        final TransactionId first;
        List<Work> works;
        boolean active;
        /** Increases when what was under way has no meaning any more. */
        int epoch;
        long begun;
        Engines.@Nullable Job job;

        Run(TransactionId first, List<Work> works) {
            this.first = first;
            this.works = works;
        }

        void start() {
            int taken = 1;
            while (!works.getFirst().givenUp && taken < works.size() && !works.get(taken).givenUp) {
                taken++;
            }
            works = works.subList(0, taken);
            works.forEach(site.world().workload()::resolve);
            exclusive = works.stream().flatMapToLong(work -> Arrays.stream(work.exclusive)).distinct().toArray();
            shared = works.stream().flatMapToLong(work -> Arrays.stream(work.shared)).distinct()
                    .filter(row -> LongStream.of(exclusive).noneMatch(own -> own == row)).toArray();
            active = true;
            decided = false;
            reached = AT_ONCE;
            epoch++;
            if (site.locks().acquire(this)) {
                acquired();
            }
        }

        @Override
        void acquired() {
            begun = replica.visible();
            double nanos = works.stream().mapToDouble(site.world().calibration().rows()::executing).sum();
            job = site.engines().primary().execute(site.world().scaled(nanos), () -> {
                job = null;
                executed();
            });
        }

        private void executed() {
            boolean refused = works.getFirst().givenUp;
            if (refused) {
                rollBack();
            }
            Execution execution = new Execution(begun, replica.visible(),
                    refused ? new WriteSet(KeySet.EMPTY, new byte[0]) : Work.together(works).writes, ReadSet.EMPTY);
            List<Response> responses = refused
                    ? List.of(REFUSED)
                    : Collections.nCopies(works.size(), Response.done(ANSWER));
            tell(() -> replica.protocol().undertaken(first, execution, responses));
        }

        private void tell(Runnable event) {
            int own = epoch;
            replica.tell(ModelReplica.Charge.EVENT, 0, () -> {
                if (epoch == own) {
                    event.run();
                }
            });
        }

        @Override
        void pushedAside() {
            active = false;
            cancel();
            long position = replica.delivered();
            tell(() -> replica.protocol().victim(first, position));
        }

        @Override
        void overtaken() {
            throw new IllegalStateException(first + " is first in its logs, so nobody can have been faster");
        }

        @Override
        boolean pushesAside() {
            return true;
        }

        void rollBack() {
            if (active) {
                active = false;
                site.locks().release(this, false);
            }
            cancel();
        }

        private void cancel() {
            Engines.Job computing = job;
            if (computing != null) {
                site.engines().cancel(computing);
                job = null;
            }
        }
    }

    ModelUndertakings(ModelReplica replica, Site site) {
        this.replica = replica;
        this.site = site;
    }

    void undertake(TransactionId first, List<TransactionRequest.Whole> requests) {
        Run run = new Run(first, requests.stream().map(site.world()::asked).toList());
        runs.put(first, run);
        run.start();
    }

    /**
     * Runs the first once more, alone.
     *
     * @return whether it is one of these
     */
    boolean run(TransactionId first) {
        Run run = runs.get(first);
        if (run != null) {
            run.rollBack();
            run.works = run.works.subList(0, 1);
            run.start();
        }
        return run != null;
    }

    /** Rolls back; whether it is one of these. */
    boolean abort(TransactionId first) {
        Run run = runs.get(first);
        if (run != null) {
            run.rollBack();
            run.epoch++;
        }
        return run != null;
    }

    /** Who holds the locks of what commits; null if nobody here does. */
    @Nullable
    LockHolder holder(TransactionId first) {
        Run run = runs.get(first);
        return run != null && run.active ? run : null;
    }

    /** They are over. */
    void answered(TransactionId first) {
        Run run = runs.remove(first);
        if (run != null && !run.decided) {
            run.rollBack();
        }
    }
}
