package tutti.server.http;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One request to a node's admin HTTP: what it asks for, whether who asks may have that, and what is answered. Of one thread. */
final class Request {
    private static final Logger LOG = LoggerFactory.getLogger(Request.class);

    private static final Pattern ADDRESS = Pattern.compile("[0-9.]+");

    private final HttpExchange exchange;
    private final byte @Nullable [] authorization;
    private final SlowReaders slow;

    /** Brings what is answered; what fails says why, for people. */
    interface Work {
        String run() throws IOException;
    }

    /** Begins what is answered, if that is large. */
    interface LargeWork {
        Operations.Download run() throws IOException;
    }

    /**
     * One that has come.
     *
     * @param authorization what whoever asks for a change must show; null if nobody need
     * @param slow cuts those off who do not read what they are answered
     */
    Request(HttpExchange exchange, byte @Nullable [] authorization, SlowReaders slow) {
        this.exchange = exchange;
        this.authorization = authorization;
        this.slow = slow;
    }

    // ------------------------------------------------------------------------------------------ what is asked for

    String path() {
        return exchange.getRequestURI().getPath();
    }

    /** Whether it only looks. */
    boolean reads() {
        return is("GET") || is("HEAD");
    }

    /** Whether it asks for a change, which need not mean that it may. */
    boolean posts() {
        return is("POST");
    }

    private boolean is(String method) {
        return exchange.getRequestMethod().equals(method);
    }

    /**
     * The name in which it asks, if it comes from this machine and the node has no such name there: whoever owns a name can have it stand for this machine, and
     * have a browser here ask for pages of the node's as if they were his own. Null if it is none.
     *
     * @param names of the node, in small letters
     */
    @Nullable
    String stranger(Set<String> names) {
        String host = exchange.getRequestHeaders().getFirst("Host");
        if (host == null || host.startsWith("[") || !exchange.getLocalAddress().getAddress().isLoopbackAddress()) {
            return null;
        }
        int colon = host.lastIndexOf(':');
        String name = (colon < 0 ? host : host.substring(0, colon)).toLowerCase(Locale.ROOT);
        return name.equals("localhost") || name.endsWith(".localhost") || ADDRESS.matcher(name).matches()
                || names.contains(name) ? null : name;
    }

    /** Whether it announces a body, which may never come. */
    boolean hasBody() throws IOException {
        String length = exchange.getRequestHeaders().getFirst("Content-Length");
        return exchange.getRequestHeaders().containsKey("Transfer-Encoding")
                || (length != null && Long.parseLong(length) != 0)
                // It has none, which the server notices when it is read: then the connection can be used again.
                || exchange.getRequestBody().read() >= 0;
    }

    /** What stands behind the question mark, decoded; empty if nothing does. */
    String query() {
        String query = exchange.getRequestURI().getQuery();
        return query == null ? "" : query;
    }

    /** The same by names; of those of one name the last. */
    Map<String, String> parameters() {
        Map<String, String> parameters = new TreeMap<>();
        each(parameters::put);
        return parameters;
    }

    /** Likewise, all of one name. */
    List<String> all(String name) {
        List<String> all = new ArrayList<>();
        each((key, value) -> {
            if (key.equals(name)) {
                all.add(value);
            }
        });
        return all;
    }

    private void each(BiConsumer<String, String> to) {
        String query = exchange.getRequestURI().getRawQuery();
        for (String each : query == null ? new String[0] : query.split("&", -1)) {
            int equals = each.indexOf('=');
            if (equals > 0) {
                to.accept(each.substring(0, equals),
                        URLDecoder.decode(each.substring(equals + 1), StandardCharsets.UTF_8));
            }
        }
    }

    // ------------------------------------------------------------------------------------------ who may

    /** Answers whoever shows the token. */
    void permitted(String type, Work work) throws IOException {
        if (mayChange()) {
            send(type, work);
        } else {
            refuseUnknown();
        }
    }

    /**
     * Has the node do something that changes it, for whoever may ask for that.
     *
     * @param allowed the methods of the path
     */
    void change(String allowed, String type, Work work) throws IOException {
        if (mayPost(allowed)) {
            send(type, work);
        }
    }

    /** The same where the answer is large. */
    void changeLargely(String allowed, LargeWork work) throws IOException {
        if (mayPost(allowed)) {
            sendLarge(work);
        }
    }

    /** Whether it asks for a change and may; if not, that has been answered. */
    private boolean mayPost(String allowed) throws IOException {
        if (!posts()) {
            notAllowed(allowed);
        } else if (exchange.getRequestHeaders().containsKey("Origin")) {
            send(403, "text/plain", "not for pages in a browser\n");
        } else if (!mayChange()) {
            refuseUnknown();
        } else {
            return true;
        }
        return false;
    }

    private boolean mayChange() {
        String shown = exchange.getRequestHeaders().getFirst("Authorization");
        return authorization == null
                || (shown != null && MessageDigest.isEqual(authorization, shown.getBytes(StandardCharsets.UTF_8)));
    }

    private void refuseUnknown() throws IOException {
        exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
        send(401, "text/plain", "this asks for the token in the file http-token in the node's data directory:"
                + " Authorization: Bearer TOKEN\n");
    }

    void notAllowed(String allowed) throws IOException {
        exchange.getResponseHeaders().set("Allow", allowed);
        send(405, "text/plain", "only " + allowed + "\n");
    }

    // ------------------------------------------------------------------------------------------ the answer

    /** Says something beside the answer, which follows. */
    void header(String name, String value) {
        exchange.getResponseHeaders().set(name, value);
    }

    /** Sends what work brings, or why it brings nothing. */
    void send(String type, Work work) throws IOException {
        String done;
        try {
            done = work.run();
        } catch (IOException refused) {
            send(refused instanceof Operations.UnansweredException ? 504 : 409, "text/plain",
                    refused.getMessage() + "\n");
            return;
        }
        send(200, type, done);
    }

    private void sendLarge(LargeWork work) throws IOException {
        Operations.Download download;
        try {
            download = work.run();
        } catch (IOException refused) {
            send(409, "text/plain", refused.getMessage() + "\n");
            return;
        }
        exchange.getResponseHeaders().set("Content-Type", "application/octet-stream");
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            download.writeTo(out);
        } catch (IOException broken) {
            LOG.warn("{} was not answered whole", path(), broken);
            throw broken;
        }
    }

    void send(int code, String type, String body) throws IOException {
        send(code, type, body.getBytes(StandardCharsets.UTF_8));
    }

    void send(int code, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type.contains("charset") ? type : type + "; charset=utf-8");
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        try (SlowReaders.Watched _ = slow.watch(body.length)) {
            if (is("HEAD")) {
                exchange.getResponseHeaders().set("Content-Length", String.valueOf(body.length));
                exchange.sendResponseHeaders(code, -1);
                return;
            }
            exchange.sendResponseHeaders(code, body.length);
            // Closed here, not with the exchange, which would keep to itself that the other end has gone: the server would count its connection for ever.
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        }
    }
}
