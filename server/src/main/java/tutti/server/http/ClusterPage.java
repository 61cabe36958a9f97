package tutti.server.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The page of a node, for people: its three files, which show what {@code /cluster} tells. Nothing of it comes from elsewhere, and its policy lets
 * nothing do so.
 */
final class ClusterPage {
    /** What a browser may load and ask for it: from this node, nothing else. */
    static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
            + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    private static final Map<String, Part> PARTS = Map.of("/", part("page.html", "text/html"),
            "/page.css", part("page.css", "text/css"), "/page.js", part("page.js", "text/javascript"));

    /** One of its files. */
    record Part(String type, byte[] content) {}

    private ClusterPage() {}

    /** What is at this path, or null. */
    static @Nullable Part part(String path) {
        return PARTS.get(path);
    }

    private static Part part(String name, String type) {
        try (InputStream in = ClusterPage.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("there is no " + name);
            }
            return new Part(type, in.readAllBytes());
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }
}
