package tutti.sim.world;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.check.isolation.LockExclusionCheck;
import tutti.check.order.DeliveryHistory;
import tutti.core.txn.TransactionId;
import tutti.sim.kernel.Clock;
import tutti.sim.world.database.Catalog;
import tutti.sim.world.database.Run;
import tutti.sim.world.node.WorldLog;

/** What happened in a run, in the form in which checkers want it. */
final class Recording implements WorldLog {
    /** Name of the check of what is looked at all the time. */
    static final String INVARIANTS = "invariants";

    /** Name of the check of tables that some nodes keep. */
    static final String KEEPERS = "keepers are equal";

    private static final int LIVES_MAX = 1000;
    private static final int PER_POSITION = 1024;
    private static final int VIOLATIONS_MAX = 10;

    private final Clock clock;
    private final Memories memories;
    private final HistoryRecorder recorder = new HistoryRecorder();
    private final DeliveryHistory deliveries = new DeliveryHistory();
    private final Set<TransactionId> executed = new HashSet<>();
    /** By name that the client knows: the last run, and which of them somebody was told to be aborted. */
    private final Map<TransactionId, TransactionId> lastRuns = new HashMap<>();
    private final Set<TransactionId> toldAborted = new HashSet<>();
    private final TreeMap<String, Integer> counts = new TreeMap<>();
    /** By node: where its protocol has decided transactions. */
    private final Map<Integer, Map<TransactionId, Long>> positions = new HashMap<>();
    /** By node: how many that are decided together have been told since the last decision. */
    private final Map<Integer, Integer> together = new HashMap<>();
    private final Set<Integer> excluded = new HashSet<>();
    /** What some node has made, what some node has recorded not to make, and both. */
    private final Set<TransactionId> applied = new HashSet<>();
    private final Set<TransactionId> skipped = new HashSet<>();
    private final Set<TransactionId> leftOut = new HashSet<>();
    /** What tables held that some nodes keep: by transaction and table, by node. */
    private final Map<Holding, Map<Integer, Long>> holdings = new LinkedHashMap<>();
    private final List<CheckResult.Violation> violations = new ArrayList<>();
    private final Map<TransactionId, List<LockExclusionCheck.Hold>> held = new LinkedHashMap<>();

    /** By transaction: nodes that have made nothing of it, since they keep none of its tables. */
    private final Map<TransactionId, Set<Integer>> passedOver = new HashMap<>();

    private final boolean mayLeaveOut;
    private final KeepersWatch keepers;

    /**
     * @param mayLeaveOut whether faults may have it that what a node has acknowledged is left out
     * @param memories of nodes, which are told what concerns them
     * @param keepers of tables that some nodes lack
     */
    Recording(Clock clock, boolean mayLeaveOut, Memories memories, KeepersWatch keepers) {
        this.keepers = keepers;
        this.clock = clock;
        this.mayLeaveOut = mayLeaveOut;
        this.memories = memories;
    }

    /**
     * The place of a transaction among all: several commit at a position, one after the other.
     *
     * @param number of it among those of the position, from 0
     */
    private static long place(long position, int number) {
        return position * PER_POSITION + number;
    }

    /** The last place of a position. */
    private static long last(long position) {
        return place(position, PER_POSITION - 1);
    }

    private static int member(int node, long life) {
        return node * LIVES_MAX + Math.toIntExact(life);
    }

    @Override
    public void started(int node, long life, long state, long after) {
        count("start");
        if (!excluded.contains(node)) {
            recorder.started(node, last(state));
        }
        deliveries.joined(member(node, life), after);
    }

    @Override
    public void ended(int node, long life) {
        count("end of a life");
        memories.ended(node);
        if (!excluded.contains(node)) {
            recorder.crashed(node);
        }
        deliveries.crashed(member(node, life));
    }

    @Override
    public void begun(TransactionId transaction, int session) {
        recorder.begun(transaction, session, clock.now());
    }

    @Override
    public void again(TransactionId name, TransactionId run) {
        lastRuns.put(name, run);
        if (toldAborted.contains(name)) {
            answered(run, false);
        }
    }

    /** Who has asked was told what became of a transaction, whichever of its runs that was. */
    void told(TransactionId name, boolean committed) {
        if (!committed) {
            toldAborted.add(name);
        }
        answered(lastRuns.getOrDefault(name, name), committed);
    }

    @Override
    public void executed(Run run) {
        TransactionId transaction = run.transaction();
        if (!executed.add(transaction)) {
            recorder.executedAgain(transaction);
        }
        recorder.snapshot(transaction, last(run.snapshot()));
        run.reads().forEach((row, writer) -> recorder.read(transaction, row, writer));
        run.written().forEach(row -> recorder.write(transaction, row));
        held.put(transaction, run.held());
    }

    /** What each transaction holds that no other may at the same time. */
    Map<TransactionId, List<LockExclusionCheck.Hold>> held() {
        return held;
    }

    /**
     * All nodes execute the same: what the first has seen counts. What it has not changed, every engine has held for it until it was visible there, so
     * who has locked that later, if only in an older snapshot, has not held it at the same time (docs/decisions/0128).
     */
    @Override
    public void requested(Run run) {
        TransactionId transaction = run.transaction();
        if (!executed.contains(transaction)) {
            executed(run);
            held.put(transaction, run.held().stream().filter(LockExclusionCheck.Hold::changed).toList());
        }
    }

    @Override
    public void answered(TransactionId transaction, boolean committed) {
        if (leftOut.contains(transaction)) {
            return;
        }
        recorder.answered(transaction, clock.now(), committed ? History.Answer.COMMITTED : History.Answer.ABORTED);
    }

    @Override
    public void decided(int node, long position, TransactionId transaction) {
        positions.computeIfAbsent(node, _ -> new HashMap<>()).put(transaction, place(position, 0));
        together.remove(node);
    }

    @Override
    public void decidedWith(int node, long position, TransactionId transaction) {
        positions.computeIfAbsent(node, _ -> new HashMap<>()).put(transaction,
                place(position, together.merge(node, 1, Integer::sum)));
        count("committed with another");
    }

    @Override
    public void applied(int node, TransactionId transaction, long stateHash) {
        if (excluded.contains(node)) {
            return;
        }
        applied.add(transaction);
        leaveOut(transaction);
        record(node, transaction, stateHash);
    }

    private void record(int node, TransactionId transaction, long stateHash) {
        Long position = positions.getOrDefault(node, Map.of()).get(transaction);
        if (position == null) {
            violated("decisions", "node " + node + " applies " + transaction + ", which its protocol has not decided");
        } else {
            recorder.applied(node, position, transaction, stateHash);
        }
    }

    @Override
    public void passedOver(int node, TransactionId transaction, long stateHash) {
        if (!excluded.contains(node)) {
            record(node, transaction, stateHash);
            passedOver.computeIfAbsent(transaction, _ -> new TreeSet<>()).add(node);
            withdraw(transaction);
        }
    }

    /** Who has made nothing of what others have left out has left it out as well. */
    private void withdraw(TransactionId transaction) {
        if (skipped.contains(transaction)) {
            passedOver.getOrDefault(transaction, Set.of()).forEach(node -> recorder.withdrawn(node, transaction));
        }
    }

    @Override
    public void forgets(int node, long position) {
        String wrong = keepers.forgets(node, position);
        if (wrong != null) {
            violated(KEEPERS, wrong);
        }
    }

    private record Holding(TransactionId transaction, int table) {}

    @Override
    public void holds(int node, TransactionId transaction, int table, long hash) {
        if (!excluded.contains(node)) {
            holdings.computeIfAbsent(new Holding(transaction, table), _ -> new TreeMap<>()).put(node, hash);
        }
    }

    /** Nodes that keep a table must hold the same of it behind the same transaction. */
    private void compareHoldings() {
        holdings.forEach((of, byNode) -> {
            byNode.keySet().removeAll(excluded);
            if (byNode.values().stream().distinct().count() > 1) {
                violated(KEEPERS, "behind " + of.transaction() + " table " + of.table() + " differs: " + byNode);
            }
        });
        holdings.clear();
    }

    @Override
    public void excluded(int node) {
        excluded.add(node);
        recorder.forget(node);
    }

    @Override
    public void skipped(int node, long position) {
        positions.getOrDefault(node, Map.of()).forEach((transaction, at) -> {
            if (at / PER_POSITION == position && skipped.add(transaction)) {
                leaveOut(transaction);
                withdraw(transaction);
            }
        });
    }

    /** What one node has made and another left out is no part of the history; who has made it must not serve any more. */
    private void leaveOut(TransactionId transaction) {
        if (!skipped.isEmpty() && applied.contains(transaction) && skipped.contains(transaction)
                && leftOut.add(transaction)) {
            count("left out");
            if (!mayLeaveOut) {
                violated("votes", transaction + " is left out, which a node has made");
            }
            recorder.undone(transaction);
        }
    }

    /** Whether anything was acknowledged, perhaps read, and then left out. */
    boolean hasLeftOut() {
        return !leftOut.isEmpty();
    }

    @Override
    public void violated(String check, String what) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add(CheckResult.Violation.of(check, "", what));
        }
    }

    /** Whether anything was told of that must never be. */
    CheckResult violations() {
        compareHoldings();
        return new CheckResult(INVARIANTS, "every event", violations, List.of(), 0);
    }

    @Override
    public void sent(int node, long life, long message) {
        deliveries.sent(member(node, life), message);
    }

    @Override
    public void delivered(int node, long life, long position, long message) {
        memories.delivered(node);
        deliveries.delivered(member(node, life), position, message);
    }

    @Override
    public void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    /** Something has happened so many times. */
    void count(String what, long times) {
        if (times > 0) {
            counts.merge(what, Math.toIntExact(times), Integer::sum);
        }
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
        for (int i = 0; i < Catalog.LINKS; i++) {
            recorder.name(Catalog.link(i), Catalog.name(Catalog.link(i)));
        }
        return recorder.history();
    }
}
