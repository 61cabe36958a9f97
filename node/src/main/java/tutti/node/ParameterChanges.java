package tutti.node;

import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Message;
import tutti.core.protocol.OrderedParameters;
import tutti.core.protocol.Protocol;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;

/**
 * Changes of those parameters of the protocol that count from one position of the order on, at all replicas: asks for them, and tells what they are.
 * Everything else about them is the protocol's. Of the replica's loop.
 */
final class ParameterChanges {
    private static final Logger LOG = LoggerFactory.getLogger(ParameterChanges.class);
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    /** What of the node is needed here. */
    interface Node {
        /** Has a message of the protocol ordered. */
        void order(Message message);

        /** Why the node cannot serve; null if it can. */
        @Nullable
        String refusal();

        void schedule(long delayNanos, Runnable task);
    }

    private record Asked(Message change, Completion<OrderedParameters> done) {}

    private final int self;
    private final Supplier<Set<Integer>> replicas;
    private final ChosenProtocol chosen;
    private final Protocol protocol;
    private final Node node;
    /** As the protocol has been told its own, and as it is to be told. */
    private ChosenProtocol configured;
    private ChosenProtocol latest;
    private boolean recovered;
    private @Nullable Asked asked;
    private volatile OrderedParameters present;
    private volatile Claims claims;

    /** @param replicas those that decide, as of now */
    ParameterChanges(int self, Supplier<Set<Integer>> replicas, ChosenProtocol chosen, Protocol protocol, Node node) {
        this.self = self;
        this.replicas = replicas;
        this.chosen = chosen;
        this.configured = chosen;
        this.latest = chosen;
        this.protocol = protocol;
        this.node = node;
        this.present = protocol.ordered();
        this.claims = chosen.claims(present);
    }

    /** As {@link ReplicaNode#parameters}. Any thread. */
    OrderedParameters present() {
        return present;
    }

    /** What the protocol promises and needs with these. Any thread. */
    Claims claims() {
        return claims;
    }

    /** As {@link ReplicaNode#change(Map, Completion)}. */
    void ask(Map<String, String> wanted, Completion<OrderedParameters> done) {
        if (present.values().isEmpty()) {
            done.failed(new EngineFailure("0A000", "protocol " + chosen.name()
                    + " has no parameter that changes while nodes run; those of `apply` change by `tutti reload`",
                    false));
            return;
        }
        Message change;
        try {
            change = chosen.change(replicas.get(), present, wanted);
        } catch (IllegalArgumentException impossible) {
            done.failed(new EngineFailure("22023", String.valueOf(impossible.getMessage()), false));
            return;
        }
        String refusal = asked == null ? node.refusal() : "another change is under way: ask again";
        if (refusal != null) {
            done.failed(new EngineFailure("55000", refusal, false));
            return;
        }
        if (present.values().entrySet().containsAll(wanted.entrySet())) {
            done.succeeded(present);
            return;
        }
        Asked mine = new Asked(change, done);
        asked = mine;
        LOG.info("node {}: asks for other parameters: {}", self, wanted);
        node.order(change);
        node.schedule(PATIENCE_NANOS, () -> {
            if (mine.equals(asked)) {
                asked = null;
                done.failed(new EngineFailure("57P03",
                        "the order has not answered in time; `tutti parameters list` tells later whether the"
                                + " change was made",
                        true));
            }
        });
    }

    /** As {@link ReplicaNode#configured}; an event of the protocol, which has none before it is restored. */
    void configured(ChosenProtocol now) {
        latest = now;
        if (recovered && !now.equals(configured)) {
            configured = now;
            now.configure(protocol);
        }
    }

    /** The node begins with what a snapshot has told; an event of the protocol. */
    void recovered() {
        recovered = true;
        follow();
        configured(latest);
    }

    /** The protocol was told of a message. */
    void delivered(long position, int sender, Message message) {
        follow();
        Asked mine = asked;
        if (mine == null || sender != self || !message.equals(mine.change)) {
            return;
        }
        asked = null;
        if (present.since() == position) {
            mine.done.succeeded(present);
        } else {
            mine.done.failed(
                    new EngineFailure("55000", "the parameters, as of position " + present.since()
                            + ", or the members have changed meanwhile: ask again", false));
        }
    }

    /** Looks whether the protocol has other parameters. */
    void follow() {
        OrderedParameters now = protocol.ordered();
        if (!now.equals(present)) {
            present = now;
            claims = chosen.claims(now);
            LOG.info("node {}: as of position {} the protocol's parameters are {}", self, now.since(), now.values());
        }
    }
}
