package tutti.sim.raft;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.FaultProfile;
import tutti.sim.fault.Shrinker;
import tutti.sim.kernel.Nanos;

/**
 * Runs of the Raft order under random faults, one for each seed: {@code RaftCampaign FROM TO [PROFILE]}. What fails is
 * shrunk and printed.
 */
final class RaftCampaign {
    private static final long SAFETY = 3 * Nanos.SECOND;
    private static final int SHRINKING_RUNS = 100;

    private RaftCampaign() {}

    static List<String> hosts(long seed) {
        return seed % 3 == 0 ? List.of("n1", "n2", "n3", "n4", "n5") : List.of("n1", "n2", "n3");
    }

    static FaultPlan plan(long seed, String profile) {
        List<String> hosts = hosts(seed);
        FaultProfile faults = FaultProfile.parse(profile).withFaultsMax(12).withDownMax(hosts.size());
        return FaultPlan.random(seed, faults, hosts, SAFETY);
    }

    public static void main(String[] args) {
        String profile = args.length > 2 ? args[2] : "network,hosts";
        Map<FaultKind, Long> happened = new EnumMap<>(FaultKind.class);
        long delivered = 0;
        int failed = 0;
        long begin = System.nanoTime();
        for (long seed = Long.parseLong(args[0]); seed < Long.parseLong(args[1]); seed++) {
            long of = seed;
            RaftRun.Result result = new RaftRun(seed, plan(seed, profile)).run();
            delivered += result.delivered();
            result.happened().forEach((kind, count) -> happened.merge(kind, count, Long::sum));
            if (!result.failures().isEmpty()) {
                failed++;
                System.out.println("seed " + seed + ": " + result.failures());
                if (failed <= 3) {
                    System.out.println(Shrinker.shrink(plan(seed, profile),
                            plan -> !new RaftRun(of, plan).run().failures().isEmpty(), SHRINKING_RUNS).plan());
                }
            }
        }
        System.out.println(failed + " failed, " + delivered + " messages, " + happened + ", "
                + (System.nanoTime() - begin) / Nanos.MILLI + " ms");
    }
}
