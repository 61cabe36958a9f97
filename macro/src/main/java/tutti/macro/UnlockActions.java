package tutti.macro;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** What is left to do when a replica's lock has been released: futures to complete, faults to report. Of one thread. */
final class UnlockActions implements Consumer<ReplicaFault> {
    private final List<Runnable> tasks = new ArrayList<>(0);
    private final ReplicaMembership membership;

    UnlockActions(ReplicaMembership membership) {
        this.membership = membership;
    }

    @Override
    public void accept(ReplicaFault fault) {
        tasks.add(() -> membership.faultFound(fault));
    }

    void answered(SequencedCall call) {
        if (call.hasFuture()) {
            tasks.add(call::completeFuture);
        }
        if (call instanceof Ballot ballot) {
            tasks.add(() -> membership.watch(ballot));
        }
    }

    /** No lock may be held. */
    void run() {
        if (tasks.isEmpty()) {
            return;
        }
        List<Runnable> now = List.copyOf(tasks);
        tasks.clear();
        now.forEach(Runnable::run);
    }
}
