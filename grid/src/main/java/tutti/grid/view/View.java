package tutti.grid.view;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * The nodes that go on together.
 *
 * @param number 0 for the first, then counting
 * @param processes which process is which member; ascending, not empty
 * @param layout on which of them the keys lie
 */
public record View(long number, Map<Integer, Member> processes, Layout layout) {
    /**
     * A process that is a member: a node that is started anew is another one, which knows nothing.
     *
     * @param id differs from that of every other process; 0 if it was never heard
     * @param address where it listens: host, colon, port
     */
    public record Member(long id, String address) {
        /** Of a node that was never heard. */
        public static final Member UNKNOWN = new Member(0, "");

        private static final Schema<Member> SCHEMA = Schema.part("grid member", Member.class).of(
                Field.of("process", Types.LONG, Member::id), Field.of("address", Types.text(1 << 10), Member::address),
                Member::new);
    }

    static final Schema<View> SCHEMA = Schema.part("view", View.class).of(
            Field.of("number", Types.NATURAL, View::number),
            Field.of("members", Types.map(Types.integer(0, 255), Member.SCHEMA, 256), View::processes),
            Field.of("layout", Layout.SCHEMA, View::layout), View::new);

    /** Copies the members. */
    public View {
        if (number < 0 || processes.isEmpty()) {
            throw new IllegalArgumentException("view " + number + " of " + processes);
        }
        processes = Collections.unmodifiableMap(new TreeMap<>(processes));
    }

    /** Of nodes of which no process is known, on which all keys lie. */
    public View(long number, Set<Integer> members) {
        this(number, unknown(members), Layout.first(members));
    }

    private static Map<Integer, Member> unknown(Set<Integer> members) {
        Map<Integer, Member> all = new HashMap<>();
        members.forEach(node -> all.put(node, Member.UNKNOWN));
        return all;
    }

    /** Its members, ascending. */
    public Set<Integer> members() {
        return processes.keySet();
    }

    /** Whether a node is in it. */
    public boolean has(int node) {
        return processes.containsKey(node);
    }

    /** Whether a process is in it, as this node. */
    public boolean has(int node, long process) {
        Member known = processes.get(node);
        return known != null && known.id == process;
    }

    /** The next view without these. */
    public View without(Set<Integer> nodes) {
        Map<Integer, Member> left = new HashMap<>(processes);
        left.keySet().removeAll(nodes);
        return new View(number + 1, left, layout);
    }

    /** The next view with these besides, on which no keys lie yet. */
    public View with(Map<Integer, Member> joining) {
        Map<Integer, Member> all = new HashMap<>(processes);
        all.putAll(joining);
        return new View(number + 1, all, layout);
    }

    /** The next view with another layout. */
    public View with(Layout other) {
        return new View(number + 1, processes, other);
    }

    /**
     * Whether these members of it can decide for it: more than half, or half and the lowest among them. Any two such sets have
     * a member in common.
     */
    public boolean isQuorum(Set<Integer> some) {
        long count = members().stream().filter(some::contains).count();
        return 2 * count > members().size()
                || (2 * count == members().size() && some.contains(members().iterator().next()));
    }
}
