package tutti.grid.view;

import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * On which nodes the keys of a grid lie, and to which they are being moved. A part of the {@link View}, so all nodes agree on it.
 *
 * @param number 0 at first, and one more with each other layout
 * @param before nodes of the ring that keys are moved from
 * @param after nodes of the ring that keys are moved to; the same as before if nothing is moved
 */
public record Layout(long number, Phase phase, Set<Integer> before, Set<Integer> after) {
    /** How far keys are moved. They follow each other in this order, and {@link #COPY} may follow itself. */
    public enum Phase {
        /** Nothing is moved. */
        STABLE,
        /** What is written goes to the owners of both rings; what is read comes from those before, from which those after copy. */
        COPY,
        /** What is written goes to both; what is read comes from the owners after, which have all. */
        SWITCH
    }

    static final Schema<Layout> SCHEMA = Schema.part("grid layout", Layout.class).of(
            Field.of("number", Types.NATURAL, Layout::number),
            Field.of("phase", Types.oneOf(Phase.class), Layout::phase),
            Field.of("before", Types.set(Types.integer(0, 255), 256), Layout::before),
            Field.of("after", Types.set(Types.integer(0, 255), 256), Layout::after), Layout::new);

    /** Copies the nodes. */
    public Layout {
        if (number < 0 || before.isEmpty() || after.isEmpty() || (phase == Phase.STABLE && !before.equals(after))) {
            throw new IllegalArgumentException("layout " + number + ", " + phase + " of " + before + " and " + after);
        }
        before = Collections.unmodifiableSet(new TreeSet<>(before));
        after = Collections.unmodifiableSet(new TreeSet<>(after));
    }

    /** The first, of these nodes. */
    public static Layout first(Set<Integer> nodes) {
        return new Layout(0, Phase.STABLE, nodes, nodes);
    }

    /** The ring whose owners answer reads and vote. */
    public Set<Integer> readers() {
        return phase == Phase.SWITCH ? after : before;
    }

    /** The next one, in which keys are moved to these nodes. */
    public Layout copyTo(Set<Integer> nodes) {
        if (phase == Phase.SWITCH) {
            throw new IllegalStateException("keys are being moved already: " + this);
        }
        return new Layout(number + 1, Phase.COPY, before, nodes);
    }

    /** The next one, when all is copied, or when nobody asks the nodes before any more. */
    public Layout next() {
        return switch (phase) {
            case STABLE -> throw new IllegalStateException("nothing is moved: " + this);
            case COPY -> new Layout(number + 1, Phase.SWITCH, before, after);
            case SWITCH -> new Layout(number + 1, Phase.STABLE, after, after);
        };
    }
}
