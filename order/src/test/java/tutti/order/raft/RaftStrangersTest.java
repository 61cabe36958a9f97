package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.schema.ByteStrings;
import tutti.keys.ClusterAuthority;
import tutti.order.Recorder;
import tutti.order.batch.Batch;
import tutti.order.peer.Greeting;
import tutti.runtime.Frames;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PeerKeys;
import tutti.runtime.real.RealMachine;
import tutti.runtime.real.TestKeys;
import tutti.runtime.real.Tls;

/** What strangers and members that are not who they say get from the nodes of a Raft order: nothing, and they are counted. */
@Timeout(60)
class RaftStrangersTest {
    @TempDir
    private Path directory;

    private final ClusterAuthority authority = ClusterAuthority.create(Instant.now());
    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();
    private Map<Integer, InetSocketAddress> members = Map.of();

    @BeforeEach
    void startWithoutTheThird() throws Exception {
        members = RaftNodes.members(3);
        start(0);
        start(1);
    }

    @AfterEach
    void close() {
        orders.values().forEach(RaftOrder::close);
    }

    private void start(int node) throws Exception {
        RaftOrder order = RaftNodes.open(RaftNodes.config(node, members), authority, directory);
        orders.put(node, order);
        Recorder recorder = new Recorder();
        recorders.put(node, recorder);
        order.join(recorder);
        order.start(0, recorder);
    }

    private String words() {
        return RaftNodes.config(0, members).membership() + " of cluster " + authority.cluster();
    }

    private PeerKeys.Source keys(String name, ClusterAuthority of, int node) throws IOException {
        return TestKeys.write(directory.resolve(name), of.issue(node, Instant.now()), of.certificate());
    }

    private Greeting.Hello hello(int as) {
        return new Greeting.Hello(as, 42, new Greeting.Standing(7, 1, 0, false, 0), words());
    }

    private static Greeting.Answer answer(Socket from) throws IOException {
        DataInputStream in = new DataInputStream(from.getInputStream());
        byte[] answer = new byte[in.readUnsignedShort()];
        in.readFully(answer);
        return Greeting.SET.decode(ByteBuffer.wrap(answer), Greeting.Answer.class);
    }

    /** Who greets like this gets no answer. */
    private void assertNoAnswer(Socket to, Greeting.Hello greeting) {
        IOException end = assertThrows(IOException.class, () -> {
            to.getOutputStream().write(greeting.framed().array());
            answer(to);
        });
        assertTrue(end instanceof EOFException || end instanceof SSLException || end instanceof SocketException,
                end.toString());
    }

    private void awaitRefused(long count) throws InterruptedException {
        Recorder.THREADS.await(this, () -> orders.get(0).refused() == count,
                () -> orders.get(0).refused() + " refused");
    }

    /** Nobody has taken the third member's place, and it can take it. */
    private void assertTheThirdMayStillCome() throws Exception {
        assertFalse(Files.exists(RaftNodes.files(directory, 0).resolve("met-2")), "the third has not been met");
        start(2);
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.majority() && v.members().size() == 3);
        }
        orders.get(2).append("all is well".getBytes(StandardCharsets.UTF_8));
        assertEquals("all is well", recorders.get(0).awaitCount(1).getFirst().payload());
    }

    @Test
    void aStrangerIsNotAdmittedAsTheMemberThatIsAway() throws Exception {
        try (Socket plain = new Socket(members.get(0).getAddress(), members.get(0).getPort())) {
            assertNoAnswer(plain, hello(2));
        }
        try (Socket nobody = Tls.socket(null, members.get(0))) {
            assertNoAnswer(nobody, hello(2));
        }
        try (Socket foreign = Tls.socket(keys("foreign", ClusterAuthority.create(Instant.now()), 2),
                members.get(0))) {
            assertNoAnswer(foreign, hello(2));
        }
        try (Socket old = Tls.socket(TestKeys.ofThePast(directory.resolve("old"), authority, 2), members.get(0))) {
            assertNoAnswer(old, hello(2));
        }
        awaitRefused(4);
        assertTheThirdMayStillCome();
    }

    @Test
    void aMemberIsNotAdmittedAsAnother() throws Exception {
        try (Socket second = Tls.socket(keys("second", authority, 1), members.get(0))) {
            second.getOutputStream().write(hello(2).framed().array());
            String refusal = answer(second).refusal();
            assertTrue(refusal.contains("it is node 1") && refusal.contains("in the name of node 2"), refusal);
        }
        awaitRefused(1);
        assertTheThirdMayStillCome();
    }

    /** Behind what it says is of a later life of the second, nothing of the second would be taken. */
    @Test
    void aMemberCannotShutOutAnotherByALifeThatThatOneHasNotHad() throws Exception {
        recorders.get(0).awaitView(v -> v.majority() && v.members().size() == 2);
        byte[] forged = new Batch(1, Long.MAX_VALUE, 1,
                ByteStrings.of(List.of("forged".getBytes(StandardCharsets.UTF_8)))).bytes(1);
        for (int node = 0; node < 2; node++) {
            try (Socket third = third(node)) {
                third.getOutputStream().write(Frames.of(new PeerMessage.Submit(forged).bytes(1)).array());
                assertThrows(EOFException.class, () -> new DataInputStream(third.getInputStream())
                        .readFully(new byte[1 << 20]), "it hangs up");
            }
        }
        orders.get(1).append("mine".getBytes(StandardCharsets.UTF_8));
        assertEquals("mine", recorders.get(0).awaitCount(1).getFirst().payload());
    }

    private Socket third(int to) throws Exception {
        Socket third = Tls.socket(keys("third" + to, authority, 2), members.get(to));
        third.getOutputStream().write(hello(2).framed().array());
        assertEquals("", answer(third).refusal());
        return third;
    }

    /** Whoever takes a term over has only those above it left. */
    @Test
    void aTermToWhichNoElectionsComeIsNotTakenOver() throws Exception {
        recorders.get(0).awaitView(v -> v.majority() && v.members().size() == 2);
        List<PeerMessage> far = List.of(new PeerMessage.VoteRequest(Integer.MAX_VALUE, 1, 1L << 40, false),
                new PeerMessage.VoteResponse(Integer.MAX_VALUE - 1, false),
                new PeerMessage.PreVoteResponse(Integer.MAX_VALUE, false),
                new PeerMessage.Append(Integer.MAX_VALUE, 1, 0, 0, 0, 0, List.of()));
        for (int node = 0; node < 2; node++) {
            for (PeerMessage each : far) {
                try (Socket third = third(node)) {
                    third.getOutputStream().write(Frames.of(each.bytes(1)).array());
                    assertThrows(EOFException.class, () -> new DataInputStream(third.getInputStream())
                            .readFully(new byte[1 << 20]), "it hangs up");
                }
            }
        }
        awaitRefused(far.size());
        orders.get(1).append("mine".getBytes(StandardCharsets.UTF_8));
        assertEquals("mine", recorders.get(0).awaitCount(1).getFirst().payload());
    }

    /** Only its leader knows what a node lacks. */
    @Test
    void aMemberThatDoesNotLeadCannotHaveAnotherTakenForOneThatLacksTheLog() throws Exception {
        recorders.get(0).awaitView(v -> v.majority() && v.members().size() == 2);
        for (int node = 0; node < 2; node++) {
            try (Socket third = third(node)) {
                third.getOutputStream().write(Frames.of(new PeerMessage.Truncated(1L << 40).bytes(1)).array());
                // what is behind it shows that it has been read
                third.getOutputStream()
                        .write(Frames.of(new PeerMessage.VoteRequest(Integer.MAX_VALUE, 1, 1, false).bytes(1)).array());
                assertThrows(EOFException.class, () -> new DataInputStream(third.getInputStream())
                        .readFully(new byte[1 << 20]), "it hangs up");
            }
        }
        orders.get(1).append("mine".getBytes(StandardCharsets.UTF_8));
        assertEquals("mine", recorders.get(0).awaitCount(1).getFirst().payload());
    }

    @Test
    void aNodeOfTheClusterThatIsNoMemberIsTurnedAwayBeforeItIsHeard() throws Exception {
        try (Socket seventh = Tls.socket(keys("seventh", authority, 7), members.get(0))) {
            assertNoAnswer(seventh, hello(2));
        }
        awaitRefused(1);
        assertTheThirdMayStillCome();
    }

    @Test
    void aNodeDoesNotStartWithAnothersCertificate() throws Exception {
        PeerKeys keys = TestKeys.of(directory.resolve("wrong"), authority, 1);
        IOException refusal = assertThrows(IOException.class,
                () -> RaftOrder.open(RaftNodes.config(2, members).withCluster(authority.cluster()),
                        RealMachine.INSTANCE.proving(keys), PathDirectory.of(directory.resolve("mistaken"))));
        assertTrue(String.valueOf(refusal.getMessage()).contains("certificate is that of node 1"),
                refusal.getMessage());
    }

    @Test
    void aDirectoryBelongsToOneClusterForGood() throws Exception {
        orders.remove(1).close();
        recorders.remove(1);
        ClusterAuthority other = ClusterAuthority.create(Instant.now());
        IOException refusal = assertThrows(IOException.class,
                () -> RaftNodes.open(RaftNodes.config(1, members), other, directory));
        assertTrue(String.valueOf(refusal.getMessage()).contains("belongs to cluster " + authority.cluster()),
                refusal.getMessage());
        start(1);
        recorders.get(1).awaitView(v -> v.majority());
    }

    @Test
    void aNodeThatIsAloneListensToNobody() throws Exception {
        Map<Integer, InetSocketAddress> alone = RaftNodes.members(1);
        try (RaftOrder order = RaftNodes.open(RaftNodes.config(0, alone), directory.resolve("alone"))) {
            Recorder recorder = new Recorder();
            order.start(0, recorder);
            order.append("all the same".getBytes(StandardCharsets.UTF_8));
            recorder.awaitCount(1);
            assertThrows(IOException.class,
                    () -> new Socket(alone.get(0).getAddress(), alone.get(0).getPort()).close());
        }
    }
}
