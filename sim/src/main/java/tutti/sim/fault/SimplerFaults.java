package tutti.sim.fault;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment;

/** The faults that are one step simpler than a fault, simplest first. */
final class SimplerFaults {
    private static final double RATE_MIN = 0.002;
    private static final double FACTOR_MIN = 2;
    private static final double THOUSAND = 1000;
    private static final List<Long> ROUND = List.of(Nanos.SECOND, 100 * Nanos.MILLI, 10 * Nanos.MILLI, Nanos.MILLI);

    private SimplerFaults() {}

    static List<Fault> than(Fault fault, List<String> hosts) {
        List<Fault> simpler = new ArrayList<>();
        for (Action action : actions(fault.action(), hosts)) {
            simpler.add(new Fault(fault.number(), fault.atNanos(), fault.forNanos(), action));
        }
        long half = fault.forNanos() / 2 / Nanos.MILLI * Nanos.MILLI;
        if (half > 0) {
            simpler.add(new Fault(fault.number(), fault.atNanos(), half, fault.action()));
        }
        for (long unit : ROUND) {
            long rounded = fault.atNanos() / unit * unit;
            if (rounded != fault.atNanos()) {
                simpler.add(new Fault(fault.number(), rounded, fault.forNanos(), fault.action()));
            }
        }
        return simpler;
    }

    private static List<Action> actions(Action action, List<String> hosts) {
        List<Action> simpler = new ArrayList<>();
        switch (action) {
            case Action.Loss a -> {
                between(simpler, a.from(), a.to(), hosts, (from, to) -> new Action.Loss(from, to, a.rate()));
                rate(a.rate()).forEach(rate -> simpler.add(new Action.Loss(a.from(), a.to(), rate)));
            }
            case Action.BurstyLoss a -> {
                between(simpler, a.from(), a.to(), hosts,
                        (from, to) -> new Action.BurstyLoss(from, to, a.lost(), a.received()));
                shorter(a.lost()).forEach(
                        lost -> simpler.add(new Action.BurstyLoss(a.from(), a.to(), lost, a.received())));
            }
            case Action.Duplication a -> {
                between(simpler, a.from(), a.to(), hosts,
                        (from, to) -> new Action.Duplication(from, to, a.rate(), a.after()));
                rate(a.rate()).forEach(
                        rate -> simpler.add(new Action.Duplication(a.from(), a.to(), rate, a.after())));
                shorter(a.after()).forEach(
                        after -> simpler.add(new Action.Duplication(a.from(), a.to(), a.rate(), after)));
            }
            case Action.Delay a -> {
                between(simpler, a.from(), a.to(), hosts, (from, to) -> new Action.Delay(from, to, a.by()));
                shorter(a.by()).forEach(by -> simpler.add(new Action.Delay(a.from(), a.to(), by)));
            }
            case Action.Reordering a -> {
                between(simpler, a.from(), a.to(), hosts,
                        (from, to) -> new Action.Reordering(from, to, a.rate(), a.by()));
                rate(a.rate()).forEach(rate -> simpler.add(new Action.Reordering(a.from(), a.to(), rate, a.by())));
                shorter(a.by()).forEach(by -> simpler.add(new Action.Reordering(a.from(), a.to(), a.rate(), by)));
            }
            case Action.Partition a -> {
                if (a.direction() == Action.Direction.BOTH) {
                    simpler.add(new Action.Partition(a.from(), a.to(), Action.Direction.ONE_WAY));
                    simpler.add(new Action.Partition(a.to(), a.from(), Action.Direction.ONE_WAY));
                }
                between(simpler, a.from(), a.to(), hosts, (from, to) -> new Action.Partition(from, to, a.direction()));
            }
            case Action.Clogging a -> between(simpler, a.from(), a.to(), hosts, Action.Clogging::new);
            case Action.SwizzledClogging a ->
                fewer(a.hosts(), hosts).forEach(fewer -> simpler.add(new Action.SwizzledClogging(fewer)));
            case Action.ClockJump a -> {
                long half = round(a.nanos() / 2);
                if (half > 0 && half < a.nanos()) {
                    simpler.add(new Action.ClockJump(a.host(), a.jump(), half));
                }
            }
            case Action.ClockDrift a -> {
                double half = Math.rint(a.rate() * THOUSAND / 2) / THOUSAND;
                if (Math.abs(half) >= RATE_MIN && half != a.rate()) {
                    simpler.add(new Action.ClockDrift(a.host(), half));
                }
            }
            case Action.SchedulingLatency a ->
                shorter(a.by()).forEach(by -> simpler.add(new Action.SchedulingLatency(a.host(), by)));
            case Action.Pause _ -> {
                // Only its time can be simpler.
            }
            case Action.Crash a ->
                milder(a.unsynced()).forEach(milder -> simpler.add(new Action.Crash(a.host(), milder)));
            case Action.PowerLoss a -> {
                hosts.forEach(host -> simpler.add(new Action.Crash(host, a.unsynced())));
                milder(a.unsynced()).forEach(milder -> simpler.add(new Action.PowerLoss(milder)));
            }
            case Action.Kill a -> {
                simpler.add(new Action.Crash(a.host(), a.unsynced()));
                milder(a.unsynced()).forEach(milder -> simpler.add(new Action.Kill(a.host(), a.operation(), milder)));
            }
            case Action.KillBehind a -> milder(a.unsynced())
                    .forEach(milder -> simpler
                            .add(new Action.KillBehind(a.host(), a.rare(), a.operation(), milder)));
            case Action.Gone a -> simpler.add(new Action.Crash(a.host(), Unsynced.KEPT));
            case Action.FullDisk _,Action.LostDisk _,Action.OldCopy _,Action.LostDirectory _,Action.OldDirectory _,Action.EngineOldCheckpoint _,Action.EngineHang _,Action.EngineDown _,Action.LostSight _ -> {
                // Only its time can be simpler.
            }
            case Action.FailingDisk a ->
                rate(a.rate()).forEach(rate -> simpler.add(new Action.FailingDisk(a.host(), rate)));
            case Action.BadSectors a when a.count() > 1 -> simpler.add(new Action.BadSectors(a.host(), a.count() / 2));
            case Action.FlippedBits a when a.count() > 1 ->
                simpler.add(new Action.FlippedBits(a.host(), a.count() / 2));
            case Action.BadSectors _,Action.FlippedBits _ -> {
                // One is the least.
            }
            case Action.LostWrites a ->
                rate(a.rate()).forEach(rate -> simpler.add(new Action.LostWrites(a.host(), rate)));
            case Action.MisdirectedWrites a ->
                rate(a.rate()).forEach(rate -> simpler.add(new Action.MisdirectedWrites(a.host(), rate)));
            case Action.LyingDisk a ->
                rate(a.rate()).forEach(rate -> simpler.add(new Action.LyingDisk(a.host(), rate)));
            case Action.SlowDisk a -> {
                double half = Math.floor(a.factor() / 2);
                if (half >= FACTOR_MIN) {
                    simpler.add(new Action.SlowDisk(a.host(), half));
                }
            }
            case Action.EngineAborts a ->
                rate(a.rate()).forEach(rate -> simpler.add(new Action.EngineAborts(a.host(), rate)));
            case Action.EngineRefuses a ->
                rate(a.rate()).forEach(rate -> simpler.add(new Action.EngineRefuses(a.host(), rate)));
            case Action.OwnRows a -> rate(a.rate()).forEach(rate -> simpler.add(new Action.OwnRows(a.host(), rate)));
            case Action.SlowCommits a ->
                shorter(a.by()).forEach(by -> simpler.add(new Action.SlowCommits(a.host(), by)));
        }
        return simpler;
    }

    private static List<Unsynced> milder(Unsynced unsynced) {
        return switch (unsynced) {
            case TORN -> List.of(Unsynced.LOST, Unsynced.CACHED, Unsynced.KEPT);
            case LOST -> List.of(Unsynced.CACHED, Unsynced.KEPT);
            case CACHED -> List.of(Unsynced.KEPT);
            case KEPT -> List.of();
        };
    }

    /** Between fewer hosts. */
    private static void between(List<Action> simpler, List<String> from, List<String> to, List<String> hosts,
            BiFunction<List<String>, List<String>, Action> make) {
        for (List<String> fewer : fewer(from, hosts)) {
            simpler.add(make.apply(fewer, to));
        }
        for (List<String> fewer : fewer(to, hosts)) {
            simpler.add(make.apply(from, fewer));
        }
    }

    /** One of the hosts, or all but one. */
    private static List<List<String>> fewer(List<String> names, List<String> hosts) {
        List<String> all = names.equals(List.of(Impairment.ANY)) ? hosts : names;
        List<List<String>> fewer = new ArrayList<>();
        if (all.size() > 1) {
            all.forEach(name -> fewer.add(List.of(name)));
        }
        if (all.size() > 2) {
            for (String left : all) {
                fewer.add(all.stream().filter(name -> !name.equals(left)).toList());
            }
        }
        return fewer;
    }

    private static List<Double> rate(double rate) {
        double half = Math.rint(rate * THOUSAND / 2) / THOUSAND;
        return half >= RATE_MIN && half < rate ? List.of(half) : List.of();
    }

    private static List<Distribution> shorter(Distribution times) {
        Distribution half = switch (times) {
            case Distribution.Constant t -> new Distribution.Constant(round(t.nanos() / 2));
            case Distribution.Uniform t -> new Distribution.Uniform(round(t.fromNanos() / 2), round(t.toNanos() / 2));
            case Distribution.Exponential t -> new Distribution.Exponential(round(t.meanNanos() / 2));
            case Distribution.Normal t ->
                new Distribution.Normal(round(t.meanNanos() / 2), round(t.standardDeviationNanos() / 2));
            case Distribution.LogNormal t -> new Distribution.LogNormal(round(t.medianNanos() / 2), t.sigma());
            case Distribution.Empirical t ->
                new Distribution.Empirical(t.nanos().stream().map(one -> round(one / 2)).toList());
        };
        return half.equals(times) || isNothing(half) ? List.of() : List.of(half);
    }

    private static boolean isNothing(Distribution times) {
        return switch (times) {
            case Distribution.Constant t -> t.nanos() == 0;
            case Distribution.Uniform t -> t.toNanos() == 0;
            case Distribution.Exponential t -> t.meanNanos() == 0;
            case Distribution.Normal t -> t.meanNanos() == 0;
            case Distribution.LogNormal t -> t.medianNanos() == 0;
            case Distribution.Empirical t -> t.nanos().stream().allMatch(one -> one == 0);
        };
    }

    private static long round(long nanos) {
        return nanos >= Nanos.MILLI
                ? nanos / Nanos.MILLI * Nanos.MILLI
                : nanos / (10 * Nanos.MICRO) * (10 * Nanos.MICRO);
    }
}
