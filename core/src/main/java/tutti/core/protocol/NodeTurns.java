package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/**
 * Whose turn is it at a key? A node of which some transactions in a row, two normally, have lost the same row in certification gets its turn there: until
 * one of its transactions that changes the row commits, those of other nodes are refused. So a node that is far or slow, and so comes second
 * always, comes first in its turn. Used by protocols that certify.
 *
 * <p>
 * <b>Why that is safe.</b> All of it is a function of the ordered prefix: of who lost and won what, and of {@link Over}. So replicas refuse
 * alike. And it only refuses what certification would let pass, never the other way round.
 *
 * <p>
 * <b>Why nobody waits for ever.</b> A turn is over when its node has won the row; when a node that waits for it has said so, which it
 * does after a time; or {@value #POSITIONS_MAX} positions after it began. Nodes have their turns in the order in which they got
 * them. A node whose turn at one of a transaction's rows is older than those of others at its other rows is not refused for those:
 * so among several turns the oldest waits for none.
 */
final class NodeTurns {
    private static final long POSITIONS_MAX = 10_000;
    /** Of how many rows losses, or turns, are remembered, at least, before it is looked which of them count no more. */
    private static final int LOSSES_KEPT = 1_000;

    /** A turn has lasted long enough. */
    record Over(long key, long since) implements Message {
        static final Schema<Over> SCHEMA = Schema
                .message("turn-over", 4, Over.class, "A node's turn at a row has lasted long enough.").of(
                        Field.of("key", Types.LONG, Over::key), Field.of("since", Types.NATURAL, Over::since),
                        Over::new);
    }

    /**
     * A node's turn at a key.
     *
     * @param since position at which the node got it
     */
    record Turn(long key, int node, long since) {
        static final Schema<Turn> SCHEMA = Schema.part("turn", Turn.class).of(Field.of("key", Types.LONG, Turn::key),
                Field.of("node", Types.INT, Turn::node), Field.of("since", Types.NATURAL, Turn::since), Turn::new);
    }

    /**
     * A node has lost a key.
     *
     * @param times in a row
     * @param position of the last time
     */
    record Loss(long key, int node, int times, long position) {
        static final Schema<Loss> SCHEMA = Schema.part("loss", Loss.class).of(Field.of("key", Types.LONG, Loss::key),
                Field.of("node", Types.INT, Loss::node), Field.of("times", Types.INT, Loss::times),
                Field.of("position", Types.NATURAL, Loss::position), Loss::new);
    }

    /** What decides, as it is written. */
    record Image(List<Turn> turns, List<Loss> losses) {
        static final Schema<Image> SCHEMA = Schema.part("turns", Image.class).of(
                Field.of("turns", Types.list(Turn.SCHEMA, Integer.MAX_VALUE), Image::turns),
                Field.of("losses", Types.list(Loss.SCHEMA, Integer.MAX_VALUE), Image::losses), Image::new);
    }

    /** By key, those of each in the order in which they were got. */
    private final Map<Long, Deque<Turn>> turns = new TreeMap<>();
    /** By key and node. */
    private final Map<Long, Map<Integer, Loss>> losses = new TreeMap<>();
    private final int enough;
    private long floor;
    /** It is looked for what may be forgotten when there are more: twice as many as were left then, so that each is looked at twice or so. */
    private int enoughToForget = LOSSES_KEPT;
    /** The same of keys with turns. */
    private int enoughToEnd = LOSSES_KEPT;

    /**
     * None.
     *
     * @param enough how often in a row a node loses a row before it gets its turn; 0 if it never does
     */
    NodeTurns(int enough) {
        this.enough = enough;
    }

    /** As somebody else has them. */
    NodeTurns(int enough, Image image, long floor) {
        this(enough);
        this.floor = floor;
        image.turns().forEach(turn -> turns.computeIfAbsent(turn.key(), _ -> new ArrayDeque<>()).add(turn));
        image.losses().forEach(
                loss -> losses.computeIfAbsent(loss.key(), _ -> new TreeMap<>()).put(loss.node(), loss));
    }

    /** Losses up to this position do not count any more. */
    void forget(long position) {
        floor = position;
        if (losses.size() > enoughToForget) {
            losses.values().removeIf(of -> {
                of.values().removeIf(loss -> loss.position() <= floor);
                return of.isEmpty();
            });
            enoughToForget = Math.max(LOSSES_KEPT, 2 * losses.size());
        }
    }

    /** A transaction of this node has lost this key of its write set to another one. */
    void lost(KeySet keys, int index, int node, long position) {
        if (enough == 0 || keys.kind(index) != KeyKind.UPDATE) {
            return;
        }
        long key = keys.hash(index);
        endOfUntouched(position);
        Map<Integer, Loss> of = losses.computeIfAbsent(key, _ -> new TreeMap<>());
        Loss before = of.get(node);
        int times = before == null || before.position() <= floor ? 1 : before.times() + 1;
        of.put(node, new Loss(key, node, times, position));
        first(key, position);
        Deque<Turn> line = turns.get(key);
        if (times >= enough && (line == null || line.stream().noneMatch(turn -> turn.node() == node))) {
            turns.computeIfAbsent(key, _ -> new ArrayDeque<>()).add(new Turn(key, node, position));
        }
    }

    /** A transaction of this node commits. */
    void won(KeySet keys, int node) {
        if (turns.isEmpty() && losses.isEmpty()) {
            return;
        }
        for (int i = 0; i < keys.size(); i++) {
            long key = keys.hash(i);
            Map<Integer, Loss> lost = losses.get(key);
            if (lost != null && lost.remove(node) != null && lost.isEmpty()) {
                losses.remove(key);
            }
            remove(key, turn -> turn.node() == node);
        }
    }

    /** Turns that have lasted too long are gone, also at keys that nobody touches any more. */
    private void endOfUntouched(long position) {
        if (turns.size() > enoughToEnd) {
            turns.values().removeIf(line -> {
                line.removeIf(turn -> turn.since() + POSITIONS_MAX <= position);
                return line.isEmpty();
            });
            enoughToEnd = Math.max(LOSSES_KEPT, 2 * turns.size());
        }
    }

    private void remove(long key, java.util.function.Predicate<Turn> which) {
        Deque<Turn> line = turns.get(key);
        if (line != null && line.removeIf(which) && line.isEmpty()) {
            turns.remove(key);
        }
    }

    /** A turn has been said to have lasted long enough. */
    void over(Over said) {
        remove(said.key(), turn -> turn.since() == said.since());
    }

    /**
     * Whose turn it is, as of this position. Turns that have lasted too long are gone then, as they are for whoever began with an image.
     *
     * @return null if anybody's
     */
    @Nullable
    Turn first(long key, long position) {
        remove(key, turn -> turn.since() + POSITIONS_MAX <= position);
        Deque<Turn> line = turns.get(key);
        return line == null ? null : line.peek();
    }

    /** At which of its keys a transaction of this node is refused because it is another node's turn; -1 if at none. */
    int refused(KeySet keys, int node, long position) {
        if (turns.isEmpty()) {
            return -1;
        }
        long own = Long.MAX_VALUE;
        for (int i = 0; i < keys.size(); i++) {
            Turn turn = first(keys.hash(i), position);
            own = turn != null && turn.node() == node ? Math.min(own, turn.since()) : own;
        }
        for (int i = 0; i < keys.size(); i++) {
            Turn turn = first(keys.hash(i), position);
            if (turn != null && turn.node() != node && turn.since() < own
                    && keys.kind(i).conflictsWith(KeyKind.UPDATE)) {
                return i;
            }
        }
        return -1;
    }

    /** Rows that it knows of. */
    int rows() {
        return Math.max(turns.size(), losses.size());
    }

    /** What decides from here on. */
    Image image(long position) {
        List<Turn> kept = new ArrayList<>();
        for (Deque<Turn> line : turns.values()) {
            line.stream().filter(turn -> turn.since() + POSITIONS_MAX > position).forEach(kept::add);
        }
        List<Loss> lost = new ArrayList<>();
        for (Iterator<Map<Integer, Loss>> of = losses.values().iterator(); of.hasNext();) {
            of.next().values().stream().filter(loss -> loss.position() > floor).forEach(lost::add);
        }
        return new Image(kept, lost);
    }
}
