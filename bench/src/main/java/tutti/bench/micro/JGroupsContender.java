package tutti.bench.micro;

import java.io.DataInput;
import java.io.DataOutput;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.concurrent.TimeUnit;
import org.jgroups.JChannel;
import org.jgroups.protocols.FD_ALL3;
import org.jgroups.protocols.FD_SOCK2;
import org.jgroups.protocols.FRAG4;
import org.jgroups.protocols.MERGE3;
import org.jgroups.protocols.MFC;
import org.jgroups.protocols.TCP;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.UFC;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.VERIFY_SUSPECT2;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.protocols.raft.ELECTION;
import org.jgroups.protocols.raft.NO_DUPES;
import org.jgroups.protocols.raft.RAFT;
import org.jgroups.protocols.raft.REDIRECT;
import org.jgroups.raft.Options;
import org.jgroups.raft.RaftHandle;
import org.jgroups.raft.StateMachine;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** jgroups-raft as it comes, its own log with fsync on. A message is acknowledged when its future completes. */
final class JGroupsContender implements OrderContender {
    private static final Logger LOGGER = LoggerFactory.getLogger(JGroupsContender.class);
    private static final Options NO_ANSWER = Options.create(true);

    private final JChannel channel;
    private final RaftHandle raft;

    JGroupsContender(int self, SortedMap<Integer, InetSocketAddress> members, Path directory) throws Exception {
        InetSocketAddress own = members.get(self);
        if (own == null) {
            throw new IllegalArgumentException("node " + self + " is not one of " + members.keySet());
        }
        TCP transport = new TCP();
        transport.setBindAddress(own.getAddress());
        transport.setBindPort(own.getPort());
        transport.setPortRange(0);
        TCPPING discovery = new TCPPING();
        discovery.setInitialHosts(new ArrayList<>(members.values()));
        discovery.setPortRange(0);
        RAFT protocol = new RAFT().members(members.keySet().stream().map(String::valueOf).toList())
                .raftId(String.valueOf(self)).logDir(directory.toString()).logUseFsync(true).maxLogSize(1L << 40);
        // With its default of 9182 it refuses messages when 4096 are under way.
        protocol.setValue("processing_queue_max_size", 1 << 18);
        GMS membership = new GMS();
        membership.printLocalAddress(false);
        membership.setJoinTimeout(500);
        channel = new JChannel(List.of(transport, discovery, new MERGE3(), new FD_SOCK2(), new FD_ALL3(),
                new VERIFY_SUSPECT2(), new NAKACK2(), new UNICAST3(), new STABLE(), new NO_DUPES(), membership,
                new UFC(), new MFC(), new FRAG4(), new ELECTION(), protocol, new REDIRECT()));
        channel.setName(String.valueOf(self));
        raft = new RaftHandle(channel, new Nothing()).raftId(String.valueOf(self));
        channel.connect("bench");
    }

    @Override
    public void awaitReady() throws InterruptedException {
        // There is no event that says so.
        var pause = new java.util.concurrent.CountDownLatch(1);
        while (raft.leader() == null || channel.getView().size() < raft.raft().members().size()) {
            var _ = pause.await(1, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public boolean leads() {
        return raft.isLeader();
    }

    @Override
    public void submit(byte[] payload, Runnable acknowledged) throws Exception {
        raft.setAsync(payload, 0, payload.length, NO_ANSWER).whenComplete((ok, e) -> {
            if (e == null) {
                acknowledged.run();
            } else {
                LOGGER.error("jgroups-raft did not order a message", e);
            }
        });
    }

    @Override
    public void close() {
        channel.close();
    }

    private static final class Nothing implements StateMachine {
        @Override
        public byte @Nullable [] apply(byte[] data, int offset, int length, boolean serialize) {
            return null;
        }

        @Override
        public void readContentFrom(DataInput in) {
            // There is no state.
        }

        @Override
        public void writeContentTo(DataOutput out) {
            // There is no state.
        }
    }
}
