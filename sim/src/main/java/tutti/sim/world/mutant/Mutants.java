package tutti.sim.world.mutant;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.PassingProtocol;
import tutti.core.protocol.PassingReplica;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.spi.Order;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.Scenario.OrderKind;
import tutti.sim.world.order.PassingOrder;

/** All mutants there are. */
public final class Mutants {
    /** The replica at which mutants of a single replica live. */
    private static final int SICK = 1;
    /** One in so many times it goes wrong. */
    private static final int RARELY = 40;

    private static final List<Mutant> ALL = List.of(
            new Mutant("certification-skipped", "Write sets are certified without their keys.", "si", Map.of(),
                    OrderKind.GROUP, "none", CertificationSkipped::new),
            new Mutant("read-set-dropped", "Transactions are certified as if they had read nothing.", "dbsm",
                    Map.of("reads", "rows"), OrderKind.GROUP, "none",
                    () -> ofExecutions(one -> new Execution(one.begun(), one.lastCommitted(), one.writes(),
                            ReadSet.EMPTY))),
            new Mutant("snapshot-misdated", "A snapshot is taken for as new as the end of its transaction.", "dbsm",
                    Map.of("reads", "rows"), OrderKind.GROUP, "none",
                    () -> ofExecutions(one -> new Execution(one.lastCommitted(), one.lastCommitted(), one.writes(),
                            one.reads()))),
            new Mutant("stale-low-water-mark", "What open transactions are still certified against is forgotten.",
                    "akara", Map.of("isolation", "serializable", "either-way", "passive"), OrderKind.GROUP, "none",
                    StaleLowWaterMark::new),
            new Mutant("delivery-reordered", "One replica is delivered two messages in each other's place.", "si",
                    Map.of(), OrderKind.GROUP, "none", DeliveryReordered::new),
            new Mutant("sequencer-forgets", "When the sequencer crashes, the end of the order is forgotten.", "si",
                    Map.of(), OrderKind.IDEAL, "crash", SequencerForgets::new),
            new Mutant("apply-out-of-order", "One replica applies a write set later than at its position.", "si",
                    Map.of(), OrderKind.GROUP, "none", () -> atSickReplica(AppliesLater::new)),
            new Mutant("apply-dropped", "One replica leaves a write set out.", "si", Map.of(), OrderKind.GROUP, "none",
                    () -> atSickReplica(AppliesNot::new)),
            new Mutant("reply-before-order", "Clients are answered when their transaction has executed.", "si",
                    Map.of(), OrderKind.GROUP, "none", RepliesEarly::new),
            new Mutant("classes-forgotten", "Transactions are ordered as if they met no other.", "nodo",
                    Map.of("tentative", "no"), OrderKind.GROUP, "none", ClassesForgotten::new),
            new Mutant("execution-differs", "One replica executes a request in another way than the others.", "active",
                    Map.of(), OrderKind.GROUP, "none", () -> atSickReplica(ExecutesDifferently::new)),
            new Mutant("votes-without-locks", "Replicas vote for transactions without having made their changes.",
                    "2pc", Map.of(), OrderKind.GROUP, "none", VotesWithoutLocks::new));

    private Mutants() {}

    /** All of them. */
    public static List<Mutant> all() {
        return ALL;
    }

    /** True once in a while, by counting. */
    private static final class Sometimes {
        private int count;

        boolean now() {
            return ++count % RARELY == 0;
        }
    }

    /** Changes how executions are told to protocols. */
    private static Mutation ofExecutions(Function<Execution, Execution> change) {
        return new Mutation() {
            @Override
            public Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
                return new PassingProtocol(maker.apply(replica)) {
                    @Override
                    public void executed(TransactionId transaction, Execution execution) {
                        protocol.executed(transaction, change.apply(execution));
                    }
                };
            }
        };
    }

    /** Changes what the protocol of one replica asks for. */
    private static Mutation atSickReplica(Function<Replica, Replica> change) {
        return new Mutation() {
            @Override
            public Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
                return maker.apply(node == SICK ? change.apply(replica) : replica);
            }
        };
    }

    private static final class CertificationSkipped implements Mutation {
        private final Map<TransactionId, KeySet> keys = new HashMap<>();

        @Override
        public Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
            return new PassingProtocol(maker.apply(new PassingReplica(replica) {
                @Override
                public void apply(TransactionId transaction, long position, WriteSet writes) {
                    world.apply(transaction, position, withKeys(transaction, writes));
                }

                @Override
                public void commit(TransactionId transaction, long position, WriteSet writes) {
                    world.commit(transaction, position, withKeys(transaction, writes));
                }
            })) {
                @Override
                public void executed(TransactionId transaction, Execution execution) {
                    keys.put(transaction, execution.writes().keys());
                    protocol.executed(transaction, new Execution(execution.begun(), execution.lastCommitted(),
                            new WriteSet(KeySet.EMPTY, execution.writes().changes()), execution.reads()));
                }
            };
        }

        /** The engine needs to know what is written. */
        private WriteSet withKeys(TransactionId transaction, WriteSet writes) {
            return new WriteSet(keys.getOrDefault(transaction, writes.keys()), writes.changes());
        }
    }

    private static final class StaleLowWaterMark implements Mutation {
        @Override
        public Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
            return new PassingProtocol(maker.apply(replica)) {
                @Override
                public void committed(long position, long horizon) {
                    protocol.committed(position, position);
                }
            };
        }
    }

    private static final class DeliveryReordered implements Mutation {
        private record Delivery(int sender, byte[] payload) {}

        @Override
        public Order order(int node, Order right) {
            return node != SICK ? right : new PassingOrder(right) {
                @Override
                protected Reader between(Reader right) {
                    return new PassingReader(right) {
                        private final Sometimes sometimes = new Sometimes();
                        private @Nullable Delivery held;

                        @Override
                        public void delivered(long position, int sender, ByteBuffer payload) {
                            byte[] bytes = new byte[payload.remaining()];
                            payload.get(bytes);
                            Delivery before = held;
                            if (before != null) {
                                held = null;
                                reader.delivered(position - 1, sender, ByteBuffer.wrap(bytes));
                                reader.delivered(position, before.sender, ByteBuffer.wrap(before.payload));
                            } else if (sometimes.now()) {
                                held = new Delivery(sender, bytes);
                            } else {
                                reader.delivered(position, sender, ByteBuffer.wrap(bytes));
                            }
                        }
                    };
                }
            };
        }
    }

    private static final class SequencerForgets implements Mutation {
        @Override
        public boolean orderForgets() {
            return true;
        }
    }

    private static final class RepliesEarly implements Mutation {
        @Override
        public boolean answersEarly() {
            return true;
        }
    }

    private static final class AppliesLater extends PassingReplica {
        private record Late(TransactionId transaction, WriteSet writes) {}

        private final Sometimes sometimes = new Sometimes();
        private final ArrayDeque<Late> late = new ArrayDeque<>();

        AppliesLater(Replica world) {
            super(world);
        }

        @Override
        public void apply(TransactionId transaction, long position, WriteSet writes) {
            if (transaction.node() != SICK && sometimes.now()) {
                late.add(new Late(transaction, writes));
                world.skip(position);
            } else {
                world.apply(transaction, position, writes);
            }
        }

        @Override
        public void skip(long position) {
            Late first = late.poll();
            if (first == null) {
                world.skip(position);
            } else {
                world.apply(first.transaction, position, first.writes);
            }
        }
    }

    private static final class AppliesNot extends PassingReplica {
        private final Sometimes sometimes = new Sometimes();

        AppliesNot(Replica world) {
            super(world);
        }

        @Override
        public void apply(TransactionId transaction, long position, WriteSet writes) {
            if (transaction.node() != SICK && sometimes.now()) {
                world.skip(position);
            } else {
                world.apply(transaction, position, writes);
            }
        }
    }

    private static final class ExecutesDifferently extends PassingReplica {
        private final Sometimes sometimes = new Sometimes();

        ExecutesDifferently(Replica world) {
            super(world);
        }

        @Override
        public void execute(TransactionId transaction, long position, Request.Whole request) {
            byte[] statement = request.statement().clone();
            if (sometimes.now()) {
                // A bit of the program's tag, upon which depends what it writes to registers.
                statement[TransactionId.SCHEMA.size(new TransactionId(0, 0))] ^= 1;
            }
            world.execute(transaction, position,
                    new Request.Whole(statement, request.classes(), request.keys(), request.placement()));
        }
    }

    private static final class ClassesForgotten implements Mutation {
        @Override
        public Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
            return new PassingProtocol(maker.apply(replica)) {
                @Override
                public void submitted(TransactionId transaction, Request request) {
                    ConflictClasses alone = ConflictClasses
                            .of(List.of(transaction.serial() * Byte.SIZE + transaction.node()));
                    protocol.submitted(transaction, switch (request) {
                        case Request.Interactive _ -> new Request.Interactive(alone);
                        case Request.Whole whole -> new Request.Whole(whole.statement(), alone, whole.keys(),
                                whole.placement());
                    });
                }
            };
        }
    }

    private static final class VotesWithoutLocks implements Mutation {
        @Override
        public Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
            Set<TransactionId> pretended = new HashSet<>();
            ArrayDeque<TransactionId> toTell = new ArrayDeque<>();
            return new PassingProtocol(maker.apply(new PassingReplica(replica) {
                @Override
                public void prepare(TransactionId transaction, WriteSet writes) {
                    pretended.add(transaction);
                    toTell.add(transaction);
                }

                @Override
                public void abort(TransactionId transaction) {
                    toTell.remove(transaction);
                    world.abort(transaction);
                }

                @Override
                public void commit(TransactionId transaction, long position, WriteSet writes) {
                    if (pretended.contains(transaction)) {
                        world.apply(transaction, position, writes);
                    } else {
                        world.commit(transaction, position, writes);
                    }
                }
            })) {
                private void tell() {
                    for (TransactionId next = toTell.poll(); next != null; next = toTell.poll()) {
                        protocol.prepared(next);
                    }
                }

                @Override
                public void received(int sender, Message message) {
                    tell();
                    protocol.received(sender, message);
                }

                @Override
                public void timer(long timer) {
                    tell();
                    protocol.timer(timer);
                }
            };
        }
    }

    /** The mutant of a name. */
    public static Mutant find(String name) {
        return ALL.stream().filter(mutant -> mutant.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no mutant '" + name + "'; there are: "
                        + String.join(", ", ALL.stream().map(Mutant::name).toList())));
    }

    /** Makes the mutation of a name for one run; {@link ReplayFile#NO_MUTANT} for none. */
    public static Supplier<Mutation> mutation(String name) {
        return name.equals(ReplayFile.NO_MUTANT) ? () -> Mutation.NONE : find(name).mutation();
    }
}
