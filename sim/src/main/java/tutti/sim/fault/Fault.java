package tutti.sim.fault;

import java.util.List;
import tutti.sim.kernel.Nanos;

/**
 * One thing that goes wrong for a while. Its number names its random stream, so that leaving others out of the plan does
 * not change what it does.
 *
 * @param number at least 1, unique in its plan
 * @param atNanos when it begins, true time from the beginning of the safety phase
 * @param forNanos how long it lasts, at least 1; it ends with the safety phase in any case
 * @param action what it does
 */
public record Fault(int number, long atNanos, long forNanos, Action action) {
    public Fault {
        if (number < 1 || atNanos < 0 || forNanos < 1) {
            throw new IllegalArgumentException("a fault has a number from 1, begins at 0s or later and lasts: number "
                    + number + ", at " + Nanos.text(atNanos) + " for " + Nanos.text(forNanos));
        }
    }

    /** As plans have it: {@code f3 at 1.2s for 300ms loss from n1 to n2,n3 rate 0.05}. */
    @Override
    public String toString() {
        StringBuilder line = new StringBuilder();
        line.append('f').append(number).append(" at ").append(Nanos.text(atNanos)).append(" for ")
                .append(Nanos.text(forNanos)).append(' ').append(action.kind().word());
        List<String> words = action.kind().parameterWords();
        List<String> values = action.values();
        for (int i = 0; i < values.size(); i++) {
            line.append(' ').append(words.get(i)).append(' ').append(values.get(i));
        }
        return line.toString();
    }
}
