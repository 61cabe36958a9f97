package tutti.workload.tpcc;

import java.sql.SQLException;
import java.time.Clock;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.workload.client.SqlFailure;

/**
 * One user at a terminal: runs one transaction after the other until told to stop, tries what was aborted again, and
 * moves to another node while its own is down. A thread of its own.
 *
 * <pre>
 *             execute        COMMIT
 * connected ──────────► done ───────► acknowledged ──► next input
 *     ▲          │                │
 *     │ aborted  │        broken  └──► in doubt: noted, never repeated ──► next input
 *     └──────────┤
 *                └─ broken before COMMIT: repeated at another node
 * </pre>
 */
final class TpccTerminal implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(TpccTerminal.class);
    private static final int UNEXPECTED_IN_A_ROW_MAX = 10;
    private static final long BACK_OFF_MILLIS_MAX = 64;

    private final int number;
    private final TpccOptions options;
    private final TpccInputs inputs;
    private final TpccRandom backOff;
    private final TpccNodes nodes;
    private final TpccMetrics metrics;
    private final TpccLedger ledger;
    private final CountDownLatch stop;
    private final Consumer<String> fail;
    private final int home;
    private volatile @Nullable TpccSession session;
    private int node;
    private long historyNumber;
    private int unexpectedInARow;

    TpccTerminal(int number, TpccOptions options, TpccConstants constants, TpccNodes nodes, TpccMetrics metrics,
            TpccLedger ledger, CountDownLatch stop, Consumer<String> fail) {
        this.number = number;
        this.options = options;
        this.nodes = nodes;
        this.metrics = metrics;
        this.ledger = ledger;
        this.stop = stop;
        this.fail = fail;
        inputs = new TpccInputs(options.population().scale(), constants, options.seed(), number,
                options.homeWarehouse(number), options.homeDistrict(number));
        backOff = TpccRandom.of(options.seed(), "back off", number);
        home = options.homeNode(number);
    }

    @Override
    public void run() {
        try {
            while (!stopping()) {
                TpccInput input = inputs.next(options.readPercent());
                if (options.thinking()) {
                    pause(input.type().keying());
                }
                perform(input);
                if (options.thinking()) {
                    pause(inputs.thinking(input.type()));
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("terminal {} was interrupted", number, e);
        } catch (RuntimeException e) {
            LOG.error("terminal {} failed", number, e);
            fail.accept("terminal " + number + " failed: " + e);
        } finally {
            leave();
        }
    }

    /** Breaks off whatever is under way, from another thread. */
    void abort() {
        TpccSession current = session;
        if (current != null) {
            try {
                current.abort();
            } catch (SQLException e) {
                LOG.warn("the connection of terminal {} could not be aborted", number, e);
            }
        }
    }

    private void perform(TpccInput input) throws InterruptedException {
        long begun = System.nanoTime();
        TpccSession.HistoryKey key = new TpccSession.HistoryKey(ledger.historySource(number), ++historyNumber);
        int attempt = 1;
        int refused = 0;
        while (!stopping()) {
            if (attempt > options.attempts()) {
                metrics.givenUp();
                return;
            }
            TpccSession current = connected();
            if (current == null) {
                continue;
            }
            LocalDateTime now = LocalDateTime.now(Clock.system(ZoneOffset.UTC)).truncatedTo(ChronoUnit.MICROS);
            TpccOutput output = null;
            try {
                TpccOutput executed = current.execute(input, now, key);
                if (executed instanceof TpccOutput.UnknownItem) {
                    current.rollback();
                    metrics.rolledBack();
                    unexpectedInARow = 0;
                    return;
                }
                output = executed;
                current.commit();
                metrics.committed(node, input.type(), System.nanoTime() - begun);
                note(input, output, now, key, true);
                unexpectedInARow = 0;
                return;
            } catch (SQLException e) {
                if (!failed(current, e, input, output, now, key)) {
                    return;
                }
                if (SqlFailure.of(e).kind() == SqlFailure.Kind.ELSEWHERE) {
                    backOff(++refused);
                } else if (++attempt > 2) {
                    backOff(attempt - 2);
                }
            }
        }
    }

    /** Whether the transaction is to be tried again. */
    private boolean failed(TpccSession current, SQLException e, TpccInput input, @Nullable TpccOutput executed,
            LocalDateTime now, TpccSession.HistoryKey key) {
        SqlFailure failure = SqlFailure.of(e);
        metrics.aborted(node, failure.cause());
        switch (failure.kind()) {
            case NODE_LOST -> {
                lost(e);
                TpccOutput perhaps = executed == null && current.executesWhole() && failure.mayHaveCommitted()
                        ? unknown(input)
                        : executed;
                if (perhaps != null && changesSomething(perhaps)) {
                    metrics.inDoubt();
                    note(input, perhaps, now, key, false);
                    return false;
                }
                return true;
            }
            case ELSEWHERE -> nodes.elsewhere(node);
            case ABORT -> unexpectedInARow = 0;
            case ERROR -> unexpected(e, input);
        }
        try {
            current.rollback();
        } catch (SQLException again) {
            again.addSuppressed(e);
            lost(again);
        }
        return true;
    }

    private void unexpected(SQLException e, TpccInput input) {
        LOG.warn("terminal {} at {}: {} failed: {} (SQLSTATE {})", number, nodes.database(node).name(),
                input.type().label(), e.getMessage(), e.getSQLState());
        LOG.debug("in full", e);
        if (++unexpectedInARow >= UNEXPECTED_IN_A_ROW_MAX) {
            fail.accept("terminal " + number + " at " + nodes.database(node).name() + " had " + unexpectedInARow
                    + " unexpected errors in a row, the last one in " + input.type().label() + ": " + e.getMessage()
                    + " (SQLSTATE " + e.getSQLState() + ")");
        }
    }

    private static boolean changesSomething(TpccOutput output) {
        return switch (output) {
            case TpccOutput.NewOrder _,TpccOutput.Payment _ -> true;
            case TpccOutput.Delivery delivery -> !delivery.orders().isEmpty();
            case TpccOutput.UnknownItem _,TpccOutput.OrderStatus _,TpccOutput.StockLevel _ -> false;
        };
    }

    /** What may have come of a transaction that was handed in whole, when all that came back is an error. */
    private static @Nullable TpccOutput unknown(TpccInput input) {
        return switch (input) {
            case TpccInput.NewOrder _ -> new TpccOutput.NewOrder(TpccLedger.UNKNOWN, 0);
            case TpccInput.Payment _ -> new TpccOutput.Payment(TpccLedger.UNKNOWN, 0);
            case TpccInput.Delivery _ ->
                new TpccOutput.Delivery(List.of(new TpccOutput.DeliveredOrder(TpccLedger.UNKNOWN, TpccLedger.UNKNOWN)));
            case TpccInput.OrderStatus _,TpccInput.StockLevel _ -> null;
        };
    }

    private void note(TpccInput input, TpccOutput output, LocalDateTime now, TpccSession.HistoryKey key,
            boolean acknowledged) {
        if (!changesSomething(output)) {
            return;
        }
        TpccLedger.Entry entry = switch (output) {
            case TpccOutput.NewOrder done when input instanceof TpccInput.NewOrder asked ->
                new TpccLedger.NewOrder(number, acknowledged, asked.warehouse(), asked.district(), done.order(),
                        asked.customer(), asked.lines().size(), now);
            case TpccOutput.Payment done when input instanceof TpccInput.Payment asked ->
                new TpccLedger.Payment(number, acknowledged, asked.warehouse(), asked.district(),
                        asked.customerWarehouse(), asked.customerDistrict(), done.customer(), asked.amountCents(),
                        key.source(), key.number());
            case TpccOutput.Delivery done when input instanceof TpccInput.Delivery asked ->
                new TpccLedger.Delivery(number, acknowledged, asked.warehouse(), asked.carrier(), now, done.orders());
            default -> throw new IllegalStateException(output + " came out of " + input);
        };
        if (!ledger.add(entry)) {
            fail.accept("the ledger is full: run for a shorter time, or allow it more than " + options.ledgerLimit()
                    + " transactions");
        }
    }

    /** The session at the terminal's own node if that is up, or at another; null if there is none at the moment. */
    private @Nullable TpccSession connected() throws InterruptedException {
        TpccSession current = session;
        int wanted = nodes.choose(home);
        if (current != null && node == wanted) {
            return current;
        }
        leave();
        node = wanted;
        if (node < 0) {
            nodes.awaitAny(200);
            return null;
        }
        try {
            TpccSession opened = new TpccSession(nodes.database(node).open(), options.form());
            session = opened;
            metrics.terminalCame(node);
            return opened;
        } catch (SQLException e) {
            SqlFailure failure = SqlFailure.of(e);
            if (failure.kind() == SqlFailure.Kind.NODE_LOST) {
                nodes.lost(node, e.getMessage());
            } else {
                fail.accept("terminal " + number + " cannot connect to " + nodes.database(node).name() + ": "
                        + e.getMessage());
            }
            return null;
        }
    }

    private void lost(SQLException why) {
        nodes.lost(node, why.getMessage());
        leave();
    }

    private void leave() {
        TpccSession current = session;
        if (current != null) {
            session = null;
            metrics.terminalLeft(node);
            try {
                current.close();
            } catch (SQLException e) {
                LOG.debug("terminal {} could not close its connection", number, e);
            }
        }
    }

    // Full jitter: losers of the same conflict do not meet again at the same time.
    private void backOff(int failures) throws InterruptedException {
        long most = Math.min(BACK_OFF_MILLIS_MAX, 1L << Math.min(failures, 10));
        pause(Duration.ofNanos((long) (backOff.fraction() * most * 1_000_000)));
    }

    private boolean stopping() {
        return stop.getCount() == 0;
    }

    private void pause(Duration duration) throws InterruptedException {
        boolean stopped = stop.await(duration.toNanos(), TimeUnit.NANOSECONDS);
        LOG.trace("terminal {} paused, stopped: {}", number, stopped);
    }
}
