package tutti.engine;

/**
 * What there is to know of an engine before a database of it is open. Stands beside the engine, and is found by
 * {@link Engines} through {@code META-INF/services}, so that an engine can come in a jar of its own. Immutable, for any
 * thread; made by its constructor without arguments.
 */
public interface EngineDescriptor {
    /** What configurations, URLs and commands call it: lower-case letters, digits and {@code -}. */
    String name();

    /** What people call it. */
    String product();

    /** Version of the database that it comes with, as its makers count. */
    String version();
}
