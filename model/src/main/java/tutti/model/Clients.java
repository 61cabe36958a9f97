package tutti.model;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.workload.tpcc.TpccInputs;

/**
 * All clients of a run (D5.1, section 2.3.1). Each belongs to a warehouse and is attached to a site, in equal shares: that which
 * all clients of the warehouse use, or different ones; or to none, and each of its transactions is at any warehouse. In open systems, who comes is anyone of them. Where one replica makes all
 * changes, transactions that may change something go there over the network.
 */
final class Clients implements Load {
    private static final Label THINK = Label.of("client", "thinks");
    private static final Label TRAVEL = Label.of("client", "another site");
    private static final Label ARRIVE = Label.of("client", "arrives");

    private final Kernel kernel;
    private final WorkloadModel workload;
    private final TpccModel tpcc;
    private final List<ModelReplica> replicas;
    private final ModelledNetwork network;
    private final RandomStream random;
    /** Of each client, or of each warehouse if clients belong to none. */
    private final TpccInputs[] inputs;
    private final Runnable ended;

    /**
     * Clients that have not begun.
     *
     * @param network between the sites
     * @param ended is told of each transaction that is over
     */
    Clients(Kernel kernel, WorkloadModel workload, TpccModel tpcc, List<ModelReplica> replicas,
            ModelledNetwork network, Runnable ended) {
        this.kernel = kernel;
        this.workload = workload;
        this.tpcc = tpcc;
        this.replicas = replicas;
        this.network = network;
        this.random = kernel.random("clients");
        this.ended = ended;
        this.inputs = new TpccInputs[anywhere() ? tpcc.warehouses() : workload.clients()];
        for (int i = 0; i < inputs.length; i++) {
            inputs[i] = tpcc.inputs(i, anywhere() ? 1 + i : warehouse(i));
        }
    }

    private int warehouse(int client) {
        return 1 + (spread() ? client % tpcc.warehouses() : share(client, tpcc.warehouses(), workload.clients()));
    }

    private ModelReplica replica(int client) {
        return replicas.get(spread()
                ? share(client, replicas.size(), workload.clients())
                : share(warehouse(client) - 1, replicas.size(), tpcc.warehouses()));
    }

    private boolean spread() {
        return workload.attachment() != WorkloadModel.Attachment.WAREHOUSE;
    }

    private boolean anywhere() {
        return workload.attachment() == WorkloadModel.Attachment.ANY;
    }

    /** What a client asks for next. */
    private Work next(int client) {
        if (!anywhere()) {
            return tpcc.next(inputs[client], warehouse(client));
        }
        int index = random.nextInt(inputs.length);
        return tpcc.next(inputs[index], 1 + index);
    }

    /** To which of several one belongs if neighbours are together. */
    private static int share(int one, int several, int all) {
        return (int) ((long) one * several / all);
    }

    /**
     * Those of a closed system think first, each as if it had just had an answer, or all ask at once; others come one by
     * one.
     */
    @Override
    public void start() {
        if (workload.arrival() == WorkloadModel.Arrival.CLOSED) {
            for (int i = 0; i < workload.clients(); i++) {
                if (workload.atOnce()) {
                    ask(i, null);
                } else {
                    think(i, RequestKind.NEW_ORDER, null);
                }
            }
        } else {
            arriveLater();
        }
    }

    private void arriveLater() {
        long gap = (long) random.exponential(1e9 / workload.arrivalsPerSecond());
        kernel.schedule(gap, ARRIVE, () -> {
            ask(random.nextInt(workload.clients()), null);
            arriveLater();
        });
    }

    private void think(int client, RequestKind after, @Nullable Work again) {
        Distribution thinking = workload.thinking().getOrDefault(after, Distribution.ZERO);
        kernel.schedule(thinking.sample(random), THINK, () -> ask(client, again));
    }

    private void ask(int client, @Nullable Work again) {
        ModelReplica home = replica(client);
        if (home.isOver()) {
            return;
        }
        Work work = again == null ? next(client) : tpcc.again(again);
        ModelReplica at = replicas.get(work.kind.readOnly() ? home.site().node() : home.updatesAt());
        if (at.equals(home) || at.isOver()) {
            home.begin(work, 0, (done, cause) -> answered(client, done, cause));
        } else {
            travel(client, work, home.site().node(), at);
        }
    }

    /** Its transaction runs at another site than that which it is attached to. */
    private void travel(int client, Work work, int home, ModelReplica at) {
        long there = network.latency(home, at.site().node());
        long back = network.latency(at.site().node(), home);
        kernel.schedule(there, TRAVEL, () -> {
            if (at.isOver()) {
                think(client, work.kind, work);
            } else {
                at.begin(work, there + back,
                        (done, cause) -> kernel.schedule(back, TRAVEL, () -> answered(client, done, cause)));
            }
        });
    }

    private void answered(int client, Work work, String cause) {
        ended.run();
        switch (workload.arrival()) {
            case CLOSED ->
                think(client, work.kind, workload.resubmit() && !cause.isEmpty() && !work.givenUp ? work : null);
            case PARTLY_OPEN -> {
                if (random.chance(workload.staying())) {
                    think(client, work.kind, null);
                }
            }
            case OPEN -> {
                // Nobody waits for it.
            }
        }
    }
}
