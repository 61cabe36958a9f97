package tutti.macro.distribution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class ObjectCodecTest {
    /** Of its own kind inside. */
    public record Tree(String name, List<Tree> below, DayOfWeek day) {}

    private final ObjectCodec codec = ObjectCodec.standard().withTypes(Tree.class, DayOfWeek.class)
            .with(URI.class, "uri", new Codec<>() {
                @Override
                public void write(URI value, Output to) {
                    to.writeString(value.toString());
                }

                @Override
                public URI read(Input from) {
                    return URI.create(from.readString());
                }
            });

    private Object through(Object value) {
        Output to = new Output();
        codec.write(value, to);
        Input from = new Input(to.toBytes());
        Object back = codec.read(from);
        assertEquals(0, from.left());
        return back;
    }

    @Test
    void everythingComesBackEqual() {
        for (Object value : Arrays.asList(null, true, false, (byte) -7, (short) -300, 'ü', 0, -1, Integer.MIN_VALUE,
                Integer.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE, 1.5f, Double.NaN, -0.0, Float.NEGATIVE_INFINITY, "",
                "naïve 😀", new BigInteger("-123456789012345678901234567890"), new BigDecimal("1.20"),
                new UUID(1, -2), Instant.MIN, Instant.ofEpochSecond(-5, 7), LocalDate.MAX, LocalTime.MAX,
                LocalDateTime.MIN, OffsetDateTime.MAX, Duration.ofNanos(-1), Optional.empty(), Optional.of(7),
                Arrays.asList(1, null, "x"), Set.of(1, 2), Map.of("a", List.of(1L)), Map.entry("k", 2),
                new TreeMap<>(Map.of("b", 1, "a", 2)), new TreeSet<>(Set.of(3, 1)), DayOfWeek.FRIDAY,
                new Tree("root", List.of(new Tree("leaf", List.of(), DayOfWeek.MONDAY)), DayOfWeek.SUNDAY))) {
            assertEquals(value, through(value));
        }
        assertInstanceOf(NavigableMap.class, through(new TreeMap<>(Map.of(1, 2))));
        assertArrayEquals(new byte[]{1, -1}, (byte[]) through(new byte[]{1, -1}));
        assertArrayEquals(new int[]{1, -1}, (int[]) through(new int[]{1, -1}));
        assertArrayEquals(new long[]{1, -1}, (long[]) through(new long[]{1, -1}));
        assertArrayEquals(new Object[]{1, "a", null}, (Object[]) through(new Object[]{1, "a", null}));
        assertEquals(URI.create("own:x"), through(URI.create("own:x")));
    }

    @Test
    void whatWasNotRegisteredIsRefused() {
        assertThrows(EncodingException.class, () -> through(new Thread()));
        assertThrows(EncodingException.class, () -> through(new TreeSet<>(Comparator.reverseOrder())));
        assertThrows(IllegalArgumentException.class, () -> codec.withTypes(String.class));
        assertThrows(IllegalArgumentException.class, () -> codec.withTypes(Tree.class));
        Output to = new Output();
        codec.write(DayOfWeek.FRIDAY, to);
        assertThrows(EncodingException.class, () -> ObjectCodec.standard().read(new Input(to.toBytes())));
    }

    @Test
    void brokenBytesEndInAnErrorAndNeverInMuchMemory() {
        Output to = new Output();
        codec.write(List.of(Map.of("key", new Tree("a", List.of(), DayOfWeek.MONDAY)), 1, "text", 2.5, Set.of(1)), to);
        byte[] whole = to.toBytes();
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 20_000; i++) {
            byte[] broken = Arrays.copyOf(whole, random.nextInt(whole.length) + 1);
            broken[random.nextInt(broken.length)] = (byte) random.nextInt();
            try {
                codec.read(new Input(broken));
            } catch (RuntimeException expected) {
                assertEquals(false, expected instanceof NullPointerException);
            }
        }
    }
}
