package tutti.server.metrics;

import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.datapoints.GaugeDataPoint;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmBufferPoolMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmGarbageCollectorMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmThreadsMetrics;
import io.prometheus.metrics.instrumentation.jvm.ProcessMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Unit;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import tutti.node.metrics.NodeMetrics;
import tutti.server.http.MetricsPage;
import tutti.server.http.NodeStatus;
import tutti.server.trace.SpanCounts;
import tutti.server.watch.Activity;
import tutti.server.watch.Latencies;
import tutti.wire.FrontEnd;

/**
 * The metrics of one node for Prometheus, in a registry of its own so that several nodes fit into one process. Names
 * begin with {@code tutti_}; those of the process and the JVM are the usual ones.
 */
public final class PrometheusNodeMetrics implements NodeMetrics, MetricsPage {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double[] LATENCY_BOUNDS_SECONDS = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
            0.5, 1, 2, 5, 10};
    private static final double[] BATCH_BOUNDS = {1, 2, 4, 8, 16, 32, 64, 128, 256};

    private final PrometheusRegistry registry = new PrometheusRegistry();
    private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
    private final Supplier<NodeStatus> status;
    private final CounterDataPoint committed;
    private final Counter aborted;
    private final ConcurrentHashMap<String, CounterDataPoint> abortedByCause = new ConcurrentHashMap<>();
    private final DistributionDataPoint commitLatency;
    private final DistributionDataPoint applyBatch;
    private final DistributionDataPoint applyLatency;
    private final CounterDataPoint replayed;
    private final CounterDataPoint barriers;
    private final CounterDataPoint certified;
    private final CounterDataPoint certifiedKeys;
    private final GaugeDataPoint remembered;
    private final CounterDataPoint undeclared;
    private final CounterDataPoint undertaken;
    private final CounterDataPoint undertakenTogether;
    private final GaugeDataPoint requestBacklog;
    private final GaugeDataPoint waitingRequests;
    private final GaugeDataPoint appliers;
    private final GaugeDataPoint batchMax;
    private final Gauge undertaking;
    private final CounterDataPoint repeated;
    private final CounterDataPoint repeatedInVain;
    private final CounterDataPoint doubtful;
    private final GaugeDataPoint copiesUnderWay;
    private final Counter copiesCompleted;
    private final Counter copiesFailed;
    private final CounterDataPoint copiedBytes;
    private final SpanCounts spans = new SpanCounts();
    private final Latencies latencies = new Latencies();
    private final Activity activity = new Activity(System::currentTimeMillis);
    private volatile LongSupplier received = () -> 0;
    private volatile Supplier<FrontEnd.Memory> memory = () -> FrontEnd.Memory.NONE;
    /** What all gauges of one page are read off; set under this object's lock while a page is written. */
    private @Nullable NodeStatus shown;

    /**
     * Registers everything.
     *
     * @param status asked once for each page, for what the node knows anyway
     */
    public PrometheusNodeMetrics(Supplier<NodeStatus> status) {
        committed = unlabelled("tutti_transactions_committed_total",
                "Transactions of this node's clients that committed a change.");
        aborted = counter("tutti_transactions_aborted_total", "Transactions of this node's clients that were aborted.")
                .labelNames("cause").register(registry);
        commitLatency = histogram("tutti_commit_latency_seconds",
                "From a client's request to commit a change to the answer.", LATENCY_BOUNDS_SECONDS);
        applyLatency = histogram("tutti_apply_latency_seconds",
                "From the first statement to the commit of write sets applied together.", LATENCY_BOUNDS_SECONDS);
        applyBatch = histogram("tutti_apply_batch_size", "Transactions of other nodes that were applied in one commit.")
                .classicOnly()
                .classicUpperBounds(BATCH_BOUNDS).register(registry);
        replayed = unlabelled("tutti_transactions_replayed_total",
                "Own transactions that lost their locks after certification and were applied from their write set.");
        barriers = unlabelled("tutti_barriers_executed_total",
                "Statements that every node executed at one position of the order, such as DDL.");
        certified = unlabelled("tutti_transactions_certified_total", "Delivered transactions that were certified.");
        certifiedKeys = unlabelled("tutti_keys_certified_total", "Keys compared in certification.");
        remembered = gauge("tutti_certification_keys",
                "Keys of other transactions that are kept to decide by; window-keys bounds them.")
                .register(registry)
                .labelValues();
        undeclared = unlabelled("tutti_transactions_undeclared_total",
                "Transactions that were ordered by conflict classes and taken to touch all of them.");
        undertaken = unlabelled("tutti_requests_undertaken_total",
                "Clients' requests, of any node, that this one has executed as the owner of their log.");
        undertakenTogether = unlabelled("tutti_requests_transactions_total",
                "Transactions of the database in which this node has executed requests as the owner of their logs.");
        requestBacklog = gauge("tutti_request_backlog",
                "Requests of this node's clients that are acknowledged as logged and have not been executed.")
                .register(registry).labelValues();
        waitingRequests = gauge("tutti_waiting_request_bytes",
                "About what requests of all nodes' clients take of this node's memory that are ordered and have not been executed;"
                        + " limits.waiting-request-bytes bounds it.")
                .register(registry).labelValues();
        appliers = gauge("tutti_apply_appliers",
                "Appliers that may work side by side now: apply.appliers, or what it has come to if that is auto.")
                .register(registry).labelValues();
        batchMax = gauge("tutti_apply_batch_transactions",
                "Most transactions that are applied in one commit now: apply.batch-transactions, or what it has come to if"
                        + " that is auto.")
                .register(registry).labelValues();
        undertaking = gauge("tutti_requests_concurrency",
                "What executors and batch-requests have come to where one of them is auto.")
                .labelNames("parameter")
                .register(registry);
        repeated = unlabelled("tutti_transactions_repeated_total",
                "Times that a transaction which had lost was run again, unknown to its client.");
        repeatedInVain = unlabelled("tutti_transactions_repeated_in_vain_total",
                "Transactions whose clients heard of their loss after all, since they would have seen something else.");
        doubtful = unlabelled("tutti_transactions_in_doubt_total",
                "Transactions whose clients were told that their outcome is in doubt, since no majority could be reached.");
        copiesUnderWay = gauge("tutti_copies_under_way", "Copies and backups of this node that are being read.")
                .register(registry).labelValues();
        copiesCompleted = counter("tutti_copies_completed_total", "Copies and backups that this node has given.")
                .labelNames("kind").register(registry);
        copiesFailed = counter("tutti_copies_failed_total", "Copies and backups of this node that were not completed.")
                .labelNames("kind").register(registry);
        copiedBytes = unlabelled("tutti_copies_read_bytes_total",
                "Bytes of files that this node has read for copies and backups.");
        GaugeWithCallback.builder().name("tutti_copy_received_bytes")
                .help("Bytes of another node's copy that have come so far; 0 if this node gets none.")
                .callback(callback -> callback.call((double) received.getAsLong())).register(registry);
        memory("tutti_prepared_statement_bytes",
                "Bytes of prepared statements' texts and values that sessions keep; with H2 and HSQLDB also of results that are"
                        + " not read to their ends.",
                FrontEnd.Memory::preparedBytes);
        memory("tutti_message_bytes", "Bytes of clients' long messages that are on their way to the database.",
                FrontEnd.Memory::messageBytes);
        memory("tutti_commit_bytes", "Bytes of what large transactions have changed that are committing.",
                FrontEnd.Memory::commitBytes);
        memory("tutti_commits_waiting_for_memory", "Large transactions that wait for room before they commit.",
                FrontEnd.Memory::commitsWaiting);
        CounterWithCallback.builder().name("tutti_trace_spans_total")
                .help("Spans of followed transactions: taken by the collector, not taken, or dropped since too many waited.")
                .labelNames("result").callback(callback -> {
                    callback.call((double) spans.exported(), "exported");
                    callback.call((double) spans.failed(), "failed");
                    callback.call((double) spans.dropped(), "dropped");
                }).register(registry);
        this.status = status;
        registerStatus();
        JvmMemoryMetrics.builder().register(registry);
        JvmGarbageCollectorMetrics.builder().register(registry);
        JvmThreadsMetrics.builder().register(registry);
        JvmBufferPoolMetrics.builder().register(registry);
        ProcessMetrics.builder().register(registry);
    }

    private void memory(String name, String help, ToDoubleFunction<FrontEnd.Memory> value) {
        GaugeWithCallback.builder().name(name).help(help)
                .callback(callback -> callback.call(value.applyAsDouble(memory.get()))).register(registry);
    }

    /*
     * Without exemplars, which the format of the page cannot tell, and for which the library sets a timer that wakes a thread, up to once for each
     * transaction.
     */

    private static Counter.Builder counter(String name, String help) {
        return Counter.builder().name(name).help(help).withoutExemplars();
    }

    private static Gauge.Builder gauge(String name, String help) {
        return Gauge.builder().name(name).help(help).withoutExemplars();
    }

    private static Histogram.Builder histogram(String name, String help) {
        return Histogram.builder().name(name).help(help).withoutExemplars();
    }

    private CounterDataPoint unlabelled(String name, String help) {
        return counter(name, help).register(registry);
    }

    private DistributionDataPoint histogram(String name, String help, double[] bounds) {
        return histogram(name, help).unit(Unit.SECONDS).classicOnly().classicUpperBounds(bounds).register(registry);
    }

    private void registerStatus() {
        gauge("tutti_position_known", "Highest position known to be ordered.", now -> now.positions().known());
        gauge("tutti_position_delivered", "Highest position delivered by the order.",
                now -> now.positions().delivered());
        gauge("tutti_position_applied", "Highest position visible in this node's database.",
                now -> now.positions().applied());
        gauge("tutti_position_durable", "Highest position that a crash of this node's database cannot undo.",
                now -> now.positions().durable());
        gauge("tutti_lag_positions", "Positions that are ordered but not visible here yet.",
                now -> now.positions().lag());
        gauge("tutti_sessions", "Client sessions.", NodeStatus::sessions);
        gauge("tutti_transactions_in_flight", "Transactions that wait for the outcome of their commit.",
                NodeStatus::inFlight);
        gauge("tutti_order_queue_bytes", "Bytes submitted here that have not been ordered yet.",
                now -> now.order().queuedBytes());
        gauge("tutti_order_log_bytes", "Bytes of the order's log on disk.", now -> now.order().logBytes());
        gauge("tutti_order_log_first_position", "Lowest position that the order's log still holds.",
                now -> now.order().firstRetained());
        gauge("tutti_order_log_members_given_up",
                "Members for which the order's log is not kept any more, since they have been away for too long.",
                now -> now.order().givenUp().size());
        gauge("tutti_majority", "1 if this node can have transactions ordered, else 0.",
                now -> now.majority() ? 1 : 0);
        gauge("tutti_ready", "1 if this node takes reads and writes, else 0.",
                now -> now.state() == NodeStatus.State.READY ? 1 : 0);
        gauge("tutti_members_reachable", "Members believed alive, this one included.",
                now -> now.members().stream().filter(NodeStatus.Member::reachable).count());
        CounterWithCallback.builder().name("tutti_peers_refused_total")
                .help("Connections and datagrams between nodes that were dropped, since the order was opened.")
                .callback(callback -> callback.call((double) shown().order().refused())).register(registry);
        GaugeWithCallback.builder().name("tutti_certificate_expires_timestamp_seconds")
                .help("When the certificate ends with which this node proves to the others who it is.")
                .callback(callback -> {
                    Long until = shown().order().provenUntil();
                    if (until != null) {
                        callback.call((double) until);
                    }
                }).register(registry);
        gauge("tutti_members", "Members of the cluster, this one included.", now -> now.members().size());
        registerSecondaries();
        GaugeWithCallback.builder().name("tutti_info").help("1; the labels say what runs here.")
                .labelNames("node", "protocol", "version", "database").callback(callback -> {
                    NodeStatus now = shown();
                    callback.call(1, now.name(), now.protocol(), now.version(), now.database());
                }).register(registry);
        CounterWithCallback.builder().name("tutti_uptime_seconds_total").help("Seconds since the process started.")
                .callback(callback -> callback.call((double) shown().uptimeSeconds())).register(registry);
    }

    /** Without values while the node has no database that can have any. */
    private void registerSecondaries() {
        GaugeWithCallback.builder().name("tutti_secondaries")
                .help("Copies of this node's database within the node that can be read from.")
                .callback(callback -> {
                    NodeStatus.Secondaries now = shown().secondaries();
                    if (now != null) {
                        callback.call(now.secondaries().size());
                    }
                }).register(registry);
        CounterWithCallback.builder().name("tutti_secondaries_dropped_total")
                .help("Secondaries that could not follow and were given up, since the database was opened.")
                .callback(callback -> {
                    NodeStatus.Secondaries now = shown().secondaries();
                    if (now != null) {
                        callback.call((double) now.dropped());
                    }
                }).register(registry);
        CounterWithCallback.builder().name("tutti_transactions_read_only_total")
                .help("Read-only transactions by where they ran, since the database was opened.").labelNames("place")
                .callback(callback -> {
                    NodeStatus.Secondaries now = shown().secondaries();
                    if (now != null) {
                        callback.call((double) now.readsAtSecondaries(), "secondary");
                        callback.call((double) now.readsAtPrimary(), "primary");
                    }
                }).register(registry);
    }

    private void gauge(String name, String help, ToDoubleFunction<NodeStatus> value) {
        GaugeWithCallback.builder().name(name).help(help)
                .callback(callback -> callback.call(value.applyAsDouble(shown()))).register(registry);
    }

    private NodeStatus shown() {
        return Objects.requireNonNull(shown, "gauges are read while a page is written only");
    }

    /** What becomes of spans. */
    public SpanCounts spans() {
        return spans;
    }

    @Override
    public void committed(long commitNanos) {
        committed.inc();
        commitLatency.observe(commitNanos / NANOS_PER_SECOND);
        latencies.add(commitNanos);
    }

    @Override
    public void aborted(String cause) {
        abortedByCause.computeIfAbsent(cause, aborted::labelValues).inc();
    }

    @Override
    public void applied(int transactions, long applyNanos) {
        applyBatch.observe(transactions);
        applyLatency.observe(applyNanos / NANOS_PER_SECOND);
    }

    @Override
    public void applying(int side, int positions) {
        appliers.set(side);
        batchMax.set(positions);
    }

    @Override
    public void replayed() {
        replayed.inc();
    }

    @Override
    public void barrierExecuted() {
        barriers.inc();
    }

    @Override
    public void certified(int keys) {
        certified.inc();
        certifiedKeys.inc(keys);
    }

    @Override
    public void remembered(int keys) {
        remembered.set(keys);
    }

    @Override
    public void undeclared() {
        undeclared.inc();
    }

    @Override
    public void undertaking(int executors, int requests) {
        undertaking.labelValues("executors").set(executors);
        undertaking.labelValues("batch-requests").set(requests);
    }

    @Override
    public void requestBacklog(int requests) {
        requestBacklog.set(requests);
    }

    @Override
    public void waitingRequests(long bytes) {
        waitingRequests.set((double) bytes);
    }

    @Override
    public void undertaken(int requests) {
        undertaken.inc(requests);
        undertakenTogether.inc();
    }

    @Override
    public void repeated() {
        repeated.inc();
    }

    @Override
    public void repeatedInVain() {
        repeatedInVain.inc();
    }

    @Override
    public void doubtful() {
        doubtful.inc();
    }

    @Override
    public void lost(Loss loss) {
        activity.lost(loss);
    }

    @Override
    public void slow(long nanos, String statement) {
        activity.slow(nanos, statement);
    }

    /** What of it may name rows. */
    public Activity activity() {
        return activity;
    }

    /** From a client's request to commit a change to the answer. */
    public Latencies latencies() {
        return latencies;
    }

    /** Names who knows how much of a copy for this node has come. */
    public void received(LongSupplier bytes) {
        received = bytes;
    }

    /** Names who knows what clients' sessions have in memory. */
    public void memory(Supplier<FrontEnd.Memory> known) {
        memory = known;
    }

    /** A copy or backup of this node is begun. */
    public void copyBegun() {
        copiesUnderWay.inc();
    }

    /** A file of one is being read. */
    public void copyReads(long bytes) {
        copiedBytes.inc(bytes);
    }

    /** One has ended. */
    public void copyEnded(String kind, boolean complete) {
        copiesUnderWay.dec();
        (complete ? copiesCompleted : copiesFailed).labelValues(kind).inc();
    }

    @Override
    public synchronized void writeTo(OutputStream out) throws IOException {
        shown = status.get();
        writer.write(out, registry.scrape());
        out.flush();
    }

    /** The counts of aborted transactions by cause so far; what the node's status reports. */
    public Map<String, Long> abortedByCause() {
        Map<String, Long> counts = new TreeMap<>();
        abortedByCause.forEach((cause, counter) -> counts.put(cause, (long) counter.get()));
        return counts;
    }

    /** Transactions that committed a change so far; what the node's status reports. */
    public long committedCount() {
        return (long) committed.get();
    }
}
