package tutti.check.order;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tutti.check.CheckResult;
import tutti.check.column.IntColumn;
import tutti.check.column.LongIndex;

/**
 * Checks that an order keeps its promises. The properties are those of uniform total order multicast (Défago, Schiper
 * and Urbán, Total Order Broadcast and Multicast Algorithms, 2004, section 2.2), with the positions that Tutti's order
 * adds:
 *
 * <ul>
 * <li><em>validity</em>: what a correct member sent, it delivers;
 * <li><em>uniform integrity</em>: a member delivers a message at most once, and only if somebody sent it;
 * <li><em>uniform agreement</em>: what any member delivers, even one that crashed, every correct member delivers;
 * <li><em>uniform total order</em>: a position holds the same message for all, and every member delivers in order of
 * position, leaving none out that any other delivered;
 * <li><em>first in, first out</em>: messages of a sender are delivered in the order in which it sent them, and none
 * without those before it.
 * </ul>
 *
 * A member that joined later owes what came after its position. The run must have come to rest. O(d + p log p) for d
 * deliveries in all and p positions.
 */
public final class TotalOrderCheck {
    private static final int VIOLATIONS_MAX = 20;

    private final List<DeliveryHistory.Member> members;
    private final List<CheckResult.Violation> violations = new ArrayList<>();
    private final LongIndex messages = new LongIndex();
    // By message: who sent it, and as which of its messages; -1 if nobody did.
    private final IntColumn senders = new IntColumn();
    private final IntColumn numbers = new IntColumn();
    private final LongIndex positions = new LongIndex();
    // By position: the message and who delivered it first.
    private final IntColumn messageAt = new IntColumn();
    private final IntColumn deliveredBy = new IntColumn();
    private long deliveries;

    private TotalOrderCheck(DeliveryHistory history) {
        members = history.members();
    }

    /** Checks. */
    public static CheckResult check(DeliveryHistory history) {
        long begun = System.nanoTime();
        TotalOrderCheck check = new TotalOrderCheck(history);
        check.sent();
        check.delivered();
        check.sequences();
        check.validity();
        return new CheckResult("total order", check.members.size() + " members, " + check.messages.size()
                + " messages, " + check.positions.size() + " positions, " + check.deliveries + " deliveries",
                check.violations, List.of(), (System.nanoTime() - begun) / 1e9);
    }

    private void sent() {
        for (int m = 0; m < members.size(); m++) {
            DeliveryHistory.Member member = members.get(m);
            for (int i = 0; i < member.sent.size(); i++) {
                int message = messages.add(member.sent.get(i));
                if (message < senders.size()) {
                    throw new IllegalArgumentException("message " + member.sent.get(i) + " was sent twice");
                }
                senders.add(m);
                numbers.add(i);
            }
        }
    }

    private void delivered() {
        for (DeliveryHistory.Member member : members) {
            long[] lastSeen = new long[messages.size() + member.messages.size()];
            for (int i = 0; i < member.messages.size(); i++) {
                deliveries++;
                long position = member.positions.get(i);
                int message = messages.add(member.messages.get(i));
                if (message == senders.size()) {
                    senders.add(-1);
                    numbers.add(-1);
                    add("uniform integrity", member, "it delivered message " + messages.value(message)
                            + " at position " + position + ", which nobody sent");
                }
                if (lastSeen[message] != 0) {
                    add("uniform integrity", member, "it delivered message " + messages.value(message)
                            + " at position " + lastSeen[message] + " and again at position " + position);
                }
                lastSeen[message] = position;
                int place = positions.add(position);
                if (place == messageAt.size()) {
                    messageAt.add(message);
                    deliveredBy.add(member.number);
                } else if (messageAt.get(place) != message) {
                    add("uniform total order", member, "at position " + position + " it delivered message "
                            + messages.value(message) + ", but member " + deliveredBy.get(place) + " delivered "
                            + messages.value(messageAt.get(place)));
                }
            }
        }
    }

    private void sequences() {
        long[] sorted = positions.toArray();
        Arrays.sort(sorted);
        for (DeliveryHistory.Member member : members) {
            firstInFirstOut(member);
            boolean complete = inOrder(member, sorted);
            long last = member.lastPosition();
            if (complete && !member.crashed && sorted.length > 0 && last < sorted[sorted.length - 1]) {
                long next = sorted[after(sorted, last)];
                int place = positions.find(next);
                add("uniform agreement", member, "it is correct, but delivered nothing after position " + last
                        + "; member " + deliveredBy.get(place) + " delivered message "
                        + messages.value(messageAt.get(place)) + " at position " + next);
            }
        }
    }

    private boolean inOrder(DeliveryHistory.Member member, long[] sorted) {
        int expected = after(sorted, member.joinedAfter);
        for (int i = 0; i < member.positions.size(); i++) {
            long position = member.positions.get(i);
            if (expected >= sorted.length || position < sorted[expected]) {
                add("uniform total order", member, "it delivered position " + position + " after position "
                        + (i == 0 ? member.joinedAfter : member.positions.get(i - 1)));
                return false;
            }
            if (position > sorted[expected]) {
                int place = positions.find(sorted[expected]);
                add("uniform total order", member, "it delivered position " + position + " but left out "
                        + sorted[expected] + ", at which member " + deliveredBy.get(place) + " delivered message "
                        + messages.value(messageAt.get(place)));
                return false;
            }
            expected++;
        }
        return true;
    }

    private void firstInFirstOut(DeliveryHistory.Member member) {
        int[] next = new int[members.size()];
        // Somebody who joined later may meet a sender in the middle.
        Arrays.fill(next, member.joinedAfter == 0 ? 0 : -1);
        for (int i = 0; i < member.messages.size(); i++) {
            int message = messages.find(member.messages.get(i));
            int sender = senders.get(message);
            if (sender < 0) {
                continue;
            }
            int number = numbers.get(message);
            if (next[sender] >= 0 && number != next[sender]) {
                add("first in, first out", member, "it delivered message " + messages.value(message) + ", the "
                        + (number + 1) + ". of member " + members.get(sender).number + ", where the "
                        + (next[sender] + 1) + ". was due");
                return;
            }
            next[sender] = number + 1;
        }
    }

    private void validity() {
        for (DeliveryHistory.Member member : members) {
            if (member.crashed) {
                continue;
            }
            LongIndex own = new LongIndex();
            for (int i = 0; i < member.messages.size(); i++) {
                int _ = own.add(member.messages.get(i));
            }
            for (int i = 0; i < member.sent.size(); i++) {
                if (own.find(member.sent.get(i)) < 0) {
                    add("validity", member, "it is correct and sent message " + member.sent.get(i)
                            + ", but never delivered it");
                    break;
                }
            }
        }
    }

    private static int after(long[] sorted, long position) {
        int found = Arrays.binarySearch(sorted, position);
        return found >= 0 ? found + 1 : -found - 1;
    }

    private void add(String rule, DeliveryHistory.Member member, String text) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add(CheckResult.Violation.of(rule, "member " + member.number, text));
        }
    }
}
