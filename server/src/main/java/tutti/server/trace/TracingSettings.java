package tutti.server.trace;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.server.config.NodeConfig;

/**
 * Where spans go and which there are: what a node's configuration says, and where it says nothing OpenTelemetry's environment variables.
 *
 * @param url where spans are sent
 * @param headers of each request, by name; they may be secret
 * @param oneIn of how many transactions without a parent one is followed; 0 for none
 * @param resource attributes of the node
 */
record TracingSettings(String url, Map<String, String> headers, int oneIn, Map<String, String> resource) {
    private static final String PATH = "/v1/traces";

    /** Of a node; null if it follows no transactions. */
    static @Nullable TracingSettings of(NodeConfig config, Map<String, String> environment) {
        NodeConfig.Tracing tracing = config.tracing();
        String url = tracing.endpoint() == null ? url(environment) : below(tracing.endpoint());
        if (url == null || "true".equalsIgnoreCase(environment.get("OTEL_SDK_DISABLED"))) {
            return null;
        }
        Map<String, String> resource = list(environment.get("OTEL_RESOURCE_ATTRIBUTES"));
        String service = tracing.service() == null ? environment.get("OTEL_SERVICE_NAME") : tracing.service();
        if (service != null) {
            resource.put("service.name", service);
        }
        resource.putIfAbsent("service.name", "tutti");
        resource.putIfAbsent("service.namespace", config.cluster());
        resource.putIfAbsent("service.instance.id", config.self().name());
        Map<String, String> headers = list(environment.get("OTEL_EXPORTER_OTLP_HEADERS"));
        headers.putAll(list(environment.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS")));
        return new TracingSettings(url, headers, tracing.oneIn(), resource);
    }

    private static @Nullable String url(Map<String, String> environment) {
        String traces = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        String all = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT");
        if (traces != null && !traces.isBlank()) {
            return traces;
        }
        return all == null || all.isBlank() ? null : below(all);
    }

    private static String below(String base) {
        return (base.endsWith("/") ? base.substring(0, base.length() - 1) : base) + PATH;
    }

    /** Names and values as these variables list them; what is no such pair is left out. */
    private static Map<String, String> list(@Nullable String text) {
        Map<String, String> read = new LinkedHashMap<>();
        for (String pair : text == null ? new String[0] : text.split(",", -1)) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                try {
                    read.put(pair.substring(0, equals).strip(), URLDecoder.decode(
                            pair.substring(equals + 1).strip().replace("+", "%2B"), StandardCharsets.UTF_8));
                } catch (IllegalArgumentException _) {
                    // its value is not encoded as it must be
                }
            }
        }
        return read;
    }

    /** Without the headers. */
    @Override
    public String toString() {
        return "TracingSettings[url=" + url + ", oneIn=" + oneIn + ", resource=" + resource + "]";
    }
}
