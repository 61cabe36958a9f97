package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How long what the engine has told of a session's settings is taken to be true. */
class KnownSettingsTest {
    private static final List<@Nullable String> ROW = List.of("alice", "public", "f");
    private long nanos = -5;
    private final KnownSettings settings = new KnownSettings(new SmallCapture(), () -> nanos);

    @Test
    void settingsAreWhatTheyWereAsLongAsTheEngineDoesNothing() {
        assertNull(settings.now(0), "never asked");
        settings.asked(5);
        assertNull(settings.now(5), "not answered");
        settings.told(ROW);
        assertEquals(List.of("alice", "public", "0 later"), settings.now(5));
        nanos += 250_000;
        assertEquals(List.of("alice", "public", "250 later"), settings.now(5));
        assertNull(settings.now(6), "it has been sent something");
        settings.asked(7);
        assertNull(settings.now(7), "asked again, and not answered");
        settings.told(ROW);
        assertEquals(List.of("alice", "public", "0 later"), settings.now(7));
    }

    @Test
    void theyAreAskedAgainAfterASecond() {
        settings.asked(1);
        settings.told(ROW);
        nanos += 1_000_000_000L;
        assertEquals(List.of("alice", "public", "1000000 later"), settings.now(1));
        nanos++;
        assertNull(settings.now(1));
    }
}
