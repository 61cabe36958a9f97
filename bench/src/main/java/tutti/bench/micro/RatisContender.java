package tutti.bench.micro;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/**
 * Apache Ratis with its own log, flushed, and its asynchronous client, one at each node. A message is acknowledged when the
 * client has the leader's answer. Either each message is a request of its own, as many as are outstanding; or messages are
 * batched as our own order does it: up to 64 KiB in a request, four requests under way.
 */
final class RatisContender implements OrderContender {
    private static final UUID GROUP = new UUID(0x7475, 0x747469);
    private static final int OUTSTANDING_MAX = 1 << 14;
    private static final int BATCH_BYTES = 1 << 16;
    private static final int BATCHES_MAX = 4;

    private final RaftServer server;
    private final RaftClient client;
    private final boolean batched;
    private final RaftGroupId group = RaftGroupId.valueOf(GROUP);
    /* If batched. */
    private final ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private final ArrayDeque<Runnable> acknowledgements = new ArrayDeque<>();
    private int underWay;

    RatisContender(int self, SortedMap<Integer, InetSocketAddress> members, Path directory, boolean batched)
            throws Exception {
        this.batched = batched;
        List<RaftPeer> peers = new ArrayList<>();
        members.forEach((id, address) -> peers
                .add(RaftPeer.newBuilder().setId("n" + id).setAddress(address).build()));
        RaftGroup all = RaftGroup.valueOf(group, peers);
        InetSocketAddress own = members.get(self);
        if (own == null) {
            throw new IllegalArgumentException("node " + self + " is not one of " + members.keySet());
        }
        RaftProperties properties = new RaftProperties();
        GrpcConfigKeys.Server.setPort(properties, own.getPort());
        RaftServerConfigKeys.setStorageDir(properties, List.of(directory.toFile()));
        // The same as our own order: a leader is replaced after a second of silence, and files of the log have 16 MiB.
        RaftServerConfigKeys.Rpc.setTimeoutMin(properties, TimeDuration.valueOf(1, TimeUnit.SECONDS));
        RaftServerConfigKeys.Rpc.setTimeoutMax(properties, TimeDuration.valueOf(1250, TimeUnit.MILLISECONDS));
        RaftServerConfigKeys.Log.setSegmentSizeMax(properties, SizeInBytes.valueOf("16MB"));
        RaftServerConfigKeys.Log.setPreallocatedSize(properties, SizeInBytes.valueOf("16MB"));
        RaftServerConfigKeys.Log.setQueueElementLimit(properties, OUTSTANDING_MAX);
        RaftServerConfigKeys.Write.setElementLimit(properties, OUTSTANDING_MAX);
        RaftClientConfigKeys.Async.setOutstandingRequestsMax(properties, OUTSTANDING_MAX);
        RaftClientConfigKeys.Rpc.setRequestTimeout(properties, TimeDuration.valueOf(1, TimeUnit.MINUTES));
        RaftServerConfigKeys.Rpc.setRequestTimeout(properties, TimeDuration.valueOf(1, TimeUnit.MINUTES));
        server = RaftServer.newBuilder().setServerId(peers.stream()
                .filter(peer -> peer.getId().toString().equals("n" + self)).findFirst().orElseThrow().getId())
                .setGroup(all).setProperties(properties).setStateMachine(new Applied()).build();
        server.start();
        client = RaftClient.newBuilder().setRaftGroup(all).setProperties(properties).build();
    }

    /** Does nothing with what is ordered. */
    private static final class Applied extends BaseStateMachine {
        private static final CompletableFuture<Message> DONE = CompletableFuture.completedFuture(Message.EMPTY);

        @Override
        public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
            updateLastAppliedTermIndex(transaction.getLogEntry().getTerm(), transaction.getLogEntry().getIndex());
            return DONE;
        }
    }

    @Override
    public void awaitReady() throws InterruptedException {
        try {
            // The client tries until there is a leader.
            client.io().send(Message.EMPTY);
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public boolean leads() {
        try {
            return server.getDivision(group).getInfo().isLeader();
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public void submit(byte[] payload, Runnable acknowledged) {
        if (batched) {
            synchronized (this) {
                waiting.add(payload);
                acknowledgements.add(acknowledged);
            }
            fill();
        } else {
            send(UnsafeByteOperations.unsafeWrap(payload), acknowledged);
        }
    }

    /** Sends what waits, as far as it may. Without a lock of ours: the client answers under one that it takes to send. */
    private void fill() {
        for (Batch next = next(); next != null; next = next()) {
            Batch batch = next;
            send(batch.content, () -> {
                batch.acknowledgements.forEach(Runnable::run);
                synchronized (this) {
                    underWay--;
                }
                fill();
            });
        }
    }

    private record Batch(ByteString content, List<Runnable> acknowledgements) {}

    /** What is to be sent now, and counts as under way; null if that is nothing. */
    private synchronized @Nullable Batch next() {
        if (underWay == BATCHES_MAX || waiting.isEmpty()) {
            return null;
        }
        List<byte[]> batch = new ArrayList<>();
        List<Runnable> then = new ArrayList<>();
        int bytes = 0;
        while (!waiting.isEmpty() && (batch.isEmpty() || bytes + waiting.element().length <= BATCH_BYTES)) {
            bytes += waiting.element().length;
            batch.add(waiting.remove());
            then.add(acknowledgements.remove());
        }
        ByteBuffer whole = ByteBuffer.allocate(bytes + Integer.BYTES * batch.size());
        batch.forEach(one -> whole.putInt(one.length).put(one));
        underWay++;
        return new Batch(UnsafeByteOperations.unsafeWrap(whole.flip()), then);
    }

    private void send(ByteString content, Runnable acknowledged) {
        var _ = client.async().send(() -> content).whenComplete((RaftClientReply reply, Throwable failed) -> {
            if (failed == null && reply.isSuccess()) {
                acknowledged.run();
            }
        });
    }

    @Override
    public void close() {
        try {
            client.close();
            server.close();
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
