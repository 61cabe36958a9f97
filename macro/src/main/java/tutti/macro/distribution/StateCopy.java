package tutti.macro.distribution;

/**
 * A node's whole state, for another node to begin with.
 *
 * @param position the last one of the total order whose effects are in it
 * @param bytes of all components
 */
public record StateCopy(long position, byte[] bytes) {}
