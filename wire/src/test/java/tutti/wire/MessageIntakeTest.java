package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** Long messages have a bound each and together, by what has come of them; what is refused costs an error only. */
@Timeout(60)
class MessageIntakeTest extends OnFrontEnd {
    private static final int MIB = 1 << 20;
    private final KeptBytes.Shared room = new KeptBytes.Shared(10 * MIB, 1);
    private int come;

    private MessageIntake intake() {
        return new MessageIntake(room, 8 * MIB, () -> come);
    }

    @Test
    void whatHasComeCountsUntilItHasGone() {
        MessageIntake one = intake();
        come = 10;
        assertEquals(7 * MIB, one.wanted(7 * MIB));
        assertEquals(MIB, room.kept());
        come = 6 * MIB + 1;
        assertEquals(7 * MIB, one.wanted(7 * MIB));
        assertEquals(7 * MIB, room.kept());
        one.gone();
        assertEquals(7 * MIB, room.kept(), "it has not been shown");
        assertNull(one.shown());
        one.gone();
        assertEquals(0, room.kept());
        assertEquals(MIB, one.wanted(MIB));
        assertEquals(0, room.kept(), "small");
    }

    @Test
    void forWhatThereIsNoRoomTheNextIsTaken() {
        MessageIntake one = intake();
        MessageIntake other = intake();
        come = 7 * MIB;
        assertEquals(7 * MIB, one.wanted(7 * MIB));
        come = 2 * MIB;
        assertEquals(7 * MIB, other.wanted(7 * MIB));
        come = 4 * MIB;
        assertEquals(0, other.wanted(7 * MIB));
        assertEquals(7 * MIB, room.kept());
        assertEquals("53200", Objects.requireNonNull(other.shown()).sqlState());
        come = 0;
        assertEquals(2 * MIB, other.wanted(2 * MIB));
        assertNull(other.shown());
        one.close();
        assertEquals(0, room.kept());
    }

    @Test
    void whatIsTooLongIsRefusedBeforeItComes() {
        MessageIntake one = intake();
        assertEquals(0, one.wanted(9 * MIB));
        assertEquals("54000", Objects.requireNonNull(one.shown()).sqlState());
        assertEquals(0, room.kept());
    }

    /** Bytes of which there are more than a message may have are announced and sent: what follows them is answered as ever. */
    @Test
    void theSessionGoesOnBehindWhatIsTooLong() throws Exception {
        BackendConnection client = fixture.client();
        Conversation.simple(client, "BEGIN");
        CompletableFuture<String> refused = Conversation.send(client,
                out -> out.writeByte(Frontend.QUERY).writeInt(Integer.BYTES + 257 * MIB));
        for (int i = 0; i < 257; i++) {
            client.channel().writeAndFlush(client.buffer().writeZero(MIB)).await();
        }
        assertEquals("E(54000)/E", Conversation.get(refused));
        assertEquals("C(ROLLBACK)/I", Conversation.simple(client, "ROLLBACK"));
        assertEquals("C(INSERT 0 1)/I", Conversation.simple(client, "INSERT INTO account VALUES (1, 1, 'x')"));
        client.close();
        assertEquals(0, fixture.frontEnd.memory().messageBytes());
    }
}
