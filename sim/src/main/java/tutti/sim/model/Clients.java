package tutti.sim.model;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.workload.tpcc.TpccInputs;

/**
 * All clients of a run (D5.1, section 2.3.1). Each belongs to a warehouse and is attached to the site that the warehouse's
 * clients use: equal shares, neighbours together. In open systems, who comes is anyone of them.
 */
final class Clients {
    private static final Label THINK = Label.of("client", "thinks");
    private static final Label ARRIVE = Label.of("client", "arrives");

    private final Kernel kernel;
    private final WorkloadModel workload;
    private final TpccModel tpcc;
    private final List<ModelReplica> replicas;
    private final RandomStream random;
    private final TpccInputs[] inputs;
    private final Runnable ended;

    /** @param ended is told of each transaction that is over */
    Clients(Kernel kernel, WorkloadModel workload, TpccModel tpcc, List<ModelReplica> replicas, Runnable ended) {
        this.kernel = kernel;
        this.workload = workload;
        this.tpcc = tpcc;
        this.replicas = replicas;
        this.random = kernel.random("clients");
        this.ended = ended;
        this.inputs = new TpccInputs[workload.clients()];
        for (int i = 0; i < inputs.length; i++) {
            inputs[i] = tpcc.inputs(i, warehouse(i));
        }
    }

    private int warehouse(int client) {
        return 1 + (int) ((long) client * tpcc.warehouses() / workload.clients());
    }

    private ModelReplica replica(int client) {
        return replicas.get((int) ((long) (warehouse(client) - 1) * replicas.size() / tpcc.warehouses()));
    }

    /** Those of a closed system think first, each as if it had just had an answer; others come one by one. */
    void start() {
        if (workload.arrival() == WorkloadModel.Arrival.CLOSED) {
            for (int i = 0; i < inputs.length; i++) {
                think(i, Kind.NEW_ORDER, null);
            }
        } else {
            arriveLater();
        }
    }

    private void arriveLater() {
        long gap = (long) random.exponential(1e9 / workload.arrivalsPerSecond());
        kernel.schedule(gap, ARRIVE, () -> {
            ask(random.nextInt(inputs.length), null);
            arriveLater();
        });
    }

    private void think(int client, Kind after, @Nullable Work again) {
        Distribution thinking = workload.thinking().getOrDefault(after, Distribution.ZERO);
        kernel.schedule(thinking.sample(random), THINK, () -> ask(client, again));
    }

    private void ask(int client, @Nullable Work again) {
        ModelReplica replica = replica(client);
        if (replica.isOver()) {
            return;
        }
        Work work = again == null
                ? tpcc.next(inputs[client], warehouse(client))
                : tpcc.again(again);
        replica.begin(work, (done, cause) -> answered(client, done, cause));
    }

    private void answered(int client, Work work, String cause) {
        ended.run();
        switch (workload.arrival()) {
            case CLOSED -> think(client, work.kind, workload.resubmit() && !cause.isEmpty() ? work : null);
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
