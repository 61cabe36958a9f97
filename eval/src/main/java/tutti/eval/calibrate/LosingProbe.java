package tutti.eval.calibrate;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.ToLongFunction;
import tutti.model.RequestKind;
import tutti.model.fit.Fits;

/**
 * What a transaction takes that waits for its first row and loses it: another connection holds the row, and commits when the
 * transaction waits. One at a time.
 *
 * @param costs of each kind that changes something, and of which enough was seen
 */
record LosingProbe(Map<RequestKind, Cost> costs) {
    private static final int REHEARSALS = 20;
    private static final int SAMPLES = 40;
    /** Of fewer nothing is said. */
    private static final int LEAST = 20;
    private static final List<RequestKind> KINDS = List.of(RequestKind.NEW_ORDER, RequestKind.PAYMENT,
            RequestKind.DELIVERY);

    /**
     * Of one transaction, in nanoseconds.
     *
     * @param approach processor time of its server process until it waits
     * @param approachClient of its client, likewise
     * @param failing processor time of its server process from then on, rollback included
     * @param failingClient of its client, likewise
     * @param failingWaiting of the rollback, the time in which neither computes
     */
    record Loss(long approach, long approachClient, long failing, long failingClient, long failingWaiting) {}

    /** Of one kind, as {@link Loss} has it. */
    record Cost(Fits approach, Fits approachClient, Fits failing, Fits failingClient, Fits failingWaiting) {
        static Cost of(List<Loss> losses) {
            return new Cost(fit(losses, Loss::approach), fit(losses, Loss::approachClient),
                    fit(losses, Loss::failing), fit(losses, Loss::failingClient), fit(losses, Loss::failingWaiting));
        }

        private static Fits fit(List<Loss> losses, ToLongFunction<Loss> what) {
            return Fits.of(losses.stream().mapToLong(what).toArray());
        }
    }

    LosingProbe {
        costs = Collections.unmodifiableMap(new EnumMap<>(costs));
    }

    /** Measures; the database is at rest but for the client. */
    static LosingProbe measure(RealServer server, RealClient client)
            throws IOException, SQLException, InterruptedException {
        Map<RequestKind, Cost> costs = new EnumMap<>(RequestKind.class);
        try (Connection holder = server.database().open();
                ExecutorService loser = Executors
                        .newSingleThreadExecutor(Thread.ofPlatform().name("loser").factory())) {
            holder.setAutoCommit(false);
            for (RequestKind kind : KINDS) {
                List<Loss> losses = new ArrayList<>();
                for (int time = 0; time < REHEARSALS + SAMPLES; time++) {
                    // Its plans are those of transactions that go on.
                    client.run(kind);
                    Optional<Loss> loss = client.lose(kind, holder, loser);
                    if (time >= REHEARSALS) {
                        loss.ifPresent(losses::add);
                    }
                }
                if (losses.size() >= LEAST) {
                    costs.put(kind, Cost.of(losses));
                }
            }
        }
        return new LosingProbe(costs);
    }
}
