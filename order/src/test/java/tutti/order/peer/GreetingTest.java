package tutti.order.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Versions;

class GreetingTest {
    private static final Greeting.Hello HELLO = new Greeting.Hello(3, 42, new Greeting.Standing(77, 1, 0, false, 0),
            "0=a:1,3=b:2");

    private final Greeting.HelloReader hello = new Greeting.HelloReader();
    private final Greeting.AnswerReader answer = new Greeting.AnswerReader();

    @Test
    void aGreetingIsReadHoweverItIsCut() throws IOException {
        assertEquals(HELLO, hello.read(HELLO.framed()));
        Greeting.HelloReader inPieces = new Greeting.HelloReader();
        ByteBuffer bytes = HELLO.framed();
        while (bytes.remaining() > 1) {
            assertNull(inPieces.read(bytes.slice(bytes.position(), 1)));
            bytes.position(bytes.position() + 1);
        }
        assertEquals(HELLO, inPieces.read(bytes));
        Greeting.Answer no = new Greeting.Answer("no", true);
        assertNull(answer.read(no.framed().limit(3)));
        assertEquals(no, answer.read(no.framed().position(3)));
        Greeting.Answer welcome = new Greeting.Answer("", false);
        assertEquals(welcome, new Greeting.AnswerReader().read(welcome.framed()));
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
        ByteBuffer bytes = HELLO.framed();
        assertTrue(refusal(ByteBuffer.allocate(bytes.limit() + 1).put(bytes).rewind()).contains("have come"));
    }

    @Test
    void aTextThatIsTooLongIsRefusedBeforeItHasCome() {
        ByteBuffer claimed = HELLO.framed().putShort(8, (short) -1);
        assertTrue(refusal(claimed).contains("65545 bytes"));
        assertTrue(String.valueOf(assertThrows(IOException.class,
                () -> answer.read(ByteBuffer.allocate(Greeting.BYTES_MAX + 3))).getMessage())
                .contains("more than"));
    }

    /** It repeats what the other says of itself. */
    @Test
    void aRefusalFitsIntoAnAnswerWhateverIsRefused() throws IOException {
        Greeting.Hello lengthy = new Greeting.Hello(3, 42, new Greeting.Standing(77, 1, 0, false, 0), Versions.SPOKEN,
                Set.of(), "\u20ac".repeat(5430));
        String words = "0=" + "a".repeat(100) + ":1";
        Greeting.Answer no = new Greeting.Answer(hello.read(lengthy.framed()).foreign(0, _ -> true, words, null),
                false);
        assertTrue(no.refusal().startsWith("node 0 has the members " + words + ", but you have \u20ac"), no::refusal);
        assertEquals(no, answer.read(no.framed()));
    }

    /** What it says is told in the log of whoever refuses it. */
    @Test
    void aGreetingWritesNoLinesIntoTheLog() {
        Greeting.Hello forging = new Greeting.Hello(3, 42, new Greeting.Standing(77, 1, 0, false, 0),
                "0=a:1\n12:00 INFO all is well");
        assertTrue(refusal(forging.framed()).contains("control characters"));
    }

    @Test
    void aGreetingOfALaterReleaseIsReadWhateverItSpeaks() throws IOException {
        Greeting.Hello later = new Greeting.Hello(3, 42, new Greeting.Standing(77, 1, 0, false, 0), new Versions(7, 9),
                Set.of("letters", "wings"), "0=a:1");
        assertEquals(later, hello.read(later.framed()));
    }
}
