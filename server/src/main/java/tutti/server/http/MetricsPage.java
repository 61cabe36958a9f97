package tutti.server.http;

import java.io.IOException;
import java.io.OutputStream;

/** Writes all metrics in the Prometheus text format. */
public interface MetricsPage {
    /** Writes and flushes, does not close. */
    void writeTo(OutputStream out) throws IOException;
}
