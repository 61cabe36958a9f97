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
 * What a transaction takes that waits for its first row and loses it. Where losers were seen among others, it is what these took; how much of that it is
 * until they wait is taken from losers that are made one at a time: another connection holds the row, and commits when
 * the transaction waits. Alone they take longer, for everything that they need has left the processor's caches while they waited.
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

        /** Of losers whose parts are not known: as large as here in relation to each other. */
        private Cost with(List<Observation> losers) {
            double server = share(approach, failing);
            double client = share(approachClient, failingClient);
            return new Cost(part(losers, Observation::backendNanos, server),
                    part(losers, Observation::clientNanos, client),
                    part(losers, Observation::backendNanos, 1 - server),
                    part(losers, Observation::clientNanos, 1 - client), failingWaiting);
        }

        private static double share(Fits part, Fits rest) {
            double all = part.meanNanos() + rest.meanNanos();
            return all == 0 ? 0 : part.meanNanos() / all;
        }

        private static Fits part(List<Observation> losers, ToLongFunction<Observation> what, double share) {
            return Fits.of(losers.stream().mapToLong(one -> Math.round(what.applyAsLong(one) * share)).toArray());
        }

        private static Fits fit(List<Loss> losses, ToLongFunction<Loss> what) {
            return Fits.of(losses.stream().mapToLong(what).toArray());
        }
    }

    LosingProbe {
        costs = Collections.unmodifiableMap(new EnumMap<>(costs));
    }

    /** The same, with what those took that have lost among others, of kinds of which enough were seen. */
    LosingProbe with(List<Observation> together) {
        Map<RequestKind, Cost> all = new EnumMap<>(RequestKind.class);
        costs.forEach((kind, alone) -> {
            List<Observation> losers = together.stream().filter(one -> one.kind() == kind && !one.committed()).toList();
            all.put(kind, losers.size() < LEAST ? alone : alone.with(losers));
        });
        return new LosingProbe(all);
    }

    /** Measures one at a time; the database is at rest but for the client. */
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
