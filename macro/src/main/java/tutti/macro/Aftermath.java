package tutti.macro;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** What is left to do when a replica's lock has been released: futures to complete, faults to report. Of one thread. */
final class Aftermath implements Consumer<ReplicaFault> {
    private final List<Runnable> tasks = new ArrayList<>(0);
    private final Roster roster;

    Aftermath(Roster roster) {
        this.roster = roster;
    }

    @Override
    public void accept(ReplicaFault fault) {
        tasks.add(() -> roster.faultFound(fault));
    }

    void answered(SequencedCall call) {
        if (call.hasFuture()) {
            tasks.add(call::completeFuture);
        }
        if (call instanceof Ballot ballot) {
            tasks.add(() -> roster.watch(ballot));
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
