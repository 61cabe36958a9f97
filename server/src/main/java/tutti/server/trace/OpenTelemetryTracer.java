package tutti.server.trace;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.common.Clock;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import tutti.node.trace.Span;
import tutti.node.trace.TraceContext;
import tutti.node.trace.Tracer;
import tutti.server.config.NodeConfig;

/**
 * Records spans by OpenTelemetry's SDK, and has them sent to a collector by OTLP over HTTP. A transaction whose client names a parent is followed if
 * that is recorded; of others, a random share.
 */
public final class OpenTelemetryTracer implements Tracer, AutoCloseable {
    /** Names that the conventions have for engines, where those are others than ours. */
    private static final Map<String, String> SYSTEMS = Map.of("postgres", "postgresql", "h2", "h2database");
    private static final int SPANS_MAX = 8_192;
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final long CLOSE_SECONDS_MAX = 2;
    /** Kept from being collected, with its level: what it logs is told once by {@link SpanQueue}. */
    private static final Logger EXPORTERS = Logger.getLogger("io.opentelemetry.exporter");

    private final SdkTracerProvider provider;
    private final io.opentelemetry.api.trace.Tracer spans;
    private final int oneIn;
    private final Attributes database;

    private OpenTelemetryTracer(TracingSettings settings, Attributes database, SpanCounts counts) {
        EXPORTERS.setLevel(Level.OFF);
        this.oneIn = settings.oneIn();
        this.database = database;
        AttributesBuilder resource = Attributes.builder();
        settings.resource().forEach(resource::put);
        var exporter = OtlpHttpSpanExporter.builder().setEndpoint(settings.url()).setTimeout(PATIENCE)
                .setConnectTimeout(PATIENCE).setRetryPolicy(null);
        settings.headers().forEach(exporter::addHeader);
        this.provider = SdkTracerProvider.builder()
                .setResource(Resource.getDefault().merge(Resource.create(resource.build())))
                .setSampler(Sampler.alwaysOn())
                .addSpanProcessor(new SpanQueue(exporter.build(), settings.url(), SPANS_MAX, counts)).build();
        this.spans = provider.get("tutti");
    }

    /**
     * Of a node.
     *
     * @param environment variables of its process
     * @param counts what becomes of spans
     * @return null if it follows no transactions
     */
    public static @Nullable OpenTelemetryTracer open(NodeConfig config, Map<String, String> environment,
            SpanCounts counts) {
        TracingSettings settings = TracingSettings.of(config, environment);
        if (settings == null) {
            return null;
        }
        String system = SYSTEMS.getOrDefault(config.engine(), config.engine());
        Attributes database = Attributes.builder().put("db.system.name", system)
                .put("db.namespace",
                        config.isInProcess() ? config.inProcess().database() : config.postgres().database())
                .build();
        return new OpenTelemetryTracer(settings, database, counts);
    }

    @Override
    public boolean on() {
        return true;
    }

    @Override
    public @Nullable Span transaction(@Nullable TraceContext parent, long agoNanos) {
        boolean followed = parent == null
                ? oneIn > 0 && ThreadLocalRandom.current().nextInt(oneIn) == 0
                : parent.sampled();
        return followed
                ? new Recorded(begin(parent == null ? Context.root() : remote(parent), Span.Kind.TRANSACTION,
                        "transaction", agoNanos))
                : null;
    }

    @Override
    public Span delivery(TraceContext parent, long agoNanos) {
        return new Recorded(begin(remote(parent), Span.Kind.DELIVERY, "deliver", agoNanos));
    }

    private static Context remote(TraceContext parent) {
        return Context.root().with(io.opentelemetry.api.trace.Span.wrap(SpanContext.createFromRemoteParent(
                parent.traceId(), parent.spanId(), TraceFlags.fromByte((byte) parent.flags()),
                TraceState.getDefault())));
    }

    private io.opentelemetry.api.trace.Span begin(Context parent, Span.Kind kind, String name, long agoNanos) {
        SpanBuilder span = spans.spanBuilder(name).setParent(parent).setSpanKind(switch (kind) {
            case TRANSACTION -> SpanKind.SERVER;
            case ORDER -> SpanKind.PRODUCER;
            case DELIVERY -> SpanKind.CONSUMER;
            case STATEMENT, STEP -> SpanKind.INTERNAL;
        });
        if (kind == Span.Kind.TRANSACTION || kind == Span.Kind.STATEMENT) {
            span.setAllAttributes(database);
        }
        if (agoNanos > 0) {
            span.setStartTimestamp(Clock.getDefault().now() - agoNanos, TimeUnit.NANOSECONDS);
        }
        return span.startSpan();
    }

    /** Sends what it has, for a short time at most. */
    @Override
    public void close() {
        provider.shutdown().join(CLOSE_SECONDS_MAX, TimeUnit.SECONDS);
    }

    /** One of the SDK's. */
    private final class Recorded implements Span {
        private final io.opentelemetry.api.trace.Span span;

        Recorded(io.opentelemetry.api.trace.Span span) {
            this.span = span;
        }

        @Override
        public TraceContext context() {
            SpanContext context = span.getSpanContext();
            String trace = context.getTraceId();
            return new TraceContext(HexFormat.fromHexDigitsToLong(trace, 0, 16),
                    HexFormat.fromHexDigitsToLong(trace, 16, 32), HexFormat.fromHexDigitsToLong(context.getSpanId()),
                    Byte.toUnsignedInt(context.getTraceFlags().asByte()));
        }

        @Override
        public Span child(Kind kind, String name, long agoNanos) {
            return new Recorded(begin(Context.root().with(span), kind, name, agoNanos));
        }

        @Override
        public Span with(String name, String value) {
            span.setAttribute(name, value);
            return this;
        }

        @Override
        public Span with(String name, long value) {
            span.setAttribute(name, value);
            return this;
        }

        @Override
        public Span failed(String type) {
            span.setAttribute("error.type", type);
            span.setStatus(StatusCode.ERROR);
            return this;
        }

        @Override
        public void end() {
            span.end();
        }
    }
}
