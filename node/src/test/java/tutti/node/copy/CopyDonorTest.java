package tutti.node.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Completion;
import tutti.runtime.Frames;
import tutti.runtime.Loop;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;
import tutti.runtime.real.RealMachine;

/** Who may go on with a copy that was begun. */
@Timeout(60)
class CopyDonorTest {
    private static final String CLUSTER = "c";

    private List<CopySource.Entry> first = List.of(new CopySource.Entry("rows", null));
    private final BlockingQueue<Boolean> ended = new LinkedBlockingQueue<>();
    private final Loop loop = RealMachine.INSTANCE.loop("donor", broken -> {
        throw new AssertionError(broken);
    });
    private final CopyDonor donor = new CopyDonor(0, loop, RealMachine.INSTANCE, new Source(), () -> 1L << 40);

    @AfterEach
    void close() {
        donor.close();
        loop.close();
    }

    private final class Source implements CopySource {
        @Override
        public String state() {
            return "state";
        }

        @Override
        public boolean leads() {
            return false;
        }

        @Override
        public void begin(int receiver, long directory, Completion<Copy> done) {
            done.succeeded(new Copy() {
                @Override
                public List<Entry> first() {
                    return first;
                }

                @Override
                public List<Entry> last() {
                    return List.of(new Entry("order", null));
                }

                @Override
                public void end(boolean complete) {
                    ended.add(complete);
                }
            });
        }
    }

    /** A connection to the donor, of somebody who has proven to be a node, or of nobody. */
    private final class Visitor implements Network.Stream {
        private final @Nullable PeerIdentity peer;
        private final BlockingQueue<CopyMessage> told = new LinkedBlockingQueue<>();
        private final Frames.Reader frames = new Frames.Reader(frame -> told.add(read(frame)));
        private Network.@Nullable StreamListener listener;

        Visitor(@Nullable PeerIdentity peer) {
            this.peer = peer;
            loop.execute(() -> listener = donor.accepted(this));
        }

        private CopyMessage read(ByteBuffer frame) {
            try {
                return CopyMessage.SET.decode(frame);
            } catch (Exception damaged) {
                throw new AssertionError(damaged);
            }
        }

        void says(CopyMessage message) {
            loop.execute(() -> {
                if (listener != null) {
                    listener.received(Frames.of(message.bytes()));
                }
            });
        }

        void goes() {
            loop.execute(() -> {
                if (listener != null) {
                    listener.closed("it is gone");
                }
            });
        }

        CopyMessage hears() throws InterruptedException {
            CopyMessage next = told.poll(30, TimeUnit.SECONDS);
            assertTrue(next != null, "nothing was told");
            return next;
        }

        @Override
        public String remote() {
            return "there";
        }

        @Override
        public @Nullable PeerIdentity peer() {
            return peer;
        }

        @Override
        public void send(ByteBuffer bytes) {
            try {
                frames.read(bytes.duplicate());
            } catch (Exception damaged) {
                throw new AssertionError(damaged);
            }
        }

        @Override
        public long unsentBytes() {
            return 0;
        }

        @Override
        public void read(boolean wanted) {}

        @Override
        public void close() {}
    }

    private Visitor node(int number) {
        return new Visitor(new PeerIdentity(CLUSTER, number));
    }

    /** Has node 1 begin one. */
    private long begun(Visitor visitor) throws InterruptedException {
        visitor.says(new CopyMessage.Ask(1, 5, "state", false));
        return assertInstanceOf(CopyMessage.Granted.class, visitor.hears()).copy();
    }

    @Test
    void anotherMemberCannotGoOnWithACopy() throws Exception {
        Visitor first = node(1);
        long copy = begun(first);
        Visitor other = node(2);
        other.says(new CopyMessage.Resume(copy, 0));
        CopyMessage.Refused refused = assertInstanceOf(CopyMessage.Refused.class, other.hears());
        assertTrue(refused.why().contains("node 2 of cluster c"), refused.why());
        other.says(new CopyMessage.Complete());
        first.goes();
        Visitor again = node(1);
        again.says(new CopyMessage.Resume(copy, 0));
        assertEquals(copy, assertInstanceOf(CopyMessage.Granted.class, again.hears()).copy());
        again.says(new CopyMessage.Complete());
        assertEquals(true, ended.poll(30, TimeUnit.SECONDS));
        assertTrue(ended.isEmpty());
    }

    /** What has come is not sent again, and what had been sent comes before what had not. */
    @Test
    void theRestOfACopyComesInOrder() throws Exception {
        String path = "r".repeat(10_000);
        first = IntStream.range(0, 500).mapToObj(each -> new CopySource.Entry(path + each, null)).toList();
        Visitor before = node(1);
        long copy = begun(before);
        int sent = 0;
        for (int weight = 0; weight < CopyMessage.AHEAD_BYTES_MAX; sent++) {
            weight += assertInstanceOf(CopyMessage.Piece.class, before.hears()).weight();
        }
        before.goes();
        Visitor again = node(1);
        again.says(new CopyMessage.Resume(copy, 3));
        assertInstanceOf(CopyMessage.Granted.class, again.hears());
        for (long number = 4; number <= sent + 3; number++) {
            assertEquals(number, assertInstanceOf(CopyMessage.Piece.class, again.hears()).number());
        }
    }

    @Test
    void theNumberOfACopyDoesNotTellThoseOfOthers() throws Exception {
        long first = begun(node(1));
        Visitor again = node(1);
        long second = begun(again);
        for (long near = -1_000; near <= 1_000; near++) {
            assertNotEquals(first + near, second);
        }
        Visitor guessing = new Visitor(null);
        guessing.says(new CopyMessage.Resume(first + 1, 0));
        assertInstanceOf(CopyMessage.Refused.class, guessing.hears());
    }
}
