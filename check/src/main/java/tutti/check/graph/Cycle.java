package tutti.check.graph;

import java.util.List;

/**
 * Transactions that would each have to come before the next, and the last before the first.
 *
 * @param steps at least two; each begins where the one before it ended
 */
public record Cycle(List<Step> steps) {
    public Cycle {
        steps = List.copyOf(steps);
        for (int i = 0; i < steps.size(); i++) {
            if (steps.get(i).to != steps.get((i + 1) % steps.size()).from) {
                throw new IllegalArgumentException("not a cycle: " + steps);
            }
        }
    }

    /**
     * One dependency.
     *
     * @param from the transaction that must come before
     * @param to the one that must come after it
     * @param kind why
     * @param label what it is about, as the graph was told
     */
    public record Step(int from, int to, Dependency kind, int label) {}

    /** How many steps are of this kind. */
    public int count(Dependency kind) {
        return (int) steps.stream().filter(step -> step.kind == kind).count();
    }

    /** Whether two anti-dependencies follow each other directly. */
    public boolean hasAdjacentAntiDependencies() {
        for (int i = 0; i < steps.size(); i++) {
            if (steps.get(i).kind == Dependency.READ_WRITE
                    && steps.get((i + 1) % steps.size()).kind == Dependency.READ_WRITE) {
                return true;
            }
        }
        return false;
    }
}
