package tutti.sim.fault;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Finds the least that must go wrong for a run to fail. First leaves out as many faults as possible by delta debugging
 * (ddmin; Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002), then makes those that are
 * left simpler, one by one: shorter, weaker, between fewer hosts, at rounder times. If there was room for all runs that
 * it wanted, no single fault of the result can be left out or be made simpler by one of these steps.
 */
public final class Shrinker {
    private final Predicate<FaultPlan> fails;
    private final int runsMax;
    private int runs;
    private FaultPlan smallest;

    private Shrinker(FaultPlan plan, Predicate<FaultPlan> fails, int runsMax) {
        this.smallest = plan;
        this.fails = fails;
        this.runsMax = runsMax;
    }

    /**
     * What was found.
     *
     * @param plan the smallest that fails; the original one if nothing smaller did
     * @param runs how often the predicate was asked
     * @param complete whether it was asked all that it should have been; if not, its bound ended the search
     */
    public record Result(FaultPlan plan, int runs, boolean complete) {}

    /**
     * Shrinks.
     *
     * @param failing a plan for which the predicate holds; that is not asked
     * @param fails whether a run with the plan fails in the same way; must give the same answer each time
     * @param runsMax how often it may be asked, at least 1
     */
    public static Result shrink(FaultPlan failing, Predicate<FaultPlan> fails, int runsMax) {
        if (runsMax < 1) {
            throw new IllegalArgumentException("cannot shrink with " + runsMax + " runs");
        }
        Shrinker shrinker = new Shrinker(failing, fails, runsMax);
        shrinker.leaveOut();
        shrinker.simplify();
        return new Result(shrinker.smallest, shrinker.runs, shrinker.runs < runsMax);
    }

    private boolean hasRuns() {
        return runs < runsMax;
    }

    /** Makes it the smallest if it fails. */
    private boolean accept(List<Fault> faults) {
        if (!hasRuns()) {
            return false;
        }
        runs++;
        FaultPlan candidate = smallest.withFaults(faults);
        if (fails.test(candidate)) {
            smallest = candidate;
            return true;
        }
        return false;
    }

    private void leaveOut() {
        if (smallest.faults().isEmpty() || accept(List.of())) {
            return;
        }
        int parts = 2;
        while (smallest.faults().size() > 1 && hasRuns()) {
            int size = smallest.faults().size();
            parts = Math.min(parts, size);
            if (acceptPart(parts)) {
                parts = 2;
            } else if (parts > 2 && acceptComplement(parts)) {
                parts--;
            } else if (parts == size) {
                return;
            } else {
                parts = 2 * parts;
            }
        }
    }

    private boolean acceptPart(int parts) {
        List<Fault> all = smallest.faults();
        for (int i = 0; i < parts; i++) {
            if (accept(all.subList(bound(i, parts, all), bound(i + 1, parts, all)))) {
                return true;
            }
        }
        return false;
    }

    private boolean acceptComplement(int parts) {
        List<Fault> all = smallest.faults();
        for (int i = 0; i < parts; i++) {
            List<Fault> rest = new ArrayList<>(all.subList(0, bound(i, parts, all)));
            rest.addAll(all.subList(bound(i + 1, parts, all), all.size()));
            if (accept(rest)) {
                return true;
            }
        }
        return false;
    }

    private static int bound(int part, int parts, List<Fault> all) {
        return (int) ((long) all.size() * part / parts);
    }

    /** Each accepted step is strictly simpler, of which there are finitely many, and the runs are bounded anyway. */
    private void simplify() {
        boolean changed = true;
        while (changed && hasRuns()) {
            changed = false;
            for (Fault fault : smallest.faults()) {
                changed |= simplify(fault);
            }
        }
    }

    private boolean simplify(Fault fault) {
        for (Fault simpler : SimplerFaults.than(fault, smallest.hosts())) {
            List<Fault> faults = new ArrayList<>(smallest.faults());
            faults.replaceAll(other -> other.number() == fault.number() ? simpler : other);
            if (accept(faults)) {
                simplify(simpler);
                return true;
            }
        }
        return false;
    }
}
