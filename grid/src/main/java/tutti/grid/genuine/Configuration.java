package tutti.grid.genuine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * Who takes part in a ballot of a group. Members are <em>lives</em> of nodes: a node that has crashed and is started anew has lost what it had, and is another member. Immutable.
 *
 * @param members of different nodes, ascending
 */
public record Configuration(List<Member> members) {
    /** How it is written. */
    public static final Schema<Configuration> SCHEMA = Schema.part("configuration", Configuration.class).of(
            Field.of("members", Types.list(Member.SCHEMA, Groups.GROUPS_MAX), Configuration::members),
            Configuration::new);
    /** Of a group of which nothing is known. */
    public static final Configuration NOBODY = new Configuration(List.of());

    /**
     * A life of a node.
     *
     * @param since the ballot in which somebody wanted to take it in, so no two lives of a node have the same; 0 of who was there when its group was founded
     * @param process of the node; 0 of who was there when the grid was founded, whichever process that is
     * @param address where it listens, for the other nodes; empty of who was there from the start, or if it does not matter
     */
    public record Member(int node, long since, long process, String address) {
        static final Schema<Member> SCHEMA = Schema.part("member of a group", Member.class).of(
                Field.of("node", Types.u8(0, Groups.GROUPS_MAX - 1), Member::node),
                Field.of("since", Types.NATURAL, Member::since), Field.of("process", Types.LONG, Member::process),
                Field.of("address", Types.text(1 << 10), Member::address), Member::new);

        /** Whether it is this life and no other of its node. */
        boolean is(@Nullable Member other) {
            return other != null && node == other.node && since == other.since;
        }
    }

    /** Keeps a copy. */
    public Configuration {
        members = List.copyOf(members);
    }

    /** Of nodes that are there from the start. */
    public static Configuration first(List<Integer> nodes) {
        return new Configuration(nodes.stream().sorted().map(node -> new Member(node, 0, 0, "")).toList());
    }

    /** The member that a node is now, if it is one. */
    public @Nullable Member of(int node) {
        for (Member member : members) {
            if (member.node == node) {
                return member;
            }
        }
        return null;
    }

    /** Whether a node is a member. */
    public boolean has(int node) {
        return of(node) != null;
    }

    /** The nodes that are members, ascending. */
    public List<Integer> nodes() {
        return members.stream().map(Member::node).toList();
    }

    /** How many are more than half. */
    public int quorum() {
        return members.size() / 2 + 1;
    }

    /** With one member more. */
    Configuration with(Member another) {
        List<Member> all = new ArrayList<>(members);
        all.add(another);
        all.sort(Comparator.comparingInt(Member::node));
        return new Configuration(all);
    }

    /** With one member less. */
    Configuration without(int node) {
        return new Configuration(members.stream().filter(member -> member.node != node).toList());
    }
}
