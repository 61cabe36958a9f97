package tutti.server.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.Collection;
import tutti.node.trace.Span;
import tutti.node.trace.TraceContext;
import tutti.server.config.ConfigReader;
import tutti.server.config.NodeConfig;
import tutti.yaml.UnusableFileException;

/** Which transactions a node follows, and what a collector that fails does to it: nothing. */
@Timeout(60)
class OpenTelemetryTracerTest {
    private static final TraceContext RECORDED = new TraceContext(1, 2, 3, 1);

    private static NodeConfig config(String tracing) throws UnusableFileException {
        return ConfigReader.read("""
                node: 0
                engine: h2
                members: [{id: 0, name: a, order: "127.0.0.1:7800"}]
                tracing: {%s}
                """.formatted(tracing), "node.yaml", Path.of(""));
    }

    private static @Nullable TracingSettings settings(String tracing, Map<String, String> environment)
            throws UnusableFileException {
        return TracingSettings.of(config(tracing), environment);
    }

    @Test
    void withoutAnEndpointNothingIsFollowed() throws UnusableFileException {
        assertNull(settings("", Map.of()));
        assertNull(settings("", Map.of("OTEL_EXPORTER_OTLP_ENDPOINT", "", "OTEL_SERVICE_NAME", "x")));
        assertNull(OpenTelemetryTracer.open(config(""), Map.of(), new SpanCounts()));
    }

    @Test
    void theFileSaysWhereAndOtherwiseTheEnvironment() throws UnusableFileException {
        Map<String, String> environment = Map.of("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318/",
                "OTEL_SERVICE_NAME", "orders", "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=test,service.instance.id=i%2C7,broken,also=%zz",
                "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YTpi+,x=1",
                "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x=2");
        assertEquals(new TracingSettings("http://all:4318/v1/traces",
                Map.of("authorization", "Basic YTpi+", "x", "2"), 100,
                Map.of("service.name", "orders", "service.namespace", "tutti", "service.instance.id", "i,7",
                        "deployment.environment.name", "test")),
                settings("", environment));
        TracingSettings told = settings("endpoint: \"https://c/base\", one-in: 7, service: mine", environment);
        assertNotNull(told);
        assertEquals("https://c/base/v1/traces", told.url());
        assertEquals(7, told.oneIn());
        assertEquals("mine", told.resource().get("service.name"));
        assertFalse(told.toString().contains("Basic"), "headers may be secret");
        TracingSettings exact = settings("", Map.of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x"));
        assertNotNull(exact);
        assertEquals("http://t/x", exact.url());
        assertNull(settings("endpoint: \"http://c\"", Map.of("OTEL_SDK_DISABLED", "true")));
    }

    @Test
    void aParentDecidesAndOtherwiseChance() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                OpenTelemetryTracer none = open(silent, 0);
                OpenTelemetryTracer all = open(silent, 1)) {
            assertNull(none.transaction(null, 0));
            assertNotNull(all.transaction(null, 0));
            assertNull(all.transaction(new TraceContext(1, 2, 3, 0), 0));
            Span followed = none.transaction(RECORDED, 1_000);
            assertNotNull(followed);
            assertEquals(RECORDED.traceId(), followed.context().traceId());
            assertTrue(followed.context().sampled());
            Span part = followed.child(Span.Kind.STEP, "commit", 0);
            assertEquals(RECORDED.traceId(), part.context().traceId());
            assertFalse(Stream.of(followed, none.delivery(RECORDED, 0))
                    .anyMatch(span -> span.context().equals(part.context())));
        }
    }

    private static OpenTelemetryTracer open(ServerSocket collector, int oneIn) throws UnusableFileException {
        OpenTelemetryTracer tracer = OpenTelemetryTracer.open(
                config("endpoint: \"http://127.0.0.1:" + collector.getLocalPort() + "\", one-in: " + oneIn),
                Map.of(), new SpanCounts());
        assertNotNull(tracer);
        return tracer;
    }

    /** Does not answer what it is given first until somebody says so, and takes what comes then. */
    private static final class Held implements SpanExporter {
        private final CompletableResultCode first = new CompletableResultCode();
        private boolean used;

        @Override
        public CompletableResultCode export(Collection<SpanData> spans) {
            if (used) {
                return CompletableResultCode.ofSuccess();
            }
            used = true;
            return first;
        }

        @Override
        public CompletableResultCode flush() {
            return CompletableResultCode.ofSuccess();
        }

        @Override
        public CompletableResultCode shutdown() {
            return CompletableResultCode.ofSuccess();
        }
    }

    @Test
    void whatACollectorDoesNotTakeIsDroppedAndCountedAndNobodyWaits() {
        Held collector = new Held();
        SpanCounts counts = new SpanCounts();
        SpanQueue queue = new SpanQueue(collector, "a collector", 100, counts);
        try (SdkTracerProvider provider = SdkTracerProvider.builder().addSpanProcessor(queue).build()) {
            for (int i = 0; i < 1_000; i++) {
                provider.get("test").spanBuilder("span").startSpan().end();
            }
            assertEquals(900, counts.dropped());
            collector.first.failExceptionally(new IllegalStateException("it does not listen"));
            assertTrue(provider.forceFlush().join(30, TimeUnit.SECONDS).isSuccess());
            assertEquals(100, counts.failed());
            provider.get("test").spanBuilder("span").startSpan().end();
            assertEquals(900, counts.dropped(), "there is room again");
            // Who asks just behind a flush may be told of that one, which was before this span.
            while (counts.exported() == 0) {
                assertTrue(provider.forceFlush().join(30, TimeUnit.SECONDS).isSuccess());
            }
            assertEquals(1, counts.exported());
        }
    }
}
