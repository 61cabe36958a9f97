package tutti.cli;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

/** Takes spans as OTLP over HTTP (protocol buffers) on loopback, and keeps them. */
final class SpanCollector implements AutoCloseable {
    /**
     * A span.
     *
     * @param node {@code service.instance.id} of its resource
     * @param parent empty if it has none
     * @param kind as OTLP numbers them: 1 internal, 2 server, 4 producer, 5 consumer
     */
    record Collected(String node, String trace, String id, String parent, String name, int kind, long startNanos,
            long endNanos, Map<String, String> attributes) {}

    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int BYTES = 2;

    private final HttpServer server;
    private final List<Collected> collected = new CopyOnWriteArrayList<>();

    SpanCollector() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/v1/traces", exchange -> {
            request(ByteBuffer.wrap(exchange.getRequestBody().readAllBytes()));
            exchange.getResponseHeaders().add("Content-Type", "application/x-protobuf");
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.start();
    }

    String endpoint() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Those of a trace. */
    List<Collected> of(String trace) {
        return collected.stream().filter(span -> span.trace().equals(trace)).toList();
    }

    List<Collected> all() {
        return List.copyOf(collected);
    }

    @Override
    public void close() {
        server.stop(0);
    }

    /** A field of a message: bytes of it, or a number. */
    private record Field(int number, ByteBuffer bytes, long value) {
        String text() {
            return StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
        }

        String hex() {
            byte[] read = new byte[bytes.remaining()];
            bytes.duplicate().get(read);
            return HexFormat.of().formatHex(read);
        }
    }

    private static List<Field> fields(ByteBuffer message) {
        ByteBuffer from = message.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        List<Field> fields = new ArrayList<>();
        while (from.hasRemaining()) {
            int key = Math.toIntExact(varint(from));
            int number = key >>> 3;
            switch (key & 7) {
                case VARINT -> fields.add(new Field(number, ByteBuffer.allocate(0), varint(from)));
                case FIXED64 -> fields.add(new Field(number, ByteBuffer.allocate(0), from.getLong()));
                case BYTES -> {
                    int length = Math.toIntExact(varint(from));
                    fields.add(new Field(number, from.slice(from.position(), length), 0));
                    from.position(from.position() + length);
                }
                default -> fields.add(new Field(number, ByteBuffer.allocate(0), from.getInt()));
            }
        }
        return fields;
    }

    private static long varint(ByteBuffer from) {
        long value = 0;
        for (int shift = 0;; shift += 7) {
            byte next = from.get();
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                return value;
            }
        }
    }

    private void request(ByteBuffer request) {
        for (Field resourceSpans : fields(request)) {
            Map<String, String> resource = new HashMap<>();
            for (Field part : fields(resourceSpans.bytes())) {
                if (part.number() == 1) {
                    fields(part.bytes()).forEach(each -> attribute(each, 1, resource));
                }
            }
            for (Field scope : fields(resourceSpans.bytes())) {
                if (scope.number() == 2) {
                    fields(scope.bytes()).stream().filter(each -> each.number() == 2)
                            .forEach(span -> collected.add(span(span, resource)));
                }
            }
        }
    }

    private static void attribute(Field of, int number, Map<String, String> to) {
        if (of.number() != number) {
            return;
        }
        String key = "";
        for (Field part : fields(of.bytes())) {
            if (part.number() == 1) {
                key = part.text();
            } else {
                Field value = fields(part.bytes()).getFirst();
                to.put(key, value.number() == 1 ? value.text() : Long.toString(value.value()));
            }
        }
    }

    private static Collected span(Field span, Map<String, String> resource) {
        Map<Integer, Field> one = new HashMap<>();
        Map<String, String> attributes = new HashMap<>();
        for (Field part : fields(span.bytes())) {
            one.put(part.number(), part);
            attribute(part, 9, attributes);
        }
        Field parent = one.get(4);
        return new Collected(resource.getOrDefault("service.instance.id", ""), one.get(1).hex(), one.get(2).hex(),
                parent == null ? "" : parent.hex(), one.get(5).text(), (int) one.get(6).value(), one.get(7).value(),
                one.get(8).value(), attributes);
    }
}
