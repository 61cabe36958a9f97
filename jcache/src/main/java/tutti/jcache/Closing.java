package tutti.jcache;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closes what an application has given, if it can be closed. */
final class Closing {
    private static final Logger LOGGER = LoggerFactory.getLogger(Closing.class);

    private Closing() {}

    static void close(@Nullable Object given) {
        if (given instanceof Closeable closeable) {
            try {
                closeable.close();
            } catch (IOException | RuntimeException failure) {
                LOGGER.warn("what was given to a cache could not be closed", failure);
            }
        }
    }
}
