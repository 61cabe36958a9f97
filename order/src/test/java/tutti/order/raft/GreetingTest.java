package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class GreetingTest {
    private static final Greeting.Hello HELLO = new Greeting.Hello(3, 42, 77, "0=a:1,3=b:2");

    private final Greeting.HelloReader hello = new Greeting.HelloReader();
    private final Greeting.AnswerReader answer = new Greeting.AnswerReader();

    @Test
    void aGreetingIsReadHoweverItIsCut() throws IOException {
        assertEquals(HELLO, hello.read(HELLO.encode()));
        Greeting.HelloReader inPieces = new Greeting.HelloReader();
        ByteBuffer bytes = HELLO.encode();
        while (bytes.remaining() > 1) {
            assertNull(inPieces.read(bytes.slice(bytes.position(), 1)));
            bytes.position(bytes.position() + 1);
        }
        assertEquals(HELLO, inPieces.read(bytes));
        assertNull(answer.read(Greeting.answer("no").limit(3)));
        assertEquals("no", answer.read(Greeting.answer("no").position(3)));
        assertEquals("", new Greeting.AnswerReader().read(Greeting.answer("")));
    }

    private String refusal(ByteBuffer bytes) {
        return String.valueOf(assertThrows(IOException.class, () -> hello.read(bytes)).getMessage());
    }

    @Test
    void whoSpeaksOtherwiseIsKnownByTheFirstBytes() {
        assertTrue(refusal(ByteBuffer.wrap("GET / HT".getBytes(StandardCharsets.US_ASCII))).contains("as a node does"));
    }

    @Test
    void nothingFollowsAGreetingBeforeItIsAnswered() {
        ByteBuffer bytes = HELLO.encode();
        assertTrue(refusal(ByteBuffer.allocate(bytes.limit() + 1).put(bytes).rewind()).contains("have come"));
    }

    @Test
    void aTextThatIsTooLongIsRefusedBeforeItHasCome() {
        ByteBuffer claimed = HELLO.encode().putShort(28, (short) -1);
        assertTrue(refusal(claimed).contains("65565 bytes"));
        assertTrue(String.valueOf(assertThrows(IOException.class,
                () -> answer.read(ByteBuffer.allocate(Greeting.TEXT_BYTES_MAX + 3))).getMessage())
                .contains("more than"));
    }
}
