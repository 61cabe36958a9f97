package tutti.model;

import java.util.List;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Impairment;
import tutti.sim.net.Network;

/** Makes the faults of a run happen (D5.1, table 3.3). Each has random numbers of its own. */
final class FaultInjection {
    private static final Label FAULT = Label.of("fault", "begins");

    private final Kernel kernel;
    private final List<Host> hosts;
    private final List<ModelReplica> replicas;
    private final Channel channel;

    FaultInjection(Kernel kernel, List<Host> hosts, List<ModelReplica> replicas, Channel channel) {
        this.kernel = kernel;
        this.hosts = hosts;
        this.replicas = replicas;
        this.channel = channel;
    }

    /** Schedules them. */
    void begin(List<ModelFault> faults) {
        for (int i = 0; i < faults.size(); i++) {
            ModelFault fault = faults.get(i);
            String stream = "fault " + i;
            kernel.schedule(fault.atNanos(), FAULT, () -> happen(fault, stream));
        }
    }

    private void happen(ModelFault fault, String stream) {
        switch (fault) {
            case ModelFault.ClockDrift drift ->
                drift.sites().forEach(site -> hosts.get(site).setClockDrift(drift.rate()));
            case ModelFault.SchedulingLatency late ->
                late.sites().forEach(site -> hosts.get(site).setSchedulingLatency(late.latency()));
            case ModelFault.RandomLoss loss ->
                impair(loss.sites(), new Impairment.Effect.Discard(loss.rate()), stream);
            case ModelFault.BurstyLoss loss ->
                impair(loss.sites(), new Impairment.Effect.LoseInBursts(loss.lost(), loss.received()), stream);
            case ModelFault.Crash crash -> crash.sites().stream().filter(site -> !replicas.get(site).isOver())
                    .forEach(site -> {
                        hosts.get(site).crash();
                        replicas.get(site).crash();
                        channel.crashed(site);
                    });
        }
    }

    /** What a network of packets suffers; one that is modelled knows beforehand. */
    private void impair(List<Integer> sites, Impairment.Effect effect, String stream) {
        Network network = channel.network();
        if (network != null) {
            List<String> names = sites.stream().map(site -> hosts.get(site).name()).toList();
            network.impair(new Impairment(List.of(Impairment.ANY), names, effect), kernel.random(stream));
        }
    }
}
