package tutti.sim.world;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.check.order.DeliveryHistory;
import tutti.core.txn.TransactionId;
import tutti.sim.kernel.Clock;
import tutti.sim.world.engine.Catalog;
import tutti.sim.world.engine.Run;
import tutti.sim.world.replica.WorldLog;

/** What happened in a run, in the form in which checkers want it. */
final class Recording implements WorldLog {
    private static final int LIVES_MAX = 1000;

    private final Clock clock;
    private final HistoryRecorder recorder = new HistoryRecorder();
    private final DeliveryHistory deliveries = new DeliveryHistory();
    private final Set<TransactionId> executed = new HashSet<>();
    private final TreeMap<String, Integer> counts = new TreeMap<>();

    Recording(Clock clock) {
        this.clock = clock;
    }

    private static int member(int node, long life) {
        return node * LIVES_MAX + Math.toIntExact(life);
    }

    @Override
    public void started(int node, long life, long state, long after) {
        count("start");
        recorder.started(node, state);
        deliveries.joined(member(node, life), after);
    }

    @Override
    public void crashed(int node, long life) {
        count("crash");
        recorder.crashed(node);
        deliveries.crashed(member(node, life));
    }

    @Override
    public void begun(TransactionId transaction, int session) {
        recorder.begun(transaction, session, clock.now());
    }

    @Override
    public void executed(Run run) {
        TransactionId transaction = run.transaction();
        if (!executed.add(transaction)) {
            recorder.executedAgain(transaction);
        }
        recorder.snapshot(transaction, run.snapshot());
        run.reads().forEach((row, writer) -> recorder.read(transaction, row, writer));
        run.written().forEach(row -> recorder.write(transaction, row));
        recorder.commitRequested(transaction, clock.now());
    }

    @Override
    public void answered(TransactionId transaction, boolean committed) {
        recorder.answered(transaction, clock.now(), committed ? History.Answer.COMMITTED : History.Answer.ABORTED);
    }

    @Override
    public void applied(int node, long position, TransactionId transaction, long stateHash) {
        recorder.applied(node, position, transaction, stateHash);
    }

    @Override
    public void sent(int node, long life, long message) {
        deliveries.sent(member(node, life), message);
    }

    @Override
    public void delivered(int node, long life, long position, long message) {
        deliveries.delivered(member(node, life), position, message);
    }

    @Override
    public void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    Map<String, Integer> counts() {
        return counts;
    }

    DeliveryHistory deliveries() {
        return deliveries;
    }

    History history(long lists) {
        for (long list = 0; list < lists; list++) {
            recorder.name(list, Catalog.name(list));
        }
        for (int i = 0; i < Catalog.REGISTERS; i++) {
            recorder.name(Catalog.register(i), Catalog.name(Catalog.register(i)));
        }
        return recorder.history();
    }
}
