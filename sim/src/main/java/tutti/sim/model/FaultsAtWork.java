package tutti.sim.model;

import java.util.List;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Impairment;
import tutti.sim.net.Network;

/** Makes the faults of a run happen (D5.1, table 3.3). Each has random numbers of its own. */
final class FaultsAtWork {
    private static final Label FAULT = Label.of("fault", "begins");

    private final Kernel kernel;
    private final List<Host> hosts;
    private final List<ModelReplica> replicas;

    FaultsAtWork(Kernel kernel, List<Host> hosts, List<ModelReplica> replicas) {
        this.kernel = kernel;
        this.hosts = hosts;
        this.replicas = replicas;
    }

    /** Schedules them. */
    void begin(List<ModelFault> faults, Network network) {
        for (int i = 0; i < faults.size(); i++) {
            ModelFault fault = faults.get(i);
            String stream = "fault " + i;
            kernel.schedule(fault.atNanos(), FAULT, () -> happen(fault, network, stream));
        }
    }

    private void happen(ModelFault fault, Network network, String stream) {
        List<String> names = fault.sites().stream().map(site -> hosts.get(site).name()).toList();
        switch (fault) {
            case ModelFault.ClockDrift drift ->
                drift.sites().forEach(site -> hosts.get(site).setClockDrift(drift.rate()));
            case ModelFault.SchedulingLatency late ->
                late.sites().forEach(site -> hosts.get(site).setSchedulingLatency(late.latency()));
            case ModelFault.RandomLoss loss -> network.impair(new Impairment(List.of(Impairment.ANY), names,
                    new Impairment.Effect.Discard(loss.rate())), kernel.random(stream));
            case ModelFault.BurstyLoss loss -> network.impair(new Impairment(List.of(Impairment.ANY), names,
                    new Impairment.Effect.LoseInBursts(loss.lost(), loss.received())), kernel.random(stream));
            case ModelFault.Crash crash -> crash.sites().forEach(site -> {
                hosts.get(site).crash();
                replicas.get(site).crash();
            });
        }
    }
}
