package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.pgwire.Backend;
import tutti.pgwire.FrameReader;

/** A client is told of parameters when it hears that it may go on, as by a server. */
class ClientStreamTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private ClientStream client;

    @BeforeEach
    void begin() {
        client = new ClientStream(channel, Map.of("DateStyle", "ISO"), new FrameReader(new Deaf(), false, 1000),
                1000);
    }

    @AfterEach
    void end() {
        channel.finishAndReleaseAll();
    }

    private String heard() {
        client.flush();
        StringBuilder heard = new StringBuilder();
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            heard.append(out.toString(StandardCharsets.ISO_8859_1));
            out.release();
        }
        return heard.toString().replaceAll("[\\x00-\\x1f]+", " ");
    }

    @Test
    void parametersAreToldBeforeTheClientMayGoOn() {
        client.parameter("DateStyle", "German");
        client.parameter("TimeZone", "UTC");
        assertEquals("", heard());
        client.complete("SET");
        client.ready(Backend.IDLE);
        assertEquals("C SET S DateStyle German S TimeZone UTC Z I", heard());
        client.ready(Backend.IDLE);
        assertEquals("Z I", heard());
    }

    /** The node has changed it for itself, or a statement that has failed since. */
    @Test
    void whatIsAsBeforeIsNotTold() {
        client.parameter("DateStyle", "German");
        client.parameter("DateStyle", "ISO");
        client.ready(Backend.IDLE);
        assertEquals("Z I", heard());
    }

    /** What is said again must be answered as it was. */
    @Test
    void aTransactionThatIsRunAgainTellsOnceMore() {
        client.parameter("DateStyle", "German");
        client.ready(Backend.IN_TRANSACTION);
        assertEquals("S DateStyle German Z T", heard());
        client.tellsParametersAgain();
        client.parameter("DateStyle", "ISO");
        client.parameter("DateStyle", "German");
        client.ready(Backend.IN_TRANSACTION);
        assertEquals("S DateStyle German Z T", heard());
    }
}
