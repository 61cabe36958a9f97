package tutti.grid.view;

import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * The nodes that go on together.
 *
 * @param number 0 for that of all nodes, then counting
 * @param members ascending, not empty
 */
public record View(long number, Set<Integer> members) {
    static final Schema<View> SCHEMA = Schema.part("view", View.class).of(
            Field.of("number", Types.NATURAL, View::number),
            Field.of("members", Types.set(Types.integer(0, 255), 256), View::members), View::new);

    /** Copies the members. */
    public View {
        if (number < 0 || members.isEmpty()) {
            throw new IllegalArgumentException("view " + number + " of " + members);
        }
        members = Collections.unmodifiableSet(new TreeSet<>(members));
    }

    /** Whether a node is in it. */
    public boolean has(int node) {
        return members.contains(node);
    }

    /**
     * Whether these members of it can decide for it: more than half, or half and the lowest among them. Any two such sets have
     * a member in common.
     */
    boolean isQuorum(Set<Integer> some) {
        long count = members.stream().filter(some::contains).count();
        return 2 * count > members.size()
                || (2 * count == members.size() && some.contains(members.iterator().next()));
    }
}
