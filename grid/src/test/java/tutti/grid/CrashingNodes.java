package tutti.grid;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/**
 * The nodes of a run that a seed decides: channels between them, which are first in, first out, crashes, and views. A crash takes the end of what
 * its node has sent along. Nodes are told of views one by one, at any moment; those that are left out by mistake are not.
 *
 * @param <M> what they send to each other
 */
public final class CrashingNodes<M> {
    private final Random random;
    private final List<Set<Integer>> views = new ArrayList<>();
    private final List<Node<M>> nodes = new ArrayList<>();
    private boolean holding = true;
    private Set<Integer> talking;

    private record Sent<M>(int view, M message) {}

    private static final class Node<M> {
        /** By sender. */
        private final List<Deque<Sent<M>>> inbound = new ArrayList<>();
        private int view;
        private int entered;
        private boolean crashed;
        private boolean excluded;
    }

    /** Takes what has come. */
    public interface Receiver<M> {
        /**
         * Something has come.
         *
         * @param view that its sender had entered
         */
        void received(int from, int view, M message);
    }

    /** So many, all in view 0. */
    public CrashingNodes(int count, Random random) {
        this.random = random;
        Set<Integer> all = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            all.add(i);
            Node<M> node = new Node<>();
            for (int from = 0; from < count; from++) {
                node.inbound.add(new ArrayDeque<>());
            }
            nodes.add(node);
        }
        views.add(all);
        talking = all;
    }

    /** Until it is said otherwise, nothing comes but between these. */
    public void onlyBetween(Set<Integer> some) {
        talking = some;
    }

    /** Who receives something. */
    public Set<Integer> talking() {
        return talking;
    }

    /** From now on messages do not wait for the view in which they were sent. */
    public void holdNothing() {
        holding = false;
    }

    /** Members of the first view. */
    public Set<Integer> all() {
        return views.getFirst();
    }

    /** Members of the last view. */
    public Set<Integer> left() {
        return views.getLast();
    }

    /** How many views there were. */
    public int views() {
        return views.size();
    }

    /** The number of the last view that a node knows. */
    public int view(int node) {
        return nodes.get(node).view;
    }

    /** Its members. */
    public Set<Integer> members(int node) {
        return views.get(nodes.get(node).view);
    }

    /** Whether a node has stopped. */
    public boolean isCrashed(int node) {
        return nodes.get(node).crashed;
    }

    /** Whether a node lives, and does not know that the others go on without it. */
    public boolean isExcluded(int node) {
        return nodes.get(node).excluded;
    }

    /** Whether neither is so. */
    public boolean isCorrect(int node) {
        return !isCrashed(node) && !isExcluded(node);
    }

    /** Whether a node has entered the last view. */
    public boolean isInLast(int node) {
        return nodes.get(node).entered == views.size() - 1;
    }

    @Override
    public String toString() {
        return views + ", crashed " + all().stream().filter(this::isCrashed).toList() + ", left out "
                + all().stream().filter(this::isExcluded).toList();
    }

    // ------------------------------------------------------------------------------------------ channels

    /** Sends something. */
    public void send(int from, int to, M message) {
        nodes.get(to).inbound.get(from).add(new Sent<>(nodes.get(from).entered, message));
    }

    /** What a node may receive now, one thing from each sender. What it can never receive is gone. */
    public List<Runnable> receipts(int by, Receiver<M> receiver) {
        List<Runnable> receipts = new ArrayList<>();
        Node<M> node = nodes.get(by);
        for (int from = 0; from < nodes.size() && !node.crashed && talking.contains(by); from++) {
            Deque<Sent<M>> channel = node.inbound.get(from);
            if (channel.isEmpty()) {
                continue;
            }
            if (!members(by).contains(from)) {
                channel.clear();
            } else if (talking.contains(from) && (!holding || channel.getFirst().view <= node.entered)) {
                int sender = from;
                receipts.add(() -> {
                    Sent<M> first = channel.removeFirst();
                    receiver.received(sender, first.view, first.message);
                });
            }
        }
        return receipts;
    }

    // ------------------------------------------------------------------------------------------ crashes and views

    /** A node stops; some of what it has sent last will not come. */
    public void crash(int node) {
        nodes.get(node).crashed = true;
        for (Node<M> to : nodes) {
            Deque<Sent<M>> channel = to.inbound.get(node);
            for (int cut = random.nextInt(channel.size() + 1); cut > 0; cut--) {
                channel.removeLast();
            }
        }
    }

    /** A node that has stopped is started anew: nothing that was sent to it before comes. */
    public void start(int node) {
        nodes.get(node).crashed = false;
        nodes.get(node).inbound.forEach(Deque::clear);
    }

    /** Another view, which lacks so many of those in the last one, but leaves one. They have crashed, or are left out by mistake. */
    public void goOnWithout(int count) {
        Set<Integer> left = new TreeSet<>(left());
        for (int i = 0; i < count && left.size() > 1; i++) {
            int number = List.copyOf(left).get(random.nextInt(left.size()));
            left.remove(number);
            goesOut(number);
        }
        views.add(left);
    }

    /** Another view, which lacks a certain one of those in the last one. */
    public void goOnWithoutNode(int number) {
        Set<Integer> left = new TreeSet<>(left());
        left.remove(number);
        goesOut(number);
        views.add(left);
    }

    private void goesOut(int number) {
        if (random.nextInt(4) == 0) {
            nodes.get(number).excluded = true;
        } else {
            crash(number);
        }
    }

    /** Whether there is a view of which a node may be told. */
    public boolean canChangeView(int node) {
        return isCorrect(node) && nodes.get(node).view < views.size() - 1;
    }

    /** A node is told of the next view. Its number. */
    public int changeView(int node) {
        return ++nodes.get(node).view;
    }

    /** What a node sends from now on is sent in the last view that it knows. */
    public void enter(int node) {
        nodes.get(node).entered = nodes.get(node).view;
    }
}
