package tutti.check.model;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.check.isolation.Isolation;
import tutti.check.isolation.IsolationCheck;
import tutti.check.isolation.PrefixSnapshotCheck;
import tutti.check.listappend.ListAppendCheck;
import tutti.check.model.ReplicatedModel.Fault;
import tutti.check.model.ReplicatedModel.Run;
import tutti.check.model.ReplicatedModel.Snapshots;
import tutti.check.replica.AcknowledgedHistoryCheck;
import tutti.check.replica.CommitSequenceCheck;
import tutti.core.txn.TransactionId;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;
import tutti.workload.listappend.ListAppendOperation;
import tutti.workload.listappend.ListAppendTransaction;

/** How long checkers take. Run by name, with {@code -Dtutti.speed=true}; the bounds are those of issue 3. */
@EnabledIfSystemProperty(named = "tutti.speed", matches = "true")
class SpeedTest {
    @Test
    void aThousandTransactions() {
        for (Fault fault : new Fault[]{Fault.NONE, Fault.NO_FIRST_COMMITTER_WINS}) {
            Run[] runs = new Run[40];
            for (int seed = 0; seed < runs.length; seed++) {
                runs[seed] = ReplicatedModel.run(seed, 1_000, 50, true, Snapshots.LATEST, fault);
            }
            timed(fault, "serializability", runs, run -> IsolationCheck.check(run.history(), Isolation.SERIALIZABLE));
            timed(fault, "strict", runs, run -> IsolationCheck.check(run.history(), Isolation.STRICT_SERIALIZABLE));
            timed(fault, "strong SI", runs,
                    run -> IsolationCheck.check(run.history(), Isolation.STRONG_SNAPSHOT_ISOLATION));
            timed(fault, "prefix", runs,
                    run -> PrefixSnapshotCheck.check(run.history(), PrefixSnapshotCheck.Freshness.STRONG));
            timed(fault, "sequences", runs, run -> CommitSequenceCheck.check(run.history()));
            timed(fault, "acknowledged", runs, run -> AcknowledgedHistoryCheck.check(run.history()));
            timed(fault, "list-append strict", runs,
                    run -> ListAppendCheck.check(run.clients(), Isolation.STRICT_SERIALIZABLE));
        }
    }

    private static void timed(Fault fault, String name, Run[] runs,
            Function<Run, CheckResult> check) {
        long warm = System.nanoTime();
        for (Run run : runs) {
            assertTrue(check.apply(run).passed() || fault != Fault.NONE);
        }
        long begun = System.nanoTime();
        double worst = 0;
        for (int round = 0; round < 5; round++) {
            for (Run run : runs) {
                worst = Math.max(worst, check.apply(run).seconds());
            }
        }
        System.out.printf("1,000 transactions, %s, %s: cold mean %.2f ms, then mean %.2f ms, worst %.2f ms%n", fault,
                name, (begun - warm) / 1e6 / runs.length, (System.nanoTime() - begun) / 5e6 / runs.length, worst * 1e3);
    }

    @Test
    void aMillionTransactions() {
        HistoryRecorder recorder = new HistoryRecorder();
        ListAppendHistory clients = new ListAppendHistory(1_000_000);
        SplittableRandom random = new SplittableRandom(1);
        int keys = 100_000;
        TransactionId[] last = new TransactionId[keys];
        int[][] lists = new int[keys][0];
        for (int t = 1; t <= 1_000_000; t++) {
            TransactionId id = new TransactionId(t % 3, t / 3);
            ListAppendOperation[] operations = new ListAppendOperation[4];
            recorder.begun(id, t % 100, 10L * t);
            for (int i = 0; i < 4; i++) {
                int key = 4 * random.nextInt(keys / 4) + (i + t) % 4;
                recorder.read(id, key, last[key]);
                if (i < 2) {
                    operations[i] = new ListAppendOperation.Read(key, lists[key]);
                } else {
                    recorder.write(id, key);
                    last[key] = id;
                    operations[i] = new ListAppendOperation.Append(key, t);
                    lists[key] = Arrays.copyOf(lists[key], lists[key].length + 1);
                    lists[key][lists[key].length - 1] = t;
                }
            }
            recorder.committed(id, t);
            recorder.answered(id, 10L * t + 50, History.Answer.COMMITTED);
            for (int replica = 0; replica < 3; replica++) {
                recorder.applied(replica, t, id, t);
            }
            assertTrue(clients.add(new ListAppendTransaction(t % 100, t % 3, 10L * t, 10L * t + 50, ClientOutcome.OK,
                    false, List.of(operations))));
        }
        long begun = System.nanoTime();
        History history = recorder.history();
        System.out.printf("1,000,000 transactions: history made in %.1f s%n", (System.nanoTime() - begun) / 1e9);
        million(() -> IsolationCheck.check(history, Isolation.SERIALIZABLE));
        million(() -> IsolationCheck.check(history, Isolation.STRICT_SERIALIZABLE));
        million(() -> IsolationCheck.check(history, Isolation.STRONG_SNAPSHOT_ISOLATION));
        million(() -> PrefixSnapshotCheck.check(history, PrefixSnapshotCheck.Freshness.STRONG));
        million(() -> CommitSequenceCheck.check(history));
        million(() -> AcknowledgedHistoryCheck.check(history));
        million(() -> ListAppendCheck.check(clients, Isolation.STRICT_SERIALIZABLE));
        million(() -> ListAppendCheck.check(clients, Isolation.STRONG_SNAPSHOT_ISOLATION));
    }

    @Test
    void manyTransactionsOfAStoreThatIsWrong() throws Exception {
        Run run = ReplicatedModel.run(1, 200_000, 5_000, false, Snapshots.LATEST, Fault.NO_FIRST_COMMITTER_WINS);
        Run forks = ReplicatedModel.run(1, 200_000, 1_000, false, Snapshots.OLD, Fault.NONE);
        for (CheckResult result : List.of(IsolationCheck.check(run.history(), Isolation.SERIALIZABLE),
                IsolationCheck.check(run.history(), Isolation.STRONG_SNAPSHOT_ISOLATION),
                ListAppendCheck.check(run.clients(), Isolation.STRONG_SNAPSHOT_ISOLATION),
                IsolationCheck.check(forks.history(), Isolation.STRICT_SERIALIZABLE),
                ListAppendCheck.check(forks.clients(), Isolation.STRICT_SERIALIZABLE))) {
            System.out
                    .println(result.text().lines().limit(4).map(line -> line.substring(0, Math.min(400, line.length())))
                            .toList());
            assertTrue(!result.passed() && result.seconds() < 60);
        }
    }

    private static void million(Supplier<CheckResult> check) {
        CheckResult result = check.get();
        System.out.println(result.text());
        assertTrue(result.passed());
        assertTrue(result.seconds() < 60);
    }
}
