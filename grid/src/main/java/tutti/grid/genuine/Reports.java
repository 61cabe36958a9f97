package tutti.grid.genuine;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import tutti.core.txn.TransactionId;

/** What others have told of how far they are, and who is gone: hence what need not be kept any more. */
final class Reports {
    private final Map<Integer, GenuineMessage.Progress> progress = new HashMap<>();
    private final Set<Integer> gone = new HashSet<>();
    /** The group of somebody who copies from this node and is no member yet; -1 if nobody does. */
    private int copied = -1;
    /** By node and life: the lowest serial that it may send again, as it has said last. What it has sent below is ordered everywhere. */
    private final Map<TransactionId, Long> unfinished = new HashMap<>();
    /**
     * What is not kept any more, though its sender, which is gone, has not said that it will not send it again. It may live, and come back to those who never heard that it was gone: other lives of the
     * destinations. So it is known by name as long as its sender may be a member.
     */
    private final Map<TransactionId, GenuineMessage.Entry> over = new HashMap<>();

    void reported(int by, GenuineMessage.Progress how) {
        progress.put(by, how);
        finishedBelow(new TransactionId(by, how.unfinished()));
    }

    /** Whether a node that is not gone has not told that it is as far as this. */
    boolean isWaitedFor(int node, long stamp) {
        GenuineMessage.Progress how = progress.get(node);
        return !gone.contains(node) && (how == null || how.stamp() < stamp);
    }

    private static TransactionId life(TransactionId id) {
        return new TransactionId(id.node(), Outbox.lifeOf(id));
    }

    private void finishedBelow(TransactionId first) {
        unfinished.merge(life(first), first.serial(), Math::max);
    }

    private boolean isFinished(TransactionId id) {
        Long first = unfinished.get(life(id));
        return first != null && id.serial() < first;
    }

    /** A message is not kept any more. */
    void forgotten(Tracked message) {
        if (!isFinished(message.id)) {
            over.put(message.id, new GenuineMessage.Entry(message.id, message.groups, new byte[0], message.stamp,
                    message.stamp));
        }
    }

    /**
     * Names of messages that nobody can take for new ones any more are forgotten as well.
     *
     * @param isPast whether nothing is taken from the life that has sent a message
     */
    void forget(Memberships groups, Predicate<TransactionId> isPast) {
        over.values().removeIf(entry -> isFinished(entry.id())
                || (isPast.test(entry.id()) && areThrough(entry.groups(), entry.stamp(), groups)));
    }

    private boolean areThrough(int[] of, long stamp, Memberships groups) {
        for (int group : of) {
            for (int node : groups.nodes(group)) {
                GenuineMessage.Progress how = progress.get(node);
                if (gone.contains(node) || how == null || how.stamp() < stamp) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Whether a message that is not known to the leader of its group was, and is over: then who sends it again has missed that, or has done so before a life began. */
    boolean isForgotten(TransactionId id) {
        return isFinished(id) || over.containsKey(id);
    }

    /** The final stamp of a message that is known by name only; 0 if it is not. */
    long stampOf(TransactionId id) {
        GenuineMessage.Entry entry = over.get(id);
        return entry == null ? 0 : entry.stamp();
    }

    /** What is known to be over, for another life. */
    GroupMulticast.Over over() {
        return new GroupMulticast.Over(
                unfinished.entrySet().stream().map(one -> new TransactionId(one.getKey().node(), one.getValue()))
                        .toList(),
                List.copyOf(over.values()));
    }

    /** The same, as it was given to this life. */
    void given(GroupMulticast.Over all) {
        all.finishedBelow().forEach(this::finishedBelow);
        all.messages().forEach(entry -> over.put(entry.id(), entry));
    }

    /** A life of a node is over: nothing is kept for it, and what it has told counts no more. */
    void gone(int node) {
        gone.add(node);
        progress.remove(node);
    }

    /** It is there again: something is kept for it, from now on. */
    void there(int node) {
        gone.remove(node);
    }

    /** Another life of it takes part, or copies what it needs for that: all is kept for it, until it tells how far it is. */
    void begins(int node) {
        gone.remove(node);
        progress.remove(node);
    }

    /** From now on everything that goes to a group is kept, whoever is through with it; to none if it is -1. */
    void keepAllOf(int group) {
        copied = group;
    }

    /**
     * Whether all who are to deliver a message are through with it, and its sender will not send it again. More than half of each of its groups must say
     * so, whoever is gone: who takes the place of a member is given what those have.
     */
    boolean isOver(Tracked message, Memberships groups) {
        int sender = message.id.node();
        GenuineMessage.Progress its = progress.get(sender);
        if (!gone.contains(sender) && (its == null || its.unfinished() <= message.id.serial())) {
            return false;
        }
        for (int group : message.groups) {
            if (group == copied) {
                return false;
            }
            int through = 0;
            for (int node : groups.nodes(group)) {
                GenuineMessage.Progress how = progress.get(node);
                if (how != null && how.stamp() >= message.stamp) {
                    through++;
                } else if (!gone.contains(node)) {
                    return false;
                }
            }
            if (through < groups.quorum(group)) {
                return false;
            }
        }
        return true;
    }
}
