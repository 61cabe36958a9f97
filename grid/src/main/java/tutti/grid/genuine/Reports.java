package tutti.grid.genuine;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** What others have told of how far they are, and who has crashed for good: hence what need not be kept any more. */
final class Reports {
    private final Map<Integer, GenuineMessage.Progress> progress = new HashMap<>();
    private final Set<Integer> gone = new HashSet<>();

    void reported(int by, GenuineMessage.Progress how) {
        progress.put(by, how);
    }

    void gone(int node) {
        gone.add(node);
    }

    boolean isGone(int node) {
        return gone.contains(node);
    }

    /** Whether all who are to deliver a message have, and its sender will not send it again. */
    boolean isOver(Tracked message, Set<Integer> destinations) {
        int sender = message.id.node();
        GenuineMessage.Progress its = progress.get(sender);
        boolean sent = isGone(sender) || (its != null && its.unfinished() > message.id.serial());
        return sent && destinations.stream().allMatch(node -> {
            GenuineMessage.Progress how = progress.get(node);
            return isGone(node) || (how != null && how.stamp() >= message.stamp);
        });
    }
}
