package tutti.minha.proxy;

import java.lang.reflect.Method;

/** How much processor time a call of real code takes in the simulation. */
@FunctionalInterface
public interface Cost {
    /**
     * Nanoseconds of a machine of speed 1, at least 0.
     *
     * @param method that was called
     * @param measuredNanos what it took in reality, without the calls back into the simulation
     */
    long nanos(Method method, long measuredNanos);

    /** Nothing. Runs are repeatable. */
    static Cost none() {
        return (_, _) -> 0;
    }

    /** Always the same. Runs are repeatable. */
    static Cost of(long nanos) {
        if (nanos < 0) {
            throw new IllegalArgumentException("a cost of " + nanos + " ns");
        }
        return (_, _) -> nanos;
    }

    /** What it took, as in D5.1, section 2.4.1. Runs are not repeatable. */
    static Cost measured() {
        return (_, measured) -> measured;
    }
}
