package tutti.pgwire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FrameReaderTest {
    /** Wants Query whole, Bind's first bytes, Sync's header; takes Query and Sync away; passes the rest. */
    private static final class Recorder implements FrameSink {
        final List<String> events = new ArrayList<>();
        final ByteBuf passed = Unpooled.buffer();
        @Nullable
        ProtocolViolation violation;
        @Nullable
        Throwable failure;
        @Nullable
        FrameReader pauseAtQuery;

        @Override
        public int wanted(byte type, int bodyLength) {
            if (!Frontend.isType(type)) {
                throw new ProtocolViolation("no such message " + type);
            }
            return switch (type) {
                case Frontend.QUERY -> bodyLength;
                case Frontend.BIND -> 8;
                case Frontend.SYNC -> 0;
                default -> PASS;
            };
        }

        @Override
        public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
            if (type == Frontend.QUERY) {
                events.add(Fields.cString(buffer.slice(start, bodyLength)));
                if (pauseAtQuery != null) {
                    pauseAtQuery.pause();
                }
                return false;
            }
            events.add(String.valueOf((char) type));
            return type == Frontend.BIND;
        }

        @Override
        public void run(ByteBuf bytes) {
            passed.writeBytes(bytes);
            bytes.release();
        }

        @Override
        public void readComplete() {}

        @Override
        public void violated(ProtocolViolation violation) {
            this.violation = violation;
        }

        @Override
        public void failed(Throwable cause) {
            failure = cause;
        }

        @Override
        public void inactive() {}
    }

    private static ByteBuf stream() {
        ByteBuf out = Unpooled.buffer();
        Frontend.parse(out, "s", "select $1");
        Frontend.bind(out, "", "s", "a value of some length");
        Frontend.execute(out, "", 0);
        Frontend.sync(out);
        Frontend.query(out, "select 1");
        Frontend.copyData(out, Unpooled.wrappedBuffer(new byte[300]));
        Frontend.copyDone(out);
        Frontend.bind(out, "", "s", "x");
        Frontend.sync(out);
        return out;
    }

    @Test
    void framesAreFoundHoweverTheStreamIsCut() {
        ByteBuf expected = Unpooled.buffer();
        Frontend.parse(expected, "s", "select $1");
        Frontend.bind(expected, "", "s", "a value of some length");
        Frontend.execute(expected, "", 0);
        Frontend.copyData(expected, Unpooled.wrappedBuffer(new byte[300]));
        Frontend.copyDone(expected);
        Frontend.bind(expected, "", "s", "x");
        Random random = new Random(42);
        for (int round = 0; round < 300; round++) {
            Recorder recorder = new Recorder();
            EmbeddedChannel channel = new EmbeddedChannel(new FrameReader(recorder, false, 1 << 16));
            ByteBuf stream = stream();
            int largest = 1 + random.nextInt(1 + round);
            while (stream.isReadable()) {
                int count = Math.min(1 + random.nextInt(largest), stream.readableBytes());
                channel.writeInbound(channel.alloc().buffer().writeBytes(stream, count));
            }
            assertEquals(List.of("B", "S", "select 1", "B", "S"), recorder.events);
            assertEquals(expected, recorder.passed);
            assertNull(recorder.violation);
            assertNull(recorder.failure);
            channel.finishAndReleaseAll();
        }
    }

    @Test
    void passedFramesAreSlicesAndAreNotGathered() {
        Recorder recorder = new Recorder();
        FrameReader reader = new FrameReader(recorder, false, 1 << 10);
        EmbeddedChannel channel = new EmbeddedChannel(reader);
        ByteBuf header = channel.alloc().buffer().writeByte(Frontend.COPY_DATA).writeInt(4 + (1 << 24));
        channel.writeInbound(header);
        for (int i = 0; i < 1 << 8; i++) {
            channel.writeInbound(channel.alloc().buffer().writeZero(1 << 16));
            assertEquals(0, reader.buffered());
        }
        assertEquals(5 + (1 << 24), recorder.passed.readableBytes());
        channel.finishAndReleaseAll();
    }

    @Test
    void aPausedReaderShowsNothingUntilResumed() {
        Recorder recorder = new Recorder();
        FrameReader reader = new FrameReader(recorder, false, 1 << 16);
        recorder.pauseAtQuery = reader;
        EmbeddedChannel channel = new EmbeddedChannel(reader);
        channel.writeInbound(stream());
        assertEquals(List.of("B", "S", "select 1"), recorder.events);
        assertTrue(channel.config().isAutoRead(), "nothing has come since");
        channel.writeInbound(stream());
        assertEquals(List.of("B", "S", "select 1"), recorder.events);
        assertTrue(!channel.config().isAutoRead());
        recorder.pauseAtQuery = null;
        reader.resume();
        assertEquals(List.of("B", "S", "select 1", "B", "S", "B", "S", "select 1", "B", "S"), recorder.events);
        assertTrue(channel.config().isAutoRead());
        channel.finishAndReleaseAll();
    }

    @Test
    void impossibleLengthsAndTooLongMessagesAreViolations() {
        assertViolation(Unpooled.buffer().writeByte('Q').writeInt(3), false, "invalid length 3");
        assertViolation(Unpooled.buffer().writeByte('Q').writeInt(-1), false, "invalid length -1");
        assertViolation(Unpooled.buffer().writeByte('Q').writeInt(Integer.MIN_VALUE), false,
                "invalid length -2147483648");
        assertViolation(Unpooled.buffer().writeByte('Q').writeInt(70_000), false, "limit of 65536");
        assertViolation(Unpooled.buffer().writeByte('!').writeInt(4), false, "no such message");
        assertViolation(Unpooled.buffer().writeInt(10_001), true, "invalid length 10001 of start-up packet");
        assertViolation(Unpooled.buffer().writeInt(0x16030100), true, "start-up packet");
    }

    private static void assertViolation(ByteBuf bytes, boolean startup, String message) {
        Recorder recorder = new Recorder();
        EmbeddedChannel channel = new EmbeddedChannel(new FrameReader(recorder, startup, 1 << 16));
        channel.writeInbound(bytes);
        ProtocolViolation violation = recorder.violation;
        assertNotNull(violation);
        assertTrue(String.valueOf(violation.getMessage()).contains(message), violation.getMessage());
        channel.finishAndReleaseAll();
    }

    /** Damages valid streams in all ways: what comes out is frames or one violation, and memory stays bounded. */
    @Test
    void damagedStreamsEndInAViolationOrInFrames() {
        int gatherLimit = 1 << 12;
        int violations = 0;
        for (long seed = 0; seed < 20_000; seed++) {
            Random random = new Random(seed);
            ByteBuf stream = stream();
            for (int i = random.nextInt(4); i >= 0; i--) {
                int at = random.nextInt(stream.writerIndex());
                switch (random.nextInt(3)) {
                    case 0 -> stream.setByte(at, random.nextInt());
                    case 1 -> stream.writerIndex(at + 1);
                    default -> stream.setByte(at, stream.getByte(at) ^ 1 << random.nextInt(8));
                }
            }
            Recorder recorder = new Recorder();
            FrameReader reader = new FrameReader(recorder, random.nextInt(10) == 0, gatherLimit);
            EmbeddedChannel channel = new EmbeddedChannel(reader);
            while (stream.isReadable()) {
                int count = Math.min(1 + random.nextInt(200), stream.readableBytes());
                channel.writeInbound(channel.alloc().buffer().writeBytes(stream, count));
                assertTrue(reader.buffered() <= gatherLimit + 200, () -> "buffered " + reader.buffered());
            }
            Throwable failure = recorder.failure;
            assertTrue(failure == null || failure instanceof ProtocolViolation, () -> "seed: " + failure);
            violations += recorder.violation == null ? 0 : 1;
            channel.finishAndReleaseAll();
        }
        assertTrue(violations > 1000, "the damage is never noticed: " + violations);
    }

    @Test
    void damagedBodiesAreViolations() {
        Random random = new Random(7);
        ByteBuf valid = Unpooled.buffer();
        Backend.rowDescription(valid, "one", "two");
        Backend.dataRow(valid, "a", "b");
        Backend.errorResponse(valid, ErrorFields.of("ERROR", "40001", "lost").with('D', "to another"));
        Frontend.startup(valid, Frontend.PROTOCOL_3_0, java.util.Map.of("user", "u", "database", "d"));
        for (int round = 0; round < 50_000; round++) {
            ByteBuf bytes = valid.copy();
            bytes.setByte(random.nextInt(bytes.writerIndex()), random.nextInt());
            bytes.readerIndex(random.nextInt(bytes.writerIndex()));
            bytes.writerIndex(bytes.readerIndex() + random.nextInt(bytes.readableBytes() + 1));
            tryRead(() -> Fields.rowDescription(bytes.duplicate()));
            tryRead(() -> Fields.dataRow(bytes.duplicate()));
            tryRead(() -> ErrorFields.read(bytes.duplicate()));
            tryRead(() -> StartupPacket.read(bytes.duplicate()));
        }
    }

    private static void tryRead(Runnable read) {
        try {
            read.run();
        } catch (ProtocolViolation violation) {
            assertNotNull(violation.getMessage());
        }
    }

    @Test
    void messagesAreAsTheProtocolWritesThem() {
        ByteBuf out = Unpooled.buffer();
        Frontend.query(out, "x");
        Backend.readyForQuery(out, Backend.IDLE);
        Frontend.cancelRequest(out, 7, new byte[]{1, 2, 3, 4});
        ByteBuf expected = Unpooled.buffer().writeByte('Q').writeInt(6);
        expected.writeCharSequence("x\0", StandardCharsets.UTF_8);
        expected.writeByte('Z').writeInt(5).writeByte('I');
        expected.writeInt(16).writeInt(80877102).writeInt(7).writeInt(0x01020304);
        assertEquals(expected, out);
    }
}
