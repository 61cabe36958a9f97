package tutti.grid.view;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
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
public record View(long number, Map<Integer, Process> processes, Layout layout) {
    /**
     * A process that is a member: a node that is started anew is another one, which knows nothing.
     *
     * @param id differs from that of every other process; 0 if it was never heard
     * @param address where it listens: host, colon, port
     */
    public record Process(long id, String address) {
        /** Of a node that was never heard. */
        public static final Process UNKNOWN = new Process(0, "");
    }

    private record Entry(int node, long process, String address) {
        private static final Schema<Entry> SCHEMA = Schema.part("member", Entry.class).of(
                Field.of("node", Types.integer(0, 255), Entry::node), Field.of("process", Types.LONG, Entry::process),
                Field.of("address", Types.text(1 << 10), Entry::address), Entry::new);
    }

    static final Schema<View> SCHEMA = Schema.part("view", View.class).of(
            Field.of("number", Types.NATURAL, View::number),
            Field.of("members", Types.list(Entry.SCHEMA, 256), View::entries),
            Field.of("layout", Layout.SCHEMA, View::layout), View::decoded);

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

    private static Map<Integer, Process> unknown(Set<Integer> members) {
        Map<Integer, Process> all = new HashMap<>();
        members.forEach(node -> all.put(node, Process.UNKNOWN));
        return all;
    }

    private List<Entry> entries() {
        List<Entry> entries = new ArrayList<>();
        processes.forEach((node, process) -> entries.add(new Entry(node, process.id, process.address)));
        return entries;
    }

    private static View decoded(long number, List<Entry> entries, Layout layout) {
        Map<Integer, Process> all = new HashMap<>();
        entries.forEach(entry -> all.put(entry.node, new Process(entry.process, entry.address)));
        return new View(number, all, layout);
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
        Process known = processes.get(node);
        return known != null && known.id == process;
    }

    /** The next view without these. */
    public View without(Set<Integer> nodes) {
        Map<Integer, Process> left = new HashMap<>(processes);
        left.keySet().removeAll(nodes);
        return new View(number + 1, left, layout);
    }

    /** The next view with these besides, on which no keys lie yet. */
    public View with(Map<Integer, Process> joining) {
        Map<Integer, Process> all = new HashMap<>(processes);
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
