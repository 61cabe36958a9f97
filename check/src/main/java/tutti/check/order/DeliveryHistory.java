package tutti.check.order;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import tutti.check.column.LongColumn;

/**
 * Who asked for which message to be ordered, and who delivered what in which order. A member is one life of a process: a
 * process that restarts is another member, which joins where its durable position was. Messages are named by longs, no two
 * alike. One thread.
 */
public final class DeliveryHistory {
    private final TreeMap<Integer, Member> members = new TreeMap<>();

    /** What one member did. */
    static final class Member {
        final int number;
        long joinedAfter;
        boolean crashed;
        final LongColumn sent = new LongColumn();
        final LongColumn positions = new LongColumn();
        final LongColumn messages = new LongColumn();

        Member(int number) {
            this.number = number;
        }

        long lastPosition() {
            return positions.size() == 0 ? joinedAfter : positions.get(positions.size() - 1);
        }
    }

    private Member member(int number) {
        return members.computeIfAbsent(number, Member::new);
    }

    /** A member is there, and delivers what comes after this position; 0 for everything. */
    public void joined(int member, long after) {
        member(member).joinedAfter = after;
    }

    /** A member asked for a message to be ordered, after those that it asked for before. */
    public void sent(int member, long message) {
        member(member).sent.add(message);
    }

    /** A member delivered a message, at a position of the order. */
    public void delivered(int member, long position, long message) {
        Member to = member(member);
        to.positions.add(position);
        to.messages.add(message);
    }

    /** A member delivered a message, at the position after its last one. */
    public void delivered(int member, long message) {
        delivered(member, member(member).lastPosition() + 1, message);
    }

    /** A member ended; it is not correct, and owes nothing more. */
    public void crashed(int member) {
        member(member).crashed = true;
    }

    List<Member> members() {
        return new ArrayList<>(members.values());
    }
}
