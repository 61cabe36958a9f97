package tutti.macro.call;

/** How calls get from an interface to its dispatcher and from there to the implementations. */
public enum Invocation {
    /** By classes generated for the interface: as fast as code written by hand. */
    GENERATED_CLASSES,
    /**
     * By a {@link java.lang.reflect.Proxy} and by method handles bound once per method: slower, as the benchmark shows, but
     * nothing is generated here.
     */
    METHOD_HANDLES
}
