package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.Stage;
import tutti.model.scenario.ScenarioReader;
import tutti.sim.kernel.Distribution;
import tutti.yaml.UnusableFileException;

class ModelRunTest {
    private static ModelConfig config(String scenario, String... keysAndValues) throws UnusableFileException {
        Map<String, String> keys = new HashMap<>(Map.of("run.transactions", "1500", "run.warm-up", "2s"));
        for (int i = 0; i < keysAndValues.length; i += 2) {
            keys.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return ScenarioReader.read(scenario, keys).config();
    }

    private static RunResult run(ModelConfig config, long seed) {
        RunResult result = new ModelRun(config, seed, new TraceFile(0), List.of()).run();
        assertEquals("", result.safety());
        assertTrue(result.total().committed() + result.total().aborted() >= 1500, result.fingerprint());
        return result;
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "nodo", "akara", "active", "passive", "2pc", "hybrid"})
    void aSeedDeterminesARun(String protocol) throws UnusableFileException {
        ModelConfig config = config("gorda-lan", "protocol.name", protocol, "workload.clients", "360");
        RunResult first = run(config, 1);
        assertEquals(first.fingerprint(), run(config, 1).fingerprint());
        assertNotEquals(first.fingerprint(), run(config, 2).fingerprint());
        assertTrue(first.total().abortRate() < 0.05, () -> protocol + " aborts " + first.total().aborts());
    }

    /** Few warehouses, so that rows are waited for, lost and taken away in the middle of transactions. */
    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "nodo", "akara", "active", "passive", "2pc", "hybrid"})
    void aSeedDeterminesARunStatementByStatement(String protocol) throws UnusableFileException {
        ModelConfig config = config("gorda-lan", "protocol.name", protocol, "workload.clients", "360",
                "workload.clients-per-warehouse", "120", "workload.attachment", "spread", "workload.resubmit", "true",
                "database.execution", "statements");
        RunResult first = run(config, 1);
        assertEquals(first.fingerprint(), run(config, 1).fingerprint());
        assertTrue(first.total().committed() > 700, first.fingerprint());
    }

    /** Two clients share a processor without slices: who computes in one piece waits once for the other, who computes in three pieces more often. */
    @Test
    void serverAndClientOfAReaderWaitForAProcessorEachStatementByStatement(@TempDir Path directory)
            throws UnusableFileException, IOException {
        Path file = Files.writeString(directory.resolve("own.yaml"), """
                extends: paper
                cpu: {orderstatus: constant 1ms, stocklevel: constant 10ms}
                client: {cpu: {orderstatus: constant 1ms, stocklevel: constant 100us}}
                """);
        double[] most = new double[2];
        String[] how = {"at-once", "statements"};
        for (int i = 0; i < 2; i++) {
            RunResult result = run(config("one-database", "database.calibration", file.toString(), "database.execution",
                    how[i], "topology.cores", "1", "topology.quantum", "1s", "workload.clients", "2",
                    "workload.mix.neworder", "0", "workload.mix.payment", "0", "workload.mix.orderstatus", "50",
                    "workload.mix.delivery", "0", "workload.mix.stocklevel", "50", "workload.thinking.orderstatus",
                    "constant 0s", "workload.thinking.stocklevel", "constant 0s", "workload.start", "at-once"), 1);
            most[i] = result.of(RequestKind.ORDER_STATUS).latencies().maxMillis();
        }
        assertTrue(most[0] < 12.2 && most[1] > 12.4, () -> "ms " + Arrays.toString(most));
    }

    @Test
    void toLoseARowTakesProcessorTimeStatementByStatement(@TempDir Path directory)
            throws UnusableFileException, IOException {
        String[] losing = {"", """
                losing:
                  approach: {cpu: {payment: constant 500us}}
                  failing: {cpu: {payment: constant 500us}, waiting: {payment: constant 100us}}
                """};
        double[] tpm = new double[2];
        double[] share = new double[2];
        for (int i = 0; i < 2; i++) {
            Path file = Files.writeString(directory.resolve("own" + i + ".yaml"),
                    "extends: paper\ncpu: {payment: constant 2ms}\n"
                            + "storage: {access: constant 200us, shared: true}\n" + losing[i]);
            ModelConfig config = config("one-database", "database.calibration", file.toString(),
                    "workload.mix.neworder", "0",
                    "workload.mix.payment", "100", "workload.mix.orderstatus", "0", "workload.mix.delivery", "0",
                    "workload.mix.stocklevel", "0", "workload.thinking.payment", "constant 0s",
                    "workload.start", "at-once");
            RunResult result = run(
                    new ModelConfig(config.topology(), config.calibration().withoutCode(), config.workload(),
                            config.policy(), config.execution(), config.copies(), config.protocol(), config.order(),
                            config.length(),
                            config.faults(), config.charge()),
                    1);
            tpm[i] = result.tpm();
            share[i] = result.total().abortRate();
        }
        assertTrue(share[0] > 0.8 && share[1] > 0.8,
                () -> "ten clients want one row, and lose it: " + Arrays.toString(share));
        assertTrue(tpm[1] < 0.6 * tpm[0], () -> "tpm " + Arrays.toString(tpm));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "postgres-r", "nodo", "akara", "2pc", "hybrid"})
    void usersRollBackOneNewOrderOfAHundred(String protocol) throws UnusableFileException {
        RunResult result = run(config("gorda-lan", "protocol.name", protocol, "workload.clients", "360",
                "workload.rollbacks", "true", "workload.resubmit", "true"), 1);
        long given = result.of(RequestKind.NEW_ORDER).aborts().getOrDefault("user", 0L);
        assertTrue(given >= 1 && given <= 20, () -> protocol + " aborts " + result.total().aborts());
        assertEquals(given, result.total().aborts().get("user"), "of no other kind");
    }

    @Test
    void conservativeOrderIsBoundByItsQueuesAndOptimisticExecutionIsNot() throws UnusableFileException {
        String[] many = {"workload.clients", "1980", "run.warm-up", "20s"};
        double si = run(config("gorda-lan", many), 1).tpm();
        ModelConfig slow = config("gorda-lan", many[0], many[1], many[2], many[3], "protocol.name", "nodo");
        RunResult nodo = run(slow, 1);
        assertTrue(si > 9000, () -> "si makes " + si + " tpm");
        assertTrue(nodo.tpm() > 3000 && nodo.tpm() < 5000, () -> "nodo makes " + nodo.tpm() + " tpm");
        assertTrue(nodo.of(RequestKind.NEW_ORDER).stageMillis()[Stage.ORDERING.ordinal()] > 1000, "it waits in Q2");
    }

    /** The owner executes what waits in a queue in one transaction, where under {@code nodo} one follows the other by a message. */
    @Test
    void ownersExecuteTogetherWhatWaitsInAQueue() throws UnusableFileException {
        RunResult together = run(config("scaling", "protocol.name", "hybrid", "workload.classes", "tables"), 1);
        RunResult alone = run(config("scaling", "protocol.name", "hybrid", "workload.classes", "tables",
                "protocol.parameters.batch-requests", "1"), 1);
        assertTrue(together.tpm() > 1.1 * alone.tpm(), () -> together.tpm() + " and, one by one, " + alone.tpm());
        assertEquals(Map.of(), together.total().aborts());
    }

    @Test
    void readersWaitForWritersUnderTwoPhaseLockingOnly() throws UnusableFileException {
        String[] few = {"workload.clients", "360", "workload.clients-per-warehouse", "360", "workload.attachment",
                "spread", "workload.mix.payment", "4", "workload.mix.stocklevel", "44", "protocol.name", "dbsm",
                "database.locks", "locking"};
        RunResult locking = run(config("gorda-lan", few), 1);
        RunResult.Outcomes readers = locking.of(RequestKind.STOCK_LEVEL);
        assertTrue(readers.stageMillis()[Stage.LOCKING.ordinal()] > 0,
                () -> "they wait " + readers.stageMillis()[Stage.LOCKING.ordinal()] + " ms");
        assertTrue(readers.aborts().getOrDefault("victim", 0L) > 0, () -> "they give way: " + readers.aborts());
        few[few.length - 1] = "timestamp";
        RunResult.Outcomes free = run(config("gorda-lan", few), 1).of(RequestKind.STOCK_LEVEL);
        assertEquals(0, free.stageMillis()[Stage.LOCKING.ordinal()]);
        assertEquals(Map.of(), free.aborts());
    }

    /** D5.1, table 3.5: of the Payments of three sites 12.78 % are aborted. */
    @Test
    void paymentsMeetInHistoryIfItIsOneRow() throws UnusableFileException {
        String[] payments = {"workload.clients", "1000", "protocol.name", "dbsm", "workload.whole-history", "false"};
        assertTrue(run(config("gorda-lan", payments), 1).of(RequestKind.PAYMENT).abortRate() < 0.02);
        payments[payments.length - 1] = "true";
        RunResult whole = run(config("gorda-lan", payments), 1);
        double share = whole.of(RequestKind.PAYMENT).abortRate();
        assertTrue(share > 0.08 && share < 0.2, () -> share + " of the Payments are aborted");
        assertTrue(whole.of(RequestKind.NEW_ORDER).abortRate() < 0.03, "others do not write there");
    }

    @Test
    void coarseReadSetsStarveDelivery() throws UnusableFileException {
        RunResult coarse = run(config("gorda-lan", "workload.clients", "1980", "protocol.name", "dbsm",
                "protocol.parameters.rows-per-table", "50"), 1);
        assertTrue(coarse.of(RequestKind.DELIVERY).abortRate() > 0.9,
                () -> "aborts " + coarse.of(RequestKind.DELIVERY).aborts());
        assertTrue(coarse.of(RequestKind.NEW_ORDER).abortRate() < 0.05,
                () -> "aborts " + coarse.of(RequestKind.NEW_ORDER).aborts());
    }

    @Test
    void wiceAnswersAtThePrimaryAfterTwoOneWayDelays() throws UnusableFileException {
        RunResult wice = run(config("gorda-wan", "workload.clients", "600", "protocol.name", "wice", "order.members",
                "first-cluster"), 1);
        RunResult.Outcomes payments = wice.kinds().getOrDefault("a", Map.of()).get(RequestKind.PAYMENT);
        assertEquals(405, payments.latencies().percentileMillis(0.5), 10);
        assertTrue(wice.total("a").abortRate() < 0.01, () -> "aborts " + wice.total("a").aborts());
    }

    /** It executes while its first message is on its way. The second waits for the order as before. */
    @ParameterizedTest
    @ValueSource(strings = {"sequencer", "group"})
    void nodoExecutesMeanwhileIfItHearsOfMessagesBeforeTheirPlaces(String order) throws UnusableFileException {
        double[] millis = new double[2];
        for (boolean tentative : new boolean[]{false, true}) {
            RunResult result = run(config("gorda-wan", "workload.clients", "240", "protocol.name", "nodo",
                    "workload.classes", "warehouses", "order.kind", order, "order.tentative",
                    Boolean.toString(tentative)),
                    1);
            millis[tentative ? 1 : 0] = result.total().latencies().meanMillis();
        }
        assertTrue(millis[1] < millis[0] - 3, () -> Arrays.toString(millis));
    }

    /** The modelled sequencer stands for the real one: if packets cost no processor time, the steps take the same time. */
    @Test
    void realGroupCommunicationTakesAsLongAsTheModelledSequencer() throws UnusableFileException {
        double modelled = run(config("gorda-lan-3", "order.kind", "sequencer"), 1).certification().meanMillis();
        ModelConfig config = config("gorda-lan-3");
        Calibration paper = config.calibration();
        Calibration.Code code = paper.code();
        Calibration free = new Calibration(paper.cpu(), paper.log(), paper.rows(), paper.client(), paper.losing(),
                new Calibration.Code(code.messageNanos(), code.byteNanos(), code.eventNanos(), 0, 0));
        double real = run(
                new ModelConfig(config.topology(), free, config.workload(), config.policy(), config.execution(),
                        config.copies(),
                        config.protocol(), config.order(), config.length(), config.faults(), config.charge()),
                1)
                .certification().meanMillis();
        assertEquals(modelled, real, 0.15 * modelled);
    }

    /** Three nodes that execute what they can: on one machine together as much as its processors, which one of them has in vain. */
    @Test
    void sitesOfOneMachineShareItsProcessors() throws UnusableFileException {
        String[] busy = {"workload.clients", "9", "run.warm-up", "200ms"};
        RunResult apart = run(config("scaling", busy), 1);
        String[] shared = Arrays.copyOf(busy, busy.length + 2);
        shared[busy.length] = "topology.machines";
        shared[busy.length + 1] = "1";
        RunResult together = run(config("scaling", shared), 1);
        assertTrue(together.tpm() < 0.6 * apart.tpm(), () -> apart.tpm() + " and " + together.tpm());
        assertTrue(together.cpuShare() > 0.9 && together.cpuShare() <= 1.0001, () -> "busy " + together.cpuShare());
        shared[busy.length + 1] = "3";
        assertEquals(apart.fingerprint(), run(config("scaling", shared), 1).fingerprint());
    }

    /** Half of it before a majority has the message, half before it is delivered: at least once on the way of every commit. */
    @Test
    void whatTheOrderComputesTakesTimeAndProcessors() throws UnusableFileException {
        RunResult free = run(config("scaling", "workload.clients", "1", "run.warm-up", "200ms"), 1);
        RunResult computing = run(config("scaling", "workload.clients", "1", "run.warm-up", "200ms",
                "database.with.code.order", "400us"), 1);
        double more = computing.of(RequestKind.PAYMENT).latencies().meanMillis()
                - free.of(RequestKind.PAYMENT).latencies().meanMillis();
        assertEquals(0.4, more, 0.05);
        double used = 6 * (computing.cpuShare() / computing.tpm() - free.cpuShare() / free.tpm()) * 60_000;
        // 92 of 100 write, at three sites of two cores
        assertEquals(3 * 0.4 * 0.92, used, 0.15, () -> "ms of processors for a transaction");
    }

    @Test
    void oneDatabaseTakesItsOwnTimeItsClientsTheNetworksAndTheLogs(@TempDir Path directory)
            throws UnusableFileException, IOException {
        Path file = Files.writeString(directory.resolve("own.yaml"), """
                extends: paper
                cpu: {neworder: constant 2ms, orderstatus: constant 2ms, payment: constant 2ms, delivery: constant 2ms,
                  stocklevel: constant 2ms}
                storage: {access: constant 3ms, shared: true}
                client:
                  cpu: {neworder: constant 1ms, orderstatus: constant 1ms}
                  waiting: {neworder: constant 500us, orderstatus: constant 250us}
                """);
        ModelConfig read = config("one-database", "database.calibration", file.toString(), "workload.clients", "2");
        RunResult result = run(new ModelConfig(read.topology(), read.calibration().withoutCode(), read.workload(),
                read.policy(), read.execution(), read.copies(), read.protocol(), read.order(), read.length(),
                read.faults(),
                read.charge()), 1);
        assertEquals(6.5, result.of(RequestKind.NEW_ORDER).latencies().percentileMillis(0.5), 0.05);
        assertEquals(3.25, result.of(RequestKind.ORDER_STATUS).latencies().percentileMillis(0.5), 0.03);
        assertEquals(5, result.of(RequestKind.PAYMENT).latencies().percentileMillis(0.5), 0.05);
    }

    @Test
    void whoListensHearsOfEveryTransactionThatCounts() throws UnusableFileException {
        ModelRun run = new ModelRun(config("one-database"), 1, new TraceFile(0), List.of());
        long[] heard = new long[2];
        run.onEnd((kind, since, now, cause) -> {
            heard[cause.isEmpty() ? 0 : 1]++;
            heard[0] += kind == RequestKind.MAINTENANCE || now < since ? 1_000_000 : 0;
        });
        RunResult result = run.run();
        assertEquals(result.total().committed(), heard[0]);
        assertEquals(result.total().aborted(), heard[1]);
    }

    @Test
    void lossIsRepairedAndSlowsCertificationDown() throws UnusableFileException {
        ModelConfig config = config("gorda-lan-3");
        ModelConfig lossy = new ModelConfig(config.topology(), config.calibration(), config.workload(), config.policy(),
                config.execution(), config.copies(),
                config.protocol(), config.order(), config.length(),
                List.of(new ModelFault.RandomLoss(0, List.of(0, 1, 2), 0.05)), config.charge());
        RunResult calm = run(config, 1);
        RunResult result = run(lossy, 1);
        assertTrue(result.traffic().lost() > 0);
        assertTrue(result.certification().percentileMillis(0.9) > 2 * calm.certification().percentileMillis(0.9));
    }

    @Test
    void aSiteThatStopsTakesItsClientsWithIt() throws UnusableFileException {
        ModelConfig config = config("gorda-lan-3");
        ModelConfig crashing = new ModelConfig(config.topology(), config.calibration(), config.workload(),
                config.policy(), config.execution(), config.copies(), config.protocol(), config.order(),
                config.length(),
                List.of(new ModelFault.Crash(3_000_000_000L, List.of(0)),
                        new ModelFault.ClockDrift(0, List.of(1), 0.1),
                        new ModelFault.SchedulingLatency(0, List.of(2),
                                Distribution.parse("exponential 200us"))),
                config.charge());
        RunResult result = run(crashing, 1);
        double before = result.samples().get(2).committedPerSecond();
        double after = result.samples().getLast().committedPerSecond();
        assertTrue(after > before / 3 && after < before, () -> before + " then " + after);
    }

    @Test
    void changesAreMadeAtThePrimaryAndByAnotherWhenItIsGone() throws UnusableFileException {
        String[] passive = {"protocol.name", "passive", "workload.clients", "600"};
        RunResult wide = run(config("gorda-wan", passive), 1);
        double near = wide.kinds().getOrDefault("a", Map.of()).get(RequestKind.PAYMENT).latencies()
                .percentileMillis(0.5);
        assertEquals(0, wide.total("b").committed() - committed(wide, "b", RequestKind.ORDER_STATUS)
                - committed(wide, "b", RequestKind.STOCK_LEVEL), "updates run at the primary");
        assertTrue(near > 400, () -> "those of the other cluster travel; half of them wait " + near + " ms");
        ModelConfig config = config("gorda-lan-3", "protocol.name", "passive", "run.transactions", "3000");
        ModelConfig crashing = new ModelConfig(config.topology(), config.calibration(), config.workload(),
                config.policy(), config.execution(), config.copies(), config.protocol(), config.order(),
                config.length(),
                List.of(new ModelFault.Crash(5_000_000_000L, List.of(0))), config.charge());
        RunResult result = run(crashing, 1);
        assertTrue(result.samples().getLast().committedPerSecond() > 30,
                () -> "then " + result.samples().getLast().committedPerSecond());
    }

    private static long committed(RunResult result, String cluster, RequestKind kind) {
        return result.kinds().getOrDefault(cluster, Map.of()).get(kind).committed();
    }

    @Test
    void distributedLocksTakeLongerThanCertification() throws UnusableFileException {
        String[] busy = {"workload.clients", "1980", "database.locks", "locking"};
        ModelConfig locking = config("gorda-lan", busy[0], busy[1], busy[2], busy[3], "protocol.name", "2pc");
        RunResult locks = run(locking, 1);
        RunResult certified = run(config("gorda-lan", busy[0], busy[1], busy[2], busy[3]), 1);
        assertTrue(
                locks.of(RequestKind.PAYMENT).latencies()
                        .meanMillis() > certified.of(RequestKind.PAYMENT).latencies().meanMillis()
                                + 1,
                () -> locks.of(RequestKind.PAYMENT).latencies().meanMillis() + " ms");
        assertTrue(locks.total().abortRate() < 0.1, () -> "aborts " + locks.total().aborts());
    }

    @Tag("long")
    @Test
    void withoutALimitAkaraDoesNotRecoverFromManyClientsAtOnce() throws UnusableFileException {
        String[] keys = {"workload.clients", "3240", "protocol.name", "akara", "workload.classes", "written-tables",
                "run.transactions", "6000", "run.warm-up", "30s", "protocol.parameters.optimistic"};
        String[] limited = Arrays.copyOf(keys, keys.length + 1);
        limited[keys.length] = "25";
        String[] free = Arrays.copyOf(keys, keys.length + 1);
        free[keys.length] = "10000";
        RunResult with = run(config("akara-lan", limited), 1);
        RunResult without = run(config("akara-lan", free), 1);
        assertTrue(with.total().latencies().meanMillis() < 2000, () -> "with " + with.total().latencies().meanMillis());
        assertTrue(without.total().repeatRate() > 0.3, () -> "without a limit " + without.total().repeatRate());
        assertTrue(without.total().latencies().meanMillis() > 4000,
                () -> "without " + without.total().latencies().meanMillis());
    }

    /** Each replica has locks that the other one needs, and who is rolled back comes again at once: the oldest gets through. */
    @Test
    void twoPhaseCommitGoesOnWhereReplicasMeetAtFewRows() throws UnusableFileException {
        RunResult result = run(config("scaling", "protocol.name", "2pc", "topology.clusters",
                "[{name: node, sites: 2}]", "workload.clients", "16", "workload.warehouses", "10", "run.warm-up",
                "200ms"), 1);
        assertTrue(result.total().abortRate() < 0.6, () -> "aborts " + result.total().aborts());
        assertFalse(result.total().aborts().containsKey("lock-timeout"), () -> "aborts " + result.total().aborts());
    }

    @Test
    void measuredCostsCanBeReplayed() throws UnusableFileException {
        ModelRun measured = new ModelRun(config("gorda-lan-3", "run.charge", "measured"), 1, new TraceFile(0),
                List.of());
        String fingerprint = measured.run().fingerprint();
        List<Costs> costs = measured.costs().stream().map(one -> Costs.of(one.toArray())).toList();
        assertEquals(fingerprint,
                new ModelRun(config("gorda-lan-3", "run.charge", "replay"), 1, new TraceFile(0), costs)
                        .run().fingerprint());
    }

    @Test
    void openAndPartlyOpenClientsComeAtARate() throws UnusableFileException {
        for (String arrival : List.of("open", "partly-open")) {
            ModelConfig config = config("gorda-lan", "workload.arrival", arrival, "workload.rate", "50",
                    "workload.staying", "0.5", "workload.thinking.neworder", "constant 1ms",
                    "workload.thinking.payment", "constant 1ms");
            double perSecond = run(config, 1).tpm() / 60;
            double expected = arrival.equals("open") ? 50 : 100;
            assertEquals(expected, perSecond, expected / 5, arrival);
        }
    }

    /** Neighbours at one site meet at its locks, before they can meet in the order. */
    @Test
    void clientsOfAWarehouseMeetWhereTheyAreAttached() throws UnusableFileException {
        for (WorkloadModel.Attachment attachment : WorkloadModel.Attachment.values()) {
            RunResult result = run(config("gorda-lan-3", "protocol.name", "si", "workload.clients", "30",
                    "workload.clients-per-warehouse", "10", "workload.attachment",
                    attachment.name().toLowerCase(Locale.ROOT),
                    "workload.thinking.neworder", "constant 50ms", "workload.thinking.payment", "constant 50ms"), 1);
            Map<String, Long> aborts = result.total().aborts();
            long atTheLocks = aborts.getOrDefault("first-updater", 0L);
            long inTheOrder = aborts.values().stream().mapToLong(Long::longValue).sum() - atTheLocks;
            assertEquals(attachment != WorkloadModel.Attachment.WAREHOUSE, inTheOrder > atTheLocks,
                    () -> attachment + ": " + aborts);
        }
    }

    /** Twenty clients at forty warehouses: each at its own they hardly meet, at any they do, the less the more warehouses there are. */
    @Test
    void clientsOfAnyWarehouseMeetByTheNumberOfWarehouses() throws UnusableFileException {
        double own = aborts("spread", "40");
        double any = aborts("any", "40");
        double many = aborts("any", "4000");
        assertTrue(any > 2 * own && any > 2 * many, () -> own + ", " + any + ", " + many);
    }

    private static double aborts(String attachment, String warehouses) throws UnusableFileException {
        return run(config("scaling", "workload.clients", "20", "workload.attachment", attachment,
                "workload.warehouses", warehouses), 1).total().abortRate();
    }

    /** A replica's code is slow, so that it hears late of executions, some of which have been rolled back meanwhile. */
    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "akara"})
    void clientsMayLoseBeforeTheProtocolHearsOfThem(String protocol, @TempDir Path directory) throws Exception {
        Path fast = Files.writeString(directory.resolve("fast.yaml"), """
                title: In memory
                cpu: {neworder: constant 400us, payment: constant 80us, orderstatus: constant 50us,
                  delivery: constant 3ms, stocklevel: constant 300us, maintenance: constant 1ms}
                storage: {log-writes-per-row: 0, access: 1us, parallelism: 8}
                apply-share: 0.2
                code: {message: 20us, nanos-per-byte: 5, event: 20us, packet: 10us}
                """);
        RunResult result = run(config("gorda-lan", "database.calibration", fast.toString(), "protocol.name", protocol,
                "topology.cores", "8", "workload.clients", "18", "workload.clients-per-warehouse", "9",
                "workload.attachment", "spread", "workload.classes", "warehouses", "workload.thinking.neworder",
                "constant 0s",
                "workload.thinking.payment",
                "constant 0s", "workload.thinking.orderstatus", "constant 0s", "workload.thinking.delivery",
                "constant 0s", "workload.thinking.stocklevel", "constant 0s", "run.warm-up", "100ms"), 1);
        assertEquals("", result.safety());
        assertTrue(protocol.equals("akara") || result.total().abortRate() > 0.2,
                () -> protocol + " aborts " + result.total().aborts());
    }

    @Test
    void underTwoPhaseLockingTransactionsWaitWhereTimestampsAbortThem() throws UnusableFileException {
        RunResult.Outcomes timestamps = contended("timestamp");
        RunResult.Outcomes locking = contended("locking");
        assertTrue(timestamps.aborts().getOrDefault("first-updater", 0L) > 100, () -> timestamps.aborts().toString());
        assertEquals(0, locking.aborts().getOrDefault("first-updater", 0L));
        int waiting = Stage.LOCKING.ordinal();
        assertTrue(locking.stageMillis()[waiting] > 2 * timestamps.stageMillis()[waiting],
                () -> "waited " + timestamps.stageMillis()[waiting] + " and " + locking.stageMillis()[waiting] + " ms");
    }

    /** Clients that do not think, at one warehouse for ten of them. */
    private static RunResult.Outcomes contended(String locks) throws UnusableFileException {
        return run(config("gorda-cluster", "database.locks", locks, "workload.clients", "60", "run.warm-up", "100ms",
                "workload.thinking.neworder", "constant 0s", "workload.thinking.payment", "constant 0s",
                "workload.thinking.orderstatus", "constant 0s", "workload.thinking.delivery", "constant 0s",
                "workload.thinking.stocklevel", "constant 0s"), 1).total();
    }
}
