package tutti.sim.fault;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
        List<Action> simpler = new ArrayList<>(ofAnotherShape(action, hosts));
        List<String> words = action.kind().parameterWords();
        for (int i = 0; i < words.size(); i++) {
            for (Object value : simplerThan(words.get(i), action.arguments().get(i), hosts)) {
                List<Object> values = new ArrayList<>(action.arguments());
                values.set(i, value);
                simpler.add(action.kind().action(values));
            }
        }
        return simpler;
    }

    /** Those that are not the same with one parameter changed. */
    private static List<Action> ofAnotherShape(Action action, List<String> hosts) {
        return switch (action) {
            case Action.Partition a when a.direction() == Action.Direction.BOTH -> List.of(
                    new Action.Partition(a.from(), a.to(), Action.Direction.ONE_WAY),
                    new Action.Partition(a.to(), a.from(), Action.Direction.ONE_WAY));
            case Action.PowerLoss a ->
                hosts.stream().<Action>map(host -> new Action.Crash(host, a.unsynced())).toList();
            case Action.Kill a -> List.of(new Action.Crash(a.host(), a.unsynced()));
            case Action.Replace a -> List.of(new Action.Join(a.by()), new Action.Leave(a.host()));
            case Action.Gone a -> List.of(new Action.Crash(a.host(), Unsynced.KEPT));
            default -> List.of();
        };
    }

    /** Simpler values of a parameter. (To receive for half the time only is not simpler.) */
    private static List<?> simplerThan(String parameter, Object value, List<String> hosts) {
        return switch (value) {
            case List<?> names -> fewer(names.stream().map(String::valueOf).toList(), hosts);
            case Double factor when parameter.equals("factor") -> factor >= 2 * FACTOR_MIN
                    ? List.of(Math.floor(factor / 2))
                    : List.of();
            case Double rate -> rate(rate);
            case Integer count when parameter.equals("count") -> count > 1 ? List.of(count / 2) : List.of();
            case Duration time -> {
                Duration half = Duration.ofNanos(round(time.toNanos() / 2));
                yield half.isPositive() && half.compareTo(time) < 0 ? List.of(half) : List.of();
            }
            case Distribution times when !parameter.equals("received") -> shorter(times);
            case Unsynced unsynced -> milder(unsynced);
            default -> List.of();
        };
    }

    private static List<Unsynced> milder(Unsynced unsynced) {
        return switch (unsynced) {
            case TORN -> List.of(Unsynced.LOST, Unsynced.CACHED, Unsynced.KEPT);
            case LOST -> List.of(Unsynced.CACHED, Unsynced.KEPT);
            case CACHED -> List.of(Unsynced.KEPT);
            case KEPT -> List.of();
        };
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
        return Math.abs(half) >= RATE_MIN && half != rate ? List.of(half) : List.of();
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
