package tutti.sim.world;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.node.ReplicaNode;
import tutti.node.ReplicaNode.MemberChange;
import tutti.sim.fault.Action;
import tutti.sim.fault.EngineFaults;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.node.NodeHost;

/**
 * The members of a scenario's cluster as its operators know them, and what those do: they ask nodes for changes as the command
 * {@code tutti nodes} does, start a node once it is a member, and stop one that moves.
 *
 * <p>
 * <b>How long.</b> An operator begins as long as his fault lasts, again and again until nodes show that the change was made. What has begun
 * he ends, however long that takes: after the faults nothing hinders it. What a node has answered does not count, for it may have come too
 * late; the list counts that some node shows.
 */
final class Membership implements NodeHost.Members {
    private static final Label ACT = Label.of("operator", "acts");
    private static final long AGAIN_NANOS = 20 * Nanos.MILLI;
    private static final long WATCH_NANOS = 200 * Nanos.MILLI;
    /** Longer than a node takes to say that it does not know what became of a change. */
    private static final long PATIENCE_NANOS = 6 * Nanos.SECOND;

    private final Kernel kernel;
    private final RandomStream random;
    private final Recording recording;
    private final List<String> hosts;
    private final int founders;
    private final List<NodeHost> nodes;
    private final List<Operator> operators = new ArrayList<>();
    private Group.@Nullable Members newest;

    /** @param nodes by number; filled later */
    Membership(Kernel kernel, Recording recording, Scenario scenario, List<NodeHost> nodes) {
        this.kernel = kernel;
        this.random = kernel.random("operators");
        this.recording = recording;
        this.hosts = scenario.plan().allHosts();
        this.founders = scenario.hosts().size();
        this.nodes = nodes;
    }

    /** The newest list that some node shows; null as long as it is the first. */
    private Group.@Nullable Members newest() {
        for (NodeHost node : nodes) {
            ReplicaNode replica = node.replica();
            Group.Members shown = replica == null ? null : replica.members();
            if (shown != null && shown.number() > (newest == null ? 0 : newest.number())) {
                newest = shown;
            }
        }
        return newest;
    }

    /** Numbers of the members. */
    Set<Integer> all() {
        Group.Members now = newest();
        return now == null
                ? new TreeSet<>(IntStream.range(0, founders).boxed().toList())
                : new TreeSet<>(now.addresses().keySet());
    }

    /** Those of them that decide with the others. */
    Set<Integer> voters() {
        Set<Integer> voters = all();
        Group.Members now = newest();
        if (now != null) {
            voters.removeAll(now.learners());
        }
        return voters;
    }

    @Override
    public boolean isRemoved(int node) {
        Group.Members now = newest();
        return now != null && now.removed().containsKey(node);
    }

    @Override
    public SortedMap<Integer, InetSocketAddress> addresses() {
        SortedMap<Integer, InetSocketAddress> addresses = new TreeMap<>();
        for (int node : all()) {
            addresses.put(node, InetSocketAddress.createUnresolved(hosts.get(node), port(node)));
        }
        return addresses;
    }

    /** Where the newest list has a member. */
    private int port(int node) {
        Group.Members now = newest();
        String text = now == null ? null : now.addresses().get(node);
        return text == null ? NodeHost.PORT : Integer.parseInt(text.substring(text.lastIndexOf(':') + 1));
    }

    /** Whether operators have nothing to do any more, new members decide with the others, and who was removed has ended by itself. */
    boolean isAtRest() {
        return operators.stream().allMatch(Operator::isAtRest)
                && all().stream().allMatch(node -> voters().contains(node) || nodes.get(node).refuses())
                && nodes.stream().allMatch(node -> !isRemoved(node.node()) || node.hasLeft())
                && nodes.stream().noneMatch(NodeHost::isRemovedUnseen);
    }

    /** Members change one at a time; what an operator is told then is to remove the one that does not come. */
    private boolean someoneNeverComes() {
        return all().stream().anyMatch(node -> !voters().contains(node) && nodes.get(node).refuses());
    }

    @Override
    public String toString() {
        return "members " + all() + ", of which " + voters() + " decide; removed and there "
                + nodes.stream().filter(node -> isRemoved(node.node()) && !node.hasLeft()).map(NodeHost::node).toList();
    }

    /** An operator begins with a change. */
    EngineFaults.Change begin(Action.OfMembers wanted) {
        Operator operator = switch (wanted) {
            case Action.Join(String host) -> new Joining(number(host));
            case Action.Leave(String host) -> new Leaving(number(host));
            case Action.Replace(String host, String by) -> new Replacing(number(host), number(by));
            case Action.Move(String host) -> new Moving(number(host));
        };
        operators.add(operator);
        operator.act();
        return operator;
    }

    private int number(String host) {
        return hosts.indexOf(host);
    }

    /** One change: what is asked for, and what follows when it was made. */
    private abstract class Operator implements EngineFaults.Change {
        final int node;
        boolean givenUp;
        private long asked;
        private long made;

        Operator(int node) {
            this.node = node;
        }

        /** Does what is to be done next; answers whether anything is left. */
        abstract boolean next();

        abstract boolean isAtRest();

        void act() {
            if (next()) {
                kernel.schedule(givenUp ? WATCH_NANOS : AGAIN_NANOS, ACT, this::act);
            }
        }

        boolean asks() {
            return asked > kernel.now();
        }

        /** Asks some node that serves, unless an answer is awaited. */
        void ask(MemberChange change) {
            List<NodeHost> serving = nodes.stream()
                    .filter(each -> each.isReady() && each.node() != change.node() && all().contains(each.node()))
                    .toList();
            ReplicaNode replica = serving.isEmpty() || asks() ? null : random.pick(serving).replica();
            if (replica == null) {
                return;
            }
            asked = kernel.now() + PATIENCE_NANOS;
            long until = asked;
            replica.change(change, new Completion<>() {
                @Override
                public void succeeded(Group.Members now) {
                    answered(until);
                }

                @Override
                public void failed(EngineFailure failure) {
                    recording.count("change refused: " + failure.sqlState());
                    answered(until);
                }
            });
        }

        private void answered(long until) {
            if (asked == until) {
                asked = 0;
            }
        }

        void made(String what) {
            made++;
            recording.count("member " + what);
        }

        @Override
        public void giveUp() {
            givenUp = true;
        }

        @Override
        public long made() {
            return made;
        }
    }

    /** A node comes: it is added, and started. */
    private class Joining extends Operator {
        private boolean begun;

        Joining(int node) {
            super(node);
        }

        @Override
        boolean next() {
            if (!begun && all().contains(node)) {
                begun = true;
                made("added");
                Host host = nodes.get(node).host();
                if (host.state() == Host.State.DOWN && !host.isRetired()) {
                    host.boot();
                }
            } else if (!begun && !givenUp && !isRemoved(node)) {
                ask(new MemberChange.Add(node, hosts.get(node) + ":" + NodeHost.PORT));
            }
            return !begun;
        }

        boolean hasBegun() {
            return begun;
        }

        @Override
        boolean isAtRest() {
            return !asks() && begun == all().contains(node);
        }
    }

    /** A node goes. */
    private final class Leaving extends Operator {
        private final boolean wasRemoved;

        Leaving(int node) {
            super(node);
            wasRemoved = isRemoved(node);
        }

        @Override
        boolean next() {
            if (isRemoved(node)) {
                if (!wasRemoved) {
                    made("removed");
                }
                return false;
            }
            if (!givenUp) {
                ask(new MemberChange.Remove(node));
            }
            return true;
        }

        @Override
        boolean isAtRest() {
            return !asks();
        }
    }

    /** A node comes, and when it has caught up another goes. */
    private final class Replacing extends Joining {
        private final Leaving leaving;

        Replacing(int node, int by) {
            super(by);
            leaving = new Leaving(node);
        }

        @Override
        boolean next() {
            if (super.next() || !voters().contains(node)) {
                return true;
            }
            return leaving.next();
        }

        @Override
        public long made() {
            return super.made() + leaving.made();
        }

        /** Unless the new one, or another one whose coming is to end first, will never be there, or the old one went otherwise. */
        @Override
        boolean isAtRest() {
            return super.isAtRest() && !leaving.asks() && (!hasBegun() || isRemoved(leaving.node)
                    || nodes.get(node).refuses() || someoneNeverComes());
        }
    }

    /** A node is stopped, its new address is told, and it is started there. */
    private final class Moving extends Operator {
        private final int to;
        private boolean stopped;
        private boolean told;
        private boolean runs;

        Moving(int node) {
            super(node);
            to = nodes.get(node).port() + 1;
        }

        @Override
        boolean next() {
            NodeHost home = nodes.get(node);
            if (!stopped) {
                // One that has never run is not moved: its directory does not say yet with whom the cluster began.
                if (home.isReady() && !givenUp) {
                    stopped = true;
                    home.stop();
                }
                return !givenUp;
            }
            if (!told && port(node) == to) {
                told = true;
                made("moved");
            }
            if (told || isRemoved(node)) {
                if (runs) {
                    home.stop();
                }
                home.startAt(told ? to : home.port());
                return false;
            }
            if (!givenUp) {
                ask(new MemberChange.Move(node, hosts.get(node) + ":" + to));
            } else if (!runs && !asks()) {
                // What was asked for may yet be made: then it moves after all.
                runs = true;
                home.startAt(home.port());
            }
            return true;
        }

        @Override
        boolean isAtRest() {
            return !asks() && (!stopped || told || (runs && port(node) != to) || isRemoved(node));
        }
    }
}
