package tutti.core.schema;

import java.util.List;

/**
 * All message sets of a room, for the page and for tests that nothing is left out: found by {@link java.util.ServiceLoader}.
 */
public interface Catalogue {
    /** In the order of the page. */
    List<MessageSet<?>> sets();
}
