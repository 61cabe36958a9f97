package tutti.bench.apply;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.pgwire.BackendConnection;
import tutti.workload.tpcc.JdbcStatements;
import tutti.workload.tpcc.PortableTpcc;
import tutti.workload.tpcc.TpccConstants;
import tutti.workload.tpcc.TpccInputs;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccSession;

/**
 * Measures what applying costs the server: the processor time of the process that applies, for the same transactions, recorded once and
 * applied by each contender in a database of its own, in rounds in which they take turns. At the end all databases must be equal.
 */
final class ApplyBenchmark implements AutoCloseable {
    /** Transactions that an applier makes as one when it is behind, here. */
    static final int GROUP = 8;
    private static final int ROWS = 20_000;
    private static final String BASE = "base";
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int TPCC = 0;
    private static final double NANOS_PER_MICRO = 1000;

    private final ApplyServer server;
    private final ApplySource source;
    private final List<Contender> contenders = new ArrayList<>();
    private final SplittableRandom random;
    private final TpccInputs inputs;
    private long history;

    /** Who applies. */
    interface Contender extends AutoCloseable {
        String name();

        String database();

        /** Applies all of them, in order; returns when they are visible. */
        void apply(List<ApplySource.Recorded> transactions) throws Exception;

        /** Processor time so far. */
        long nanos() throws IOException;

        @Override
        void close() throws IOException;
    }

    /** Microseconds a transaction: smallest, median and largest of the rounds. */
    record Found(String workload, String contender, double min, double median, double max) {
        static Found of(String workload, String contender, double[] rounds) {
            double[] sorted = rounds.clone();
            Arrays.sort(sorted);
            return new Found(workload, contender, sorted[0], sorted[sorted.length / 2], sorted[sorted.length - 1]);
        }
    }

    ApplyBenchmark(ApplyServer server, long seed) throws Exception {
        this.server = server;
        random = new SplittableRandom(seed);
        server.execute("postgres", "CREATE DATABASE " + BASE);
        TpccScale scale = TpccScale.reduced(1);
        new TpccLoader(new TpccPopulation(scale, seed), 1, 1000).load(server.database(BASE), (_, _) -> {});
        inputs = new TpccInputs(scale, TpccConstants.forRun(TpccConstants.forLoad(seed), seed), seed, 0, 1, 1);
        server.execute(BASE,
                "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, name text NOT NULL, since timestamptz)",
                "INSERT INTO account SELECT i, 0, 'the name of account ' || i, '2026-01-01' FROM generate_series(1, "
                        + ROWS
                        + ") i",
                "VACUUM ANALYZE");
        for (String name : List.of("source", "single", "grouped", "texts", "binaries")) {
            server.execute("postgres", "CREATE DATABASE " + name + " TEMPLATE " + BASE);
        }
        server.install("source", 0);
        BackendConnection connection = BackendConnection.connect(server.loops().next(), server.settings("source"))
                .get();
        var catalog = CatalogQuery.read(connection.execute(CatalogQuery.SQL, PATIENCE));
        connection.close();
        source = new ApplySource(server.loops(), server.settings("source"), server.database("source").open(), catalog,
                ApplyServer.SECRET);
        contenders.add(new Applier("applier", "single", 1));
        contenders.add(new Applier("applier, " + GROUP + " at once", "grouped", GROUP));
        contenders.add(new Worker("worker, text", "texts", false));
        contenders.add(new Worker("worker, binary", "binaries", true));
    }

    /** A node's applier. */
    private final class Applier implements Contender {
        private final String name;
        private final String database;
        private final int group;
        private final PostgresEngine engine;
        private final Engine.Applier applier;
        private long position;
        private long pid;

        Applier(String name, String database, int group) throws Exception {
            this.name = name;
            this.database = database;
            this.group = group;
            engine = PostgresEngine.open(server.loops(), server.settings(database), ApplyServer.capture(1));
            applier = engine.openApplier();
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String database() {
            return database;
        }

        @Override
        public void apply(List<ApplySource.Recorded> transactions) throws Exception {
            List<WriteSet> writes = transactions.stream().map(ApplySource.Recorded::writes).toList();
            for (int i = 0; i < writes.size(); i += group) {
                List<WriteSet> part = writes.subList(i, Math.min(writes.size(), i + group));
                CompletableFuture<Void> applied = new CompletableFuture<>();
                applier.applyAndCommit(position + 1, part, position + part.size(), new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        applied.complete(null);
                    }

                    @Override
                    public void failed(EngineFailure cause) {
                        applied.completeExceptionally(new IOException(cause.toString()));
                    }
                });
                applied.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                position += part.size();
            }
        }

        @Override
        public long nanos() throws IOException {
            if (pid == 0) {
                try {
                    pid = Long
                            .parseLong(String.valueOf(server.ask(database, "SELECT pid FROM pg_catalog.pg_stat_activity"
                                    + " WHERE application_name = 'tutti applier' AND datname = current_database()")));
                } catch (SQLException failed) {
                    throw new IOException(failed);
                }
            }
            return ApplyServer.processorNanos(pid);
        }

        @Override
        public void close() {
            applier.close();
            engine.close();
        }
    }

    /** PostgreSQL's own. */
    private final class Worker implements Contender {
        private final String name;
        private final String database;
        private final boolean binary;
        private final WalSender sender = new WalSender();
        private final long pid;

        Worker(String name, String database, boolean binary) throws IOException, SQLException, InterruptedException {
            this.name = name;
            this.database = database;
            this.binary = binary;
            pid = server.subscribe(database, sender, binary);
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String database() {
            return database;
        }

        @Override
        public void apply(List<ApplySource.Recorded> transactions) throws Exception {
            sender.send(transactions.stream().map(each -> binary ? each.binary() : each.text()).toList());
            if (!sender.awaitApplied(transactions.getLast().text().end(), PATIENCE)) {
                throw new IllegalStateException("the worker has not applied within " + PATIENCE + ": it is at "
                        + server.progress(database) + "; see the server's log");
            }
        }

        @Override
        public long nanos() throws IOException {
            return ApplyServer.processorNanos(pid);
        }

        @Override
        public void close() throws IOException {
            try {
                server.execute(database, "ALTER SUBSCRIPTION measured_" + database + " DISABLE",
                        "ALTER SUBSCRIPTION measured_" + database + " SET (slot_name = NONE)",
                        "DROP SUBSCRIPTION measured_" + database);
            } catch (SQLException failed) {
                throw new IOException(failed);
            }
            sender.close();
        }
    }

    /** Runs all workloads: transactions that update so many rows, and TPC-C's mix. */
    List<Found> run(int rounds, int transactions) throws Exception {
        List<Found> found = new ArrayList<>();
        for (int rows : List.of(1, 20, 200, TPCC)) {
            String name = rows == TPCC ? "TPC-C" : String.format(Locale.ROOT, "%d row%s", rows, rows == 1 ? "" : "s");
            // Fewer of the larger ones, so that rounds are about as long.
            int count = Math.max(GROUP, rows == TPCC ? transactions / 4 : transactions * 4 / (rows + 3));
            Map<Contender, double[]> times = new LinkedHashMap<>();
            contenders.forEach(contender -> times.put(contender, new double[rounds]));
            for (int round = -1; round < rounds; round++) {
                List<ApplySource.Recorded> recorded = source.record(count,
                        rows == TPCC ? this::tpcc : connection -> update(connection, rows));
                for (int turn = 0; turn < contenders.size(); turn++) {
                    Contender contender = contenders.get(Math.floorMod(round + turn, contenders.size()));
                    if (round < 0) {
                        // Sessions and plans are made.
                        contender.apply(recorded);
                        continue;
                    }
                    long before = contender.nanos();
                    contender.apply(recorded);
                    times.get(contender)[round] = (contender.nanos() - before) / NANOS_PER_MICRO / count;
                }
            }
            times.forEach((contender, micros) -> found.add(Found.of(name, contender.name(), micros)));
        }
        return found;
    }

    private void update(Connection connection, int rows) throws SQLException {
        int[] ids = IntStream.generate(() -> 1 + random.nextInt(ROWS)).distinct().limit(rows).toArray();
        try (PreparedStatement update = connection
                .prepareStatement("UPDATE account SET balance = balance + 1, since = now() WHERE id = ANY (?)")) {
            update.setArray(1, connection.createArrayOf("int4", Arrays.stream(ids).boxed().toArray()));
            update.executeUpdate();
        }
    }

    private void tpcc(Connection connection) throws SQLException {
        new PortableTpcc(new JdbcStatements(connection)).execute(inputs.next(), LocalDateTime.now(ZoneOffset.UTC),
                new TpccSession.HistoryKey(1, ++history));
    }

    /** Names of databases that differ from the source. */
    List<String> different() throws SQLException {
        String digest = digest("source");
        List<String> others = new ArrayList<>();
        for (Contender contender : contenders) {
            if (!digest(contender.database()).equals(digest)) {
                others.add(contender.name());
            }
        }
        return others;
    }

    private String digest(String database) throws SQLException {
        StringBuilder all = new StringBuilder();
        for (String table : List.of("account", "warehouse", "district", "customer", "history", "orders", "new_order",
                "order_line", "stock")) {
            all.append(server.ask(database,
                    "SELECT count(*) || ' ' || coalesce(sum(pg_catalog.hashtextextended(t::text, 0)), 0)"
                            + " FROM " + table + " t"))
                    .append('\n');
        }
        return all.toString();
    }

    @Override
    public void close() throws IOException, SQLException {
        for (Contender contender : contenders) {
            contender.close();
        }
        source.close();
    }
}
