package tutti.core.schema;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What must hold of all messages of a room: a fixed sample of each is kept as bytes, for each version in which the message
 * changed ({@code src/test/resources/golden/vN/SET.KIND.txt}: what it says, and the bytes), and stays readable for as long as
 * the version is read; damaged bytes give a value or a {@link DecodeException}, at no great cost. A new kind, or a new
 * version of one, gets its file by {@code -Dtutti.write-golden=true}, which changes no file that is there.
 */
public abstract class GoldenContract {
    private static final Path GOLDEN = Path.of("src", "test", "resources", "golden");
    private static final int FLIPS = 2000;

    /** All message sets of the room. */
    protected abstract Catalogue catalogue();

    /** A message of each kind of each set, by name of the set. */
    protected abstract Map<String, List<? extends Encoded>> samples();

    private record Golden(MessageSet<?> set, Schema<?> schema, int version) {
        Path file() {
            return GOLDEN.resolve("v" + version)
                    .resolve((set.name() + "." + schema.name()).replace(' ', '-') + ".txt");
        }

        byte[] bytes() {
            String text = text();
            return HexFormat.of().parseHex(text.substring(text.indexOf("\n\n") + 2).replaceAll("\\s", ""));
        }

        String says() {
            String text = text();
            return text.substring(0, text.indexOf("\n\n"));
        }

        private String text() {
            try {
                return Files.readString(file());
            } catch (IOException missing) {
                throw new AssertionError(set.name() + " has no golden file for " + schema.name() + " in version "
                        + version + ": write one with -Dtutti.write-golden=true, and keep it for good", missing);
            }
        }
    }

    private List<Golden> all() {
        List<Golden> all = new ArrayList<>();
        for (MessageSet<?> set : catalogue().sets()) {
            for (Schema<?> schema : set.schemas()) {
                int first = Math.max(schema.since(), set.versions().oldest());
                for (int version = first; version <= set.versions().newest(); version++) {
                    if (version == first || schema.changed(version)) {
                        all.add(new Golden(set, schema, version));
                    }
                }
            }
        }
        return all;
    }

    private Encoded sample(Golden golden) {
        List<? extends Encoded> of = samples().get(golden.set.name());
        assertNotNull(of, "no samples of " + golden.set.name());
        return of.stream().filter(one -> golden.schema.type().isInstance(one)).findFirst()
                .orElseThrow(() -> new AssertionError("no sample of " + golden.set.name() + ", " + golden.schema));
    }

    @SuppressWarnings("unchecked") // A message names the schema of its own class.
    private static String text(Encoded message) {
        return ((Schema<Encoded>) message.schema()).text(message);
    }

    private void write(Golden golden) throws IOException {
        if (Files.exists(golden.file())) {
            return;
        }
        Encoded sample = sample(golden);
        StringBuilder text = new StringBuilder(text(sample)).append("\n\n");
        byte[] bytes = sample.bytes(golden.version);
        for (int at = 0; at < bytes.length; at += 32) {
            text.append(HexFormat.ofDelimiter(" ").formatHex(bytes, at, Math.min(bytes.length, at + 32))).append('\n');
        }
        Files.createDirectories(golden.file().getParent());
        Files.writeString(golden.file(), text);
    }

    @Test
    void everyKindHasAFileAndEveryFileAKind() throws IOException {
        TreeSet<Path> expected = new TreeSet<>();
        for (Golden golden : all()) {
            if (Boolean.getBoolean("tutti.write-golden")) {
                write(golden);
            }
            expected.add(golden.file());
        }
        try (Stream<Path> present = Files.walk(GOLDEN)) {
            assertEquals(expected, new TreeSet<>(present.filter(this::isOfThisRoom).toList()),
                    "-Dtutti.write-golden=true writes files that are missing; none may go while its version is read");
        }
    }

    private boolean isOfThisRoom(Path file) {
        String name = String.valueOf(file.getFileName());
        return Files.isRegularFile(file) && catalogue().sets().stream()
                .anyMatch(set -> name.startsWith(set.name().replace(' ', '-') + "."));
    }

    @Test
    void whatWasWrittenIsReadAndWrittenAgainToTheByte() {
        for (Golden golden : all()) {
            byte[] bytes = golden.bytes();
            Encoded read = golden.set.decode(ByteBuffer.wrap(bytes));
            assertEquals(golden.says(), text(read), golden.toString());
            assertEquals(golden.schema, read.schema(), golden.toString());
            assertArrayEquals(bytes, read.bytes(golden.version), golden.toString());
        }
    }

    @Test
    void theNewestFilesAreTheSamples() {
        Map<String, Golden> newest = new TreeMap<>();
        all().forEach(golden -> newest.put(golden.set.name() + "." + golden.schema, golden));
        for (Golden golden : newest.values()) {
            Encoded sample = sample(golden);
            assertEquals(golden.says(), text(sample), golden.toString());
            assertArrayEquals(golden.bytes(), sample.bytes(golden.version), golden.toString());
            ByteBuffer to = ByteBuffer.allocate(MessageSet.encodedSize(sample, golden.version));
            MessageSet.encode(sample, to, golden.version);
            assertEquals(0, to.remaining(), "the size of " + golden);
        }
    }

    @Test
    void whatIsCutOffIsRefused() {
        for (Golden golden : all()) {
            byte[] bytes = golden.bytes();
            for (int length = 0; length < bytes.length; length++) {
                assertTrue(decoded(golden, ByteBuffer.wrap(bytes, 0, length)) == null, golden + " cut to " + length);
            }
            assertTrue(decoded(golden, ByteBuffer.allocate(bytes.length + 1).put(0, bytes)) == null,
                    golden + " with a byte behind its end");
        }
    }

    @Test
    void damagedBytesAreReadOrRefusedAndCostNoMemory() {
        SplittableRandom random = new SplittableRandom(1);
        for (Golden golden : all()) {
            byte[] bytes = golden.bytes();
            for (int at = 0; at + Integer.BYTES <= bytes.length; at++) {
                for (int count : new int[]{Integer.MAX_VALUE, -1, 1 << 20, 1 << 28}) {
                    int here = at;
                    damaged(golden, bytes, damage -> damage.putInt(here, count));
                }
            }
            for (int i = 0; i < FLIPS; i++) {
                damaged(golden, bytes, damage -> {
                    for (int n = 1 + random.nextInt(3); n > 0; n--) {
                        int at = random.nextInt(bytes.length);
                        damage.put(at, (byte) (damage.get(at) ^ 1 << random.nextInt(8)));
                    }
                });
            }
        }
    }

    private static void damaged(Golden golden, byte[] bytes, Consumer<ByteBuffer> damage) {
        ByteBuffer damaged = ByteBuffer.wrap(bytes.clone());
        damage.accept(damaged);
        ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Encoded read = null;
        long allocated = Long.MAX_VALUE;
        // Twice: what the virtual machine needs once does not count.
        for (int i = 0; i < 2; i++) {
            long before = memory.getCurrentThreadAllocatedBytes();
            read = decoded(golden, damaged.duplicate());
            allocated = Math.min(allocated, memory.getCurrentThreadAllocatedBytes() - before);
        }
        long least = allocated;
        assertTrue(least < (1 << 18) + 100L * bytes.length,
                () -> golden + " takes " + least + " bytes to read " + HexFormat.of().formatHex(damaged.array()));
        if (read != null) {
            assertArrayEquals(damaged.array(), read.bytes(Byte.toUnsignedInt(damaged.get(0))),
                    "one value has one form: " + golden);
        }
    }

    /** What was read, or null if it was refused, with a reason. */
    private static Encoded decoded(Golden golden, ByteBuffer from) {
        try {
            return golden.set.decode(from);
        } catch (DecodeException refused) {
            assertTrue(refused.getMessage().startsWith(golden.set.name() + ": ")
                    || refused.getMessage().startsWith(golden.set.name() + ", "), refused.getMessage());
            return null;
        }
    }
}
